//! One decision, one permit.

use tollgate::call::Permit;

fn spend(permit: Permit) -> [Permit; 2] {
    [permit.clone(), permit]
}

fn main() {}
