//! Hooks see every outcome before it is the answer.

use tollgate::{
    call::{Call, Executed, Records},
    hook::Hooks,
};

async fn walk(call: Call<Executed>, hooks: &Hooks, records: &Records) {
    let _ = (call.settle(records).await, hooks);
}

fn main() {}
