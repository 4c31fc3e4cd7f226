//! The twin of `clone_a_permitted_call`: the one there is.

use tollgate::call::{Call, Guards, Permitted};

async fn walk(call: Call<Permitted>, guards: &Guards) {
    let _ = call.execute(guards).await;
}

fn main() {}
