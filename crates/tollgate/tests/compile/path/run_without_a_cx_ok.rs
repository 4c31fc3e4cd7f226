//! The twin of `run_without_a_cx`: what decides about a call needs only a scope, and runs nothing.

use tollgate::{
    Effects, Scope, Tool,
    guard::{Run, Workspace},
};

/// Adds two numbers.
#[tollgate::tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn look(args: &AddArgs) -> Effects {
    let scope = Scope::new(Run::new("r"), Workspace::new("/tmp"));
    add.effects(&scope, args)
}

fn main() {
    assert_eq!(look(&AddArgs { a: 1, b: 2 }), Effects::worst());
}
