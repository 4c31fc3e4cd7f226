//! Only the permit phase makes one.

use tollgate::call::Permit;

fn forge() -> Permit {
    Permit { by: "me".into() }
}

fn main() {}
