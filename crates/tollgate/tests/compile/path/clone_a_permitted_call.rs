//! Nor is there a second call with the same permit.

use tollgate::call::{Call, Guards, Permitted};

async fn walk(call: Call<Permitted>, guards: &Guards) {
    let _ = call.clone().execute(guards).await;
}

fn main() {}
