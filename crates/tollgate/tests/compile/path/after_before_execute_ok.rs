//! The twin of `after_before_execute`: executed first.

use tollgate::{
    call::{Call, Guards, Permitted},
    hook::Hooks,
};

async fn walk(call: Call<Permitted>, guards: &Guards, hooks: &Hooks) {
    let _ = call.execute(guards).await.unwrap().after(hooks).await;
}

fn main() {}
