//! There is no outcome to look at before the body has run.

use tollgate::{
    call::{Call, Guards, Permitted},
    hook::Hooks,
};

async fn walk(call: Call<Permitted>, guards: &Guards, hooks: &Hooks) {
    let _ = (call.after(hooks).await, guards);
}

fn main() {}
