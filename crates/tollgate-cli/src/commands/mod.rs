//! One file per command.

use crate::{
    args::{Command, Shared},
    exit::{Exit, Fault},
};

mod call;
mod explain;
mod jsonl;
mod line;
mod doctor;
mod demo;
mod completions;

/// Does what the command line asks for.
pub(crate) fn run(command: Command, shared: &Shared) -> Result<Exit, Fault> {
    match command {
        Command::Call(call) => call::run(&call, shared),
        Command::Explain(explain) => explain::run(&explain, shared),
        Command::Doctor(_) => doctor::run(shared),
        Command::Demo(_) => demo::run(shared),
        Command::Completions(completions) => completions::run(&completions),
    }
}
