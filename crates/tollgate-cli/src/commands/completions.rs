//! `tollgate completions SHELL`: the script that completes this command line.

use crate::{
    args::{Args, Completions, whole},
    exit::{Exit, Fault},
    words,
};

pub(crate) fn run(completions: &Completions) -> Result<Exit, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut whole::<Args>(), "tollgate", &mut script);
    words::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
