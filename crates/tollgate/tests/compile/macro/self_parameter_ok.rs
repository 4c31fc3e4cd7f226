//! The twin of `self_parameter`: the function stands alone, the calculator is made where it is needed.

struct Calculator;

impl Calculator {
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    Calculator.add(a, b)
}

fn main() {
    let _ = tollgate::Registry::new().with(add);
}
