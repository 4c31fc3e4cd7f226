//! The twin of `settle_before_after`: hooks first.

use tollgate::{
    call::{Call, Executed, Records},
    hook::Hooks,
};

async fn walk(call: Call<Executed>, hooks: &Hooks, records: &Records) {
    let _ = call.after(hooks).await.settle(records).await;
}

fn main() {}
