//! A permit is good for one run.

use tollgate::call::{Call, Guards, Permitted};

async fn walk(call: Call<Permitted>, guards: &Guards) {
    let _ = call.execute(guards).await;
    let _ = call.execute(guards).await;
}

fn main() {}
