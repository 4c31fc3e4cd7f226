//! What is permitted is what runs, so hooks are done with it before.

use tollgate::{
    call::{Call, Checked, Guards},
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
    let _ = (call.permit(policy, approver, guards).await, hooks);
}

fn main() {}
