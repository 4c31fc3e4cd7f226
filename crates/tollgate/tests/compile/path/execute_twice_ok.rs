//! The twin of `execute_twice`: once.

use tollgate::call::{Call, Guards, Permitted};

async fn walk(call: Call<Permitted>, guards: &Guards) {
    let _ = call.execute(guards).await;
}

fn main() {}
