//! `tollgate doctor`: what is set up, what is not, and what to do about it.

use crate::{
    args::{Environment, Shared},
    exit::{Exit, Fault},
    words,
};

mod report;
mod examine;
mod advice;
mod told;

pub(crate) fn run(shared: &Shared) -> Result<Exit, Fault> {
    let report = examine::examine(shared, &Environment::read());
    words::data(&if shared.json { words::json(&report) } else { told::told(&report) })?;
    Ok(if report.ok { Exit::Done } else { Exit::Failed })
}
