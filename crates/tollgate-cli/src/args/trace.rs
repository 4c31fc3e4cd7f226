//! `trace`, `breaker`, `undo`: what happened.

use clap::Subcommand;

use super::{Plain, Shared};

#[derive(Debug, Subcommand)]
pub(crate) enum BreakerCommand {
    /// Every breaker that is open, half-open, or has counted a failure
    List(Plain),
    /// Opens one by hand; it stays open until it is reset
    Open(BreakerOf),
    /// Closes one and forgets its failures
    Reset(BreakerOf),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BreakerOf {
    /// A tool's name, or `capability:NAME`, `server:NAME`, `route:NAME`
    #[arg(value_name = "WHAT")]
    pub(crate) what: String,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// The latest runs
    List(TraceList),
    /// One run as a tree: calls, phases, decisions, results
    Show(TraceShow),
    /// The records of one run, or of all, one JSON object a line; or as OpenTelemetry spans
    Export(TraceExport),
    /// One run again, call by call, as today's tools and rules would take it; runs nothing
    Replay(TraceReplay),
    /// Whether the chain of records is whole, and what that proves
    Verify(Plain),
    /// Takes out the records of old runs; their hashes stay
    Prune(TracePrune),
}

#[derive(Debug, clap::Args)]
pub(crate) struct TraceList {
    /// How many runs at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TraceShow {
    /// The run, or how its name begins; the latest one when left out
    pub(crate) run: Option<String>,
    /// Go on showing what is recorded, until interrupted
    #[arg(long)]
    pub(crate) follow: bool,
    /// One line for each call
    #[arg(long)]
    pub(crate) brief: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXPORT_HELP)]
pub(crate) struct TraceExport {
    /// The run, or how its name begins; all runs when left out
    pub(crate) run: Option<String>,
    /// As OpenTelemetry spans (OTLP in JSON) on stdout, or sent to a receiver as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) otlp: Option<String>,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TraceReplay {
    /// The run, or how its name begins; the latest one when left out
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TracePrune {
    /// Runs whose latest record is older than so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) older_than: u64,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
#[command(after_help = UNDO_HELP)]
pub(crate) struct Undo {
    /// Only changes of these files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// How many changes, newest first
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) count: usize,
    /// Show what would happen; nothing is touched
    #[arg(long)]
    pub(crate) preview: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

const EXPORT_HELP: &str = "\
Formats: without --otlp, JSON Lines of the records as the store keeps them: {\"run\", \"seq\", \"record\"}, or \"unreadable\" for
\"record\" where a row is damaged. With --otlp, one OTLP request a run, as JSON on stdout or as protobuf to the address.
`trace show --json` has the same in whole names.

Names in a record:
  r  kind: proposed, decided, started, settled, call, delivered, steps, turn, asked, answered, model, traced, stopped
  i  number of a call that needed a claim           at  when, ms since 1970       us  how long the call took, in µs
  t  turn         p  place in the turn              c   the call's id             tool, route, key, sandbox  as everywhere
  who  caller, where not main                       agent  the sub-agent          why  the model's purpose
  by   who allowed it, or why the run ended         in  arguments                 text  arguments nobody accepted
  a    the answer                                   q   the question's id         parent  traceparent of the caller
  steps  what the kind is about: steps, a model's turn, a reply, ids              recovered  true: written by recovery";

const UNDO_HELP: &str = "Only files inside the roots that still are as the tools left them are touched; what something else \
                         changed since is left alone, and that is said.";

impl TraceShow {
    /// One run, in brief.
    pub(crate) fn of(run: String) -> Self {
        Self { run: Some(run), follow: false, brief: true, shared: Shared::default() }
    }
}

impl Trace {
    pub(super) fn shared(&mut self) -> &mut Shared {
        match self {
            Self::List(list) => &mut list.shared,
            Self::Show(show) => &mut show.shared,
            Self::Export(export) => &mut export.shared,
            Self::Replay(replay) => &mut replay.shared,
            Self::Verify(plain) => &mut plain.shared,
            Self::Prune(prune) => &mut prune.shared,
        }
    }
}
