//! Only the permit phase makes one.

use tollgate::call::Permit;

fn forge(other: Permit) -> Permit {
    Permit { ..other }
}

fn main() {}
