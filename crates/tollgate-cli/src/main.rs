//! The program `tollgate`: raw arguments become a gate, the gate answers, the answer becomes words and an exit code.

use std::process::ExitCode;

use tollgate_tools::process::{ON_A_LEASH, become_leashed};

mod args;
mod exit;
mod stop;
mod words;
mod mocks;
mod config;
mod hooks;
mod sandbox;
mod held;
mod servers;
mod builtins;
mod store;
mod world;
mod input;
mod events;
mod approver;
mod run;
mod commands;

fn main() -> ExitCode {
    if let Some(exit) = sandbox::inner() {
        return exit;
    }
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == ON_A_LEASH) {
        words::talk(&format!("error: {}", become_leashed(words)));
        return ExitCode::from(127);
    }
    exit::quiet_panics();
    let exit = std::panic::catch_unwind(|| match args::read() {
        Ok((command, shared)) => commands::run(command, &shared).unwrap_or_else(|fault| fault.tell()),
        Err(exit) => exit,
    });
    exit.unwrap_or_else(|_| exit::own_fault()).into()
}
