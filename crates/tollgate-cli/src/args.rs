//! The command line and the environment, as they were written. Nothing is opened or believed yet.

use std::{ffi::OsString, path::PathBuf};

use clap::{Parser, Subcommand, error::ErrorKind};

use crate::{exit::Exit, words};

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
    /// One call through the whole path
    Call(Call),
    /// What would happen to a call, and why; runs nothing
    Explain(Explain),
    /// What is set up, what is not, and what to do about it
    Doctor(Plain),
    /// A short demonstration on mock tools
    Demo(Plain),
    /// A completion script for your shell, on stdout
    Completions(Completions),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Call {
    /// The tool's name
    pub(crate) tool: String,
    /// The arguments, `-` to read them from stdin; `{}` when left out
    #[arg(value_name = "JSON|-")]
    pub(crate) input: Option<String>,
    /// The call's own id
    #[arg(long, default_value = "call_1")]
    pub(crate) id: String,
    /// A key under which the call takes effect at most once
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The tool's name
    #[arg(required_unless_present = "jsonl")]
    pub(crate) tool: Option<String>,
    /// The arguments, `-` to read them from stdin; `{}` when left out
    #[arg(value_name = "JSON|-")]
    pub(crate) input: Option<String>,
    /// Many calls: {"id","tool","input"} per line in, one explanation per line out
    #[arg(long, value_name = "FILE|-", num_args = 0..=1, default_missing_value = "-", conflicts_with = "tool")]
    pub(crate) jsonl: Option<PathBuf>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    shared: Shared,
}

/// What every command understands, before the command's name or after it.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Shared {
    /// Mock tools: a mocks file, an MCP `tools/list` reply, or a provider's `tools` array (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) mocks: Vec<PathBuf>,
    /// Let calls of these tools run: a name, `rea*`, `@server`, `@server/get_*` (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Ask a person about calls of these tools (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Refuse calls of these tools (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// A folder calls may touch; the current one unless given (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// The route: only its tools are exposed
    #[arg(long, value_name = "NAME")]
    pub(crate) route: Option<String>,
    /// Who proposes the call
    #[arg(long, value_name = "NAME")]
    pub(crate) caller: Option<String>,
    /// Where results are kept that are too long for a model
    #[arg(long, value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// JSON on stdout, one object a line where there are many
    #[arg(long)]
    pub(crate) json: bool,
    /// What happens to each call, as JSON on stderr, one event a line
    #[arg(long)]
    pub(crate) events: bool,
}

/// What the environment says. This is the one place that reads it.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) max_concurrency: Option<OsString>,
    pub(crate) tollgate_home: Option<PathBuf>,
    pub(crate) data_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
}

/// The command and what all commands share; or, when that is all there is to say, the exit code.
pub(crate) fn read() -> Result<(Command, Shared), Exit> {
    let Args { mut command, shared } = Args::try_parse().map_err(|error| tell(&error))?;
    let inner = std::mem::take(command.shared());
    Ok((command, shared.and(inner)))
}

impl Command {
    fn shared(&mut self) -> &mut Shared {
        match self {
            Self::Call(call) => &mut call.shared,
            Self::Explain(explain) => &mut explain.shared,
            Self::Doctor(plain) | Self::Demo(plain) => &mut plain.shared,
            Self::Completions(completions) => &mut completions.shared,
        }
    }
}

impl Shared {
    // Both places count: a rule given before the command must not be lost to one given after it.
    fn and(mut self, later: Self) -> Self {
        self.mocks.extend(later.mocks);
        self.allow.extend(later.allow);
        self.ask.extend(later.ask);
        self.deny.extend(later.deny);
        self.root.extend(later.root);
        Self {
            route: later.route.or(self.route),
            caller: later.caller.or(self.caller),
            results: later.results.or(self.results),
            json: self.json || later.json,
            events: self.events || later.events,
            ..self
        }
    }
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    pub(crate) fn read() -> Self {
        // An empty variable is as good as none.
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            max_concurrency: read("TOLLGATE_MAX_CONCURRENCY"),
            tollgate_home: read("TOLLGATE_HOME").map(PathBuf::from),
            data_home: read("XDG_DATA_HOME").map(PathBuf::from),
            home: read("HOME").map(PathBuf::from),
        }
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
            words::talk("hint: `tollgate demo` shows what it does.");
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
