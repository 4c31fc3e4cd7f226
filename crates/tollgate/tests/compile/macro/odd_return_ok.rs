//! The twin of `odd_return`: a type of one's own goes out as JSON.

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Point {
    x: i64,
}

/// Finds a point.
#[tollgate::tool]
async fn find(x: i64) -> tollgate::Json<Point> {
    tollgate::Json(Point { x })
}

fn main() {
    let _ = tollgate::Registry::new().with(find);
}
