//! The twin of `check_before_validate`: validated first.

use tollgate::{
    call::{Call, Records, Resolved},
    policy::Policy,
};

async fn walk(call: Call<Resolved<'_>>, policy: &dyn Policy, records: &Records) {
    let _ = call.validate(records).unwrap().check(policy).await;
}

fn main() {}
