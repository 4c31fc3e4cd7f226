//! The twin of `validate_before_resolve`: resolved first.

use tollgate::{
    call::{Call, Proposed},
    catalog::Snapshot,
};

fn walk(call: Call<Proposed>, snapshot: &Snapshot) {
    let _ = call.resolve(snapshot).unwrap().validate();
}

fn main() {}
