//! The twin of `clone_a_permit`: handed on, not copied.

use tollgate::call::Permit;

fn spend(permit: Permit) -> [Permit; 1] {
    [permit]
}

fn main() {}
