//! The command line and the environment, as they were written. Nothing is opened or believed yet.

use clap::{Parser, Subcommand, ValueEnum, error::ErrorKind};

use crate::{exit::Exit, words};

mod calls;
mod environment;
mod later;
mod mcp;
mod policy;
mod serve;
mod shared;
mod store;
mod tools;
mod trace;

pub(crate) use calls::{Batch, Call, Explain};
pub(crate) use environment::Environment;
use later::Later;
pub(crate) use later::whole;
pub(crate) use mcp::{
    ConfinementName, GenerationName, Mcp, McpAdd, McpCheck, McpCommand, McpImport, McpLogin, McpRemove,
};
pub(crate) use policy::{AnswerQuestion, Approvals, HowLong, Init, PolicyCommand, TrustFile, Word};
pub(crate) use serve::{Serve, Shown};
pub(crate) use shared::{OnAsk, Plain, Shared};
pub(crate) use store::{BudgetCommand, PolicyReplay};
pub(crate) use tools::{Lint, Project, Schema, Tools};
pub(crate) use trace::{
    BreakerCommand, Trace, TraceExport, TraceList, TracePrune, TraceReplay, TraceShow, Undo,
};

/// The model proposes. Tollgate decides, runs and records.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    shared: Shared,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the tool failed, 2 bad usage, 3 refused, 4 needs a person, \
                          130 interrupted.\nTry `tollgate demo` first.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A model works with tools: you watch, answer, interrupt, resume
    Run(Later<Box<crate::run::args::Run>>),
    /// One call through the whole path
    Call(Later<Call>),
    /// A model's turn in, the message with its results out
    Batch(Later<Batch>),
    /// What would happen to a call, and why; runs nothing
    Explain(Later<Explain>),
    /// What a model is offered: its tools, their cost, their defects, a provider's form
    #[command(subcommand)]
    Tools(Later<Tools>),
    /// JSON Schema on stdin; a schema on stdout
    #[command(subcommand)]
    Schema(Later<Schema>),
    /// The rules: which are in force, whether they do what they should, what is odd about them
    #[command(subcommand)]
    Policy(Later<PolicyCommand>),
    /// Let a project's own tollgate.toml widen what calls may do, as it is written now
    Trust(Later<TrustFile>),
    /// A commented tollgate.toml for this folder
    Init(Later<Init>),
    /// Questions that wait for a person
    #[command(subcommand)]
    Approvals(Later<Approvals>),
    /// Takes back what the file tools changed last
    Undo(Later<Undo>),
    /// What is set up, what is not, and what to do about it
    Doctor(Later<Plain>),
    /// A recorded model on a real task; `demo path` shows the path of a call on mock tools
    Demo(Later<Demo>),
    /// What was recorded: runs, their calls, and whether the record is whole
    #[command(subcommand)]
    Trace(Later<Trace>),
    /// What is not called any more because it kept failing
    #[command(subcommand)]
    Breaker(Later<BreakerCommand>),
    /// What runs with a budget have spent
    #[command(subcommand)]
    Budget(Later<BudgetCommand>),
    /// The governed tools for a client of MCP, over stdin and stdout; and the MCP servers that bring tools
    Mcp(Later<Mcp>),
    /// The governed tools for clients of MCP, over HTTP
    Serve(Later<Serve>),
    /// A completion script for your shell, on stdout
    Completions(Later<Completions>),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Demo {
    /// What is shown
    #[arg(default_value = "agent")]
    pub(crate) what: Demonstration,
    /// Of the path: what happens to each call, as JSON on stderr, one event a line
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    shared: Shared,
}

/// What a demonstration shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Demonstration {
    /// A recorded model works on a small project with the built-in tools
    Agent,
    /// Four turns on mock tools: batches, refusals, a rewrite, an unknown
    Path,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    shared: Shared,
}

/// The command and what all commands share; or, when that is all there is to say, the exit code.
pub(crate) fn read() -> Result<(Command, Shared), Exit> {
    let Args { mut command, shared } = Args::try_parse().map_err(|error| tell(&error))?;
    let inner = command.take_shared();
    Ok((command, shared.and(inner)))
}

impl Command {
    fn take_shared(&mut self) -> Shared {
        let shared = match self {
            Self::Run(run) => run.take_shared(),
            Self::Call(call) => &mut call.shared,
            Self::Batch(batch) => &mut batch.shared,
            Self::Explain(explain) => &mut explain.shared,
            Self::Doctor(Later(plain))
            | Self::Breaker(Later(BreakerCommand::List(plain)))
            | Self::Policy(Later(PolicyCommand::Show(plain)))
            | Self::Approvals(Later(Approvals::List(plain))) => &mut plain.shared,
            Self::Policy(Later(PolicyCommand::Test(test))) => &mut test.shared,
            Self::Policy(Later(PolicyCommand::Lint(lint))) => &mut lint.shared,
            Self::Trust(trust) => &mut trust.shared,
            Self::Init(init) => &mut init.shared,
            Self::Undo(undo) => &mut undo.shared,
            Self::Demo(demo) => &mut demo.shared,
            Self::Serve(serve) => &mut serve.shared,
            Self::Completions(completions) => &mut completions.shared,
            Self::Approvals(Later(Approvals::Answer(answer))) => &mut answer.shared,
            Self::Tools(tools) => return tools.take_shared(),
            Self::Trace(trace) => trace.shared(),
            Self::Budget(budget) => budget.shared(),
            Self::Policy(Later(PolicyCommand::Replay(replay))) => &mut replay.shared,
            Self::Mcp(mcp) => return mcp.take_shared(),
            Self::Breaker(Later(BreakerCommand::Open(of) | BreakerCommand::Reset(of))) => &mut of.shared,
            Self::Schema(_) => return Shared::default(),
        };
        std::mem::take(shared)
    }
}

/// Help and version go to stdout; a wrong command line to stderr, with the way on as its last line.
fn tell(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            words::data(&text).map_or_else(|fault| fault.tell(), |()| Exit::Done)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            words::talk(text.trim_end());
            words::talk("hint: name one of these commands; with `--help` after it, it says what it takes.");
            Exit::Usage
        }
        _ => {
            let (said, _) = text.split_once("\nFor more information").unwrap_or((&text, ""));
            words::talk(said.trim_end());
            words::talk("hint: add `--help` to see what it takes.");
            Exit::Usage
        }
    }
}
