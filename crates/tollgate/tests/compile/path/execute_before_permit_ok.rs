//! The twin of `execute_before_permit`: permitted first.

use tollgate::{
    call::{Call, Guards, Prepared},
    policy::{Approver, Policy},
};

async fn walk(call: Call<Prepared>, policy: &dyn Policy, approver: &dyn Approver, guards: &Guards) {
    let permitted = call.permit(policy, approver, guards).await.unwrap();
    let _ = permitted.execute(guards).await;
}

fn main() {}
