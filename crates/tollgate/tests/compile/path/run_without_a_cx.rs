//! A scope is no context: `run` wants what only the path can make.

use tollgate::{
    Scope, Tool,
    guard::{Run, Workspace},
};

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

async fn shortcut(args: &AddArgs) {
    let scope = Scope::new(Run::new("r"), Workspace::new("/tmp"));
    let _ = add.run(&scope, args).await;
}

fn main() {
    let _ = shortcut(&AddArgs { a: 1, b: 2 });
}
