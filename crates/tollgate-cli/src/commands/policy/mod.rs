//! `tollgate policy`: which rules are in force, whether they do what they should, what is odd about them, and what
//! recorded calls would meet under them.

use crate::{
    args::{PolicyCommand, Shared},
    exit::{Exit, Fault},
};

mod show;
mod cases;
mod lint;
mod replay;

pub(crate) fn run(policy: &PolicyCommand, shared: &Shared) -> Result<Exit, Fault> {
    match policy {
        PolicyCommand::Show(_) => show::run(shared),
        PolicyCommand::Test(test) => cases::run(&test.file, shared),
        PolicyCommand::Replay(replay) => replay::run(replay, shared),
        PolicyCommand::Lint(lint) => lint::run(lint.strict, shared),
    }
}
