//! Arguments are judged by a tool's schema, so the tool is found first.

use tollgate::{
    call::{Call, Proposed},
    catalog::Snapshot,
};

fn walk(call: Call<Proposed>, snapshot: &Snapshot) {
    let _ = (call.validate(), snapshot);
}

fn main() {}
