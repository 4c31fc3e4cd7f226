//! The twin of `before_before_check`: checked first.

use tollgate::{
    call::{Call, Validated},
    hook::Hooks,
    policy::Policy,
};

async fn walk(call: Call<Validated>, policy: &dyn Policy, hooks: &Hooks) {
    let _ = call.check(policy).await.unwrap().before(hooks).await;
}

fn main() {}
