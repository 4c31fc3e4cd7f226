//! The twin of `check_before_validate`: validated first.

use tollgate::{
    call::{Call, Resolved},
    policy::Policy,
};

async fn walk(call: Call<Resolved>, policy: &dyn Policy) {
    let _ = call.validate().unwrap().check(policy).await;
}

fn main() {}
