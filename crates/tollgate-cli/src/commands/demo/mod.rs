//! `tollgate demo`: a recorded model on real tools in a real folder, or the path of a call on mock tools.

use crate::{
    args::{Demo, Demonstration, Shared},
    exit::{Exit, Fault},
};

mod agent;
mod path;

pub(crate) fn run(demo: &Demo, shared: &Shared) -> Result<Exit, Fault> {
    match demo.what {
        Demonstration::Agent => agent::run(shared),
        Demonstration::Path => path::run(demo, shared),
    }
}
