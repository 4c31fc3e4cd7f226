//! The twin of `validate_before_resolve`: resolved first.

use tollgate::{
    call::{Call, Proposed, Records},
    catalog::Snapshot,
};

fn walk(call: Call<Proposed>, snapshot: &Snapshot, records: &Records) {
    let _ = call.resolve(snapshot).unwrap().validate(records);
}

fn main() {}
