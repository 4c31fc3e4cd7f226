//! Nothing runs that nobody allowed.

use tollgate::{
    call::{Call, Guards, Prepared},
    policy::{Approver, Policy},
};

async fn walk(call: Call<Prepared>, policy: &dyn Policy, approver: &dyn Approver, guards: &Guards) {
    let _ = (call.execute(guards).await, policy, approver);
}

fn main() {}
