//! The twin of `make_a_cx`: a scope, which runs nothing, is anyone's to make.

use tollgate::Scope;

fn main() {
    let _ = Scope::new;
}
