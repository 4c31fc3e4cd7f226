//! One file per command.

use crate::{
    args::{Command, Shared},
    exit::{Exit, Fault},
};

mod call;
mod batch;
mod explain;
mod jsonl;
mod line;
mod tools;
mod schema;
mod policy;
mod trust;
mod init;
mod approvals;
mod undo;
mod doctor;
mod demo;
mod trace;
mod breaker;
mod gateway;
mod mcp_serve;
mod serve;
mod mcp;
mod budget;
mod completions;

/// Does what the command line asks for.
pub(crate) fn run(command: Command, shared: &Shared) -> Result<Exit, Fault> {
    match command {
        Command::Call(call) => call::run(&call, shared),
        command => any(command, shared),
    }
}

/// Apart from a call, which is started most often: in one function with all of them it would take their room on the stack
/// too, and every page of that is touched.
#[inline(never)]
fn any(command: Command, shared: &Shared) -> Result<Exit, Fault> {
    match command {
        Command::Run(run) => crate::run::run(&run, shared),
        Command::Call(call) => call::run(&call, shared),
        Command::Batch(batch) => batch::run(&batch, shared),
        Command::Explain(explain) => explain::run(&explain, shared),
        Command::Tools(tools) => tools::run(&tools, shared),
        Command::Schema(schema) => schema::run(&schema),
        Command::Policy(policy) => policy::run(&policy, shared),
        Command::Trust(trust) => trust::run(&trust, shared),
        Command::Init(init) => init::run(&init, shared),
        Command::Approvals(approvals) => approvals::run(&approvals, shared),
        Command::Undo(undo) => undo::run(&undo, shared),
        Command::Doctor(_) => doctor::run(shared),
        Command::Demo(demo) => demo::run(&demo, shared),
        Command::Trace(trace) => trace::run(&trace, shared),
        Command::Breaker(command) => breaker::run(&command, shared),
        Command::Mcp(mcp) => match &mcp.command {
            Some(command) => mcp::run(command, shared),
            None => mcp_serve::run(&mcp.shown, shared),
        },
        Command::Serve(serve) => serve::run(&serve, shared),
        Command::Budget(command) => budget::run(&command, shared),
        Command::Completions(completions) => completions::run(&completions),
    }
}
