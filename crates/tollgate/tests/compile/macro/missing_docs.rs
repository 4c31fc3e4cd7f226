//! A model cannot use what nobody described.

#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
