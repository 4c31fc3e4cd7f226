//! What every command understands.

use std::path::PathBuf;

use clap::{ValueEnum, builder::NonEmptyStringValueParser};

/// What to do with a question when nobody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnAsk {
    /// Refuse the call and go on; exit code 3
    Deny,
    /// Refuse the call and stop; exit code 4
    Fail,
    /// Refuse the call and leave the question for `approvals answer`; exit code 4
    Park,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    pub(super) shared: Shared,
}

/// What every command understands, before the command's name or after it.
#[derive(Debug, Default, Clone, clap::Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Shared {
    /// Mock tools: a mocks file, an MCP `tools/list` reply, or a provider's `tools` array (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) mocks: Vec<PathBuf>,
    /// Let these calls run: a tool's name, `rea*`, `@server/get_*`, `read(./**)`, `shell(git status *)` (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Ask a person about these calls (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) ask: Vec<String>,
    /// Refuse these calls (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// What to do with a question instead of asking at the terminal
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_ask: Option<OnAsk>,
    /// A yes to the one call with this digest (repeatable)
    #[arg(long, value_name = "DIGEST")]
    pub(crate) approve: Vec<String>,
    /// A folder calls may touch; the current one unless given (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// The route: only its tools are exposed
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) route: Option<String>,
    /// Who proposes the call
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) caller: Option<String>,
    /// Where results are kept that are too long for a model
    #[arg(long, value_name = "DIR")]
    pub(crate) results: Option<PathBuf>,
    /// Read no tollgate.toml of the person or the project; the machine's own is read all the same
    #[arg(long)]
    pub(crate) no_config: bool,
    /// JSON on stdout, one object a line where there are many
    #[arg(long)]
    pub(crate) json: bool,
    /// Record nothing
    #[arg(long)]
    pub(crate) no_store: bool,
}

impl Shared {
    // Both places count: a rule given before the command must not be lost to one given after it.
    pub(super) fn and(mut self, later: Self) -> Self {
        self.mocks.extend(later.mocks);
        self.allow.extend(later.allow);
        self.ask.extend(later.ask);
        self.deny.extend(later.deny);
        self.root.extend(later.root);
        self.approve.extend(later.approve);
        Self {
            on_ask: later.on_ask.or(self.on_ask),
            route: later.route.or(self.route),
            caller: later.caller.or(self.caller),
            results: later.results.or(self.results),
            no_config: self.no_config || later.no_config,
            json: self.json || later.json,
            no_store: self.no_store || later.no_store,
            ..self
        }
    }
}
