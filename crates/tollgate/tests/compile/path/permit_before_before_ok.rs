//! The twin of `permit_before_before`: hooks first.

use tollgate::{
    call::{Call, Checked, Passed},
    guard::Breakers,
    hook::Hooks,
    policy::{Approver, Policy},
};

async fn walk(
    call: Call<Checked>,
    hooks: &Hooks,
    policy: &dyn Policy,
    approver: &dyn Approver,
    breakers: &std::sync::Arc<Breakers>,
) {
    let Passed::Ready(call) = call.before(hooks).await.unwrap() else { return };
    let _ = call.permit(policy, approver, breakers).await;
}

fn main() {}
