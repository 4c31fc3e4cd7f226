//! Hooks never see what is forbidden.

use tollgate::{
    call::{Call, Validated},
    hook::Hooks,
    policy::Policy,
};

async fn walk(call: Call<Validated>, policy: &dyn Policy, hooks: &Hooks) {
    let _ = (call.before(hooks).await, policy);
}

fn main() {}
