//! A tool is no method: nothing but the path holds one.

struct Calculator;

impl Calculator {
    /// Adds two numbers.
    #[tollgate::tool]
    async fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

fn main() {
    let _ = Calculator;
}
