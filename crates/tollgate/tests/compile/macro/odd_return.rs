//! What is no output cannot be returned.

struct Point {
    x: i64,
}

/// Finds a point.
#[tollgate::tool]
async fn find(x: i64) -> Point {
    Point { x }
}

fn main() {
    let _ = tollgate::Registry::new().with(find);
}
