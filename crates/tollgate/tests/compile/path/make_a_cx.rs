//! A context is made by the path alone, and without one there is no way to run a body.

use tollgate::Cx;

fn main() {
    let _ = Cx::new;
}
