//! The twin of `forge_a_permit`: anyone may read who allowed it.

use tollgate::call::Permit;

fn read(permit: &Permit) -> &str {
    permit.by()
}

fn main() {}
