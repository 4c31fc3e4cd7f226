//! What is permitted is what runs, so hooks are done with it before.

use tollgate::{
    call::{Call, Checked},
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
    let _ = (call.permit(policy, approver, breakers).await, hooks);
}

fn main() {}
