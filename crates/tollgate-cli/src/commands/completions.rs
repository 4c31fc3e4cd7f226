//! `tollgate completions SHELL`: the script that completes this command line.

use clap::CommandFactory as _;

use crate::{
    args::{Args, Completions},
    exit::{Exit, Fault},
    words,
};

pub(crate) fn run(completions: &Completions) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Args::command(), "tollgate", &mut script);
    words::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
