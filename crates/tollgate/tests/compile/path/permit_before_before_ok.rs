//! The twin of `permit_before_before`: hooks first.

use tollgate::{
    call::{Call, Checked, Guards, Passed},
    hook::Hooks,
    policy::{Approver, Policy},
};

async fn walk(
    call: Call<Checked>,
    hooks: &Hooks,
    policy: &dyn Policy,
    approver: &dyn Approver,
    guards: &Guards,
) {
    let Passed::Ready(call) = call.before(hooks).await.unwrap() else { return };
    let _ = call.permit(policy, approver, guards).await;
}

fn main() {}
