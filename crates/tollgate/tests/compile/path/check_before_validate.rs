//! A tool's own rules only ever see arguments of the right type.

use tollgate::{
    call::{Call, Resolved},
    policy::Policy,
};

async fn walk(call: Call<Resolved<'_>>, policy: &dyn Policy) {
    let _ = call.check(policy).await;
}

fn main() {}
