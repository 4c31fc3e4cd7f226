//! The command line and the environment, as they were written. Nothing is opened or believed yet.

use std::{ffi::OsString, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum, error::ErrorKind};
use tollgate::schema::{Provider, Target};

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
    /// A model works with tools: you watch, answer, interrupt, resume
    Run(Box<crate::run::args::Run>),
    /// One call through the whole path
    Call(Call),
    /// A model's turn in, the message with its results out
    Batch(Batch),
    /// What would happen to a call, and why; runs nothing
    Explain(Explain),
    /// What a model is offered: its tools, their cost, their defects, a provider's form
    #[command(subcommand)]
    Tools(Tools),
    /// JSON Schema on stdin; a schema on stdout
    #[command(subcommand)]
    Schema(Schema),
    /// The rules: which are in force, whether they do what they should, what is odd about them
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Let a project's own tollgate.toml widen what calls may do, as it is written now
    Trust(TrustFile),
    /// A commented tollgate.toml for this folder
    Init(Init),
    /// Questions that wait for a person
    #[command(subcommand)]
    Approvals(Approvals),
    /// Takes back what the file tools changed last
    Undo(Undo),
    /// What is set up, what is not, and what to do about it
    Doctor(Plain),
    /// A recorded model on a real task; `demo path` shows the path of a call on mock tools
    Demo(Demo),
    /// What was recorded: runs, their calls, and whether the record is whole
    #[command(subcommand)]
    Trace(Trace),
    /// What is not called any more because it kept failing
    #[command(subcommand)]
    Breaker(BreakerCommand),
    /// A completion script for your shell, on stdout
    Completions(Completions),
}

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
    shared: Shared,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// The latest runs
    List(TraceList),
    /// One run as a tree: calls, phases, decisions, results
    Show(TraceShow),
    /// The records of one run, or of all, one JSON object a line; or as OpenTelemetry spans
    Export(TraceExport),
    /// What today's rules would say to the calls of a run; runs nothing
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
    shared: Shared,
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
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TraceExport {
    /// The run, or how its name begins; all runs when left out
    pub(crate) run: Option<String>,
    /// As OpenTelemetry spans (OTLP in JSON) on stdout, or sent to a receiver as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL|-", num_args = 0..=1, default_missing_value = "-")]
    pub(crate) otlp: Option<String>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TraceReplay {
    /// The run, or how its name begins; the latest one when left out
    pub(crate) run: Option<String>,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TracePrune {
    /// Runs whose latest record is older than so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) older_than: u64,
    #[command(flatten)]
    shared: Shared,
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
    /// What happens to the call, as JSON on stderr, one event a line
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
#[command(after_help = BATCH_HELP)]
pub(crate) struct Batch {
    /// The turn: a response body or a bare assistant message; stdin when left out
    #[arg(value_name = "FILE|-")]
    pub(crate) file: Option<PathBuf>,
    /// Whose form the turn comes in and its results go back in
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Form,
    /// The turn comes as stream events: SSE text, or one JSON object a line
    #[arg(long)]
    pub(crate) events: bool,
    /// {"route","caller","run","turn","approvals"} of the turn; --route and --caller go before it
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) context: Option<String>,
    /// What happens to each call, as JSON on stderr, one event a line
    #[arg(long)]
    pub(crate) trace_events: bool,
    #[command(flatten)]
    shared: Shared,
}

const BATCH_HELP: &str = "The plain form is {\"calls\":[{\"id\",\"name\",\"input\",\"idempotency_key\"?}],\"context\"?:{…}} in and \
                          {\"results\":[…]} out.\nExits with 0 whenever it printed a results message, whatever \
                          became of the calls; with 1 when the input is no JSON or in another form.";

/// The forms a turn comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Anthropic Messages
    Anthropic,
    /// `OpenAI` Responses
    #[value(name = "openai-responses", alias = "openai_responses")]
    OpenAiResponses,
    /// `OpenAI` chat completions
    #[value(name = "openai-chat", alias = "openai_chat")]
    OpenAiChat,
    /// A list of calls
    Plain,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// Every tool with what it costs in a prompt
    List(List),
    /// Everything about one tool
    Show(Show),
    /// The tools that fit some words, best first
    Search(Search),
    /// What good tool design asks for and these tools do not have, each with the fix
    Lint(Lint),
    /// The `tools` array of a provider, on stdout
    Export(Export),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) target: ForProvider,
    #[command(flatten)]
    catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The tool's name
    pub(crate) tool: String,
    #[command(flatten)]
    pub(crate) target: ForProvider,
    #[command(flatten)]
    catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// A tool's name, or words for what it should do
    pub(crate) query: String,
    /// How many tools at most
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) limit: usize,
    #[command(flatten)]
    catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Lint {
    /// Exit with 1 when there is a finding that is more than information
    #[arg(long)]
    pub(crate) deny: bool,
    #[command(flatten)]
    pub(crate) target: ForProvider,
    #[command(flatten)]
    tools: OnlyTools,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// Whose form
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: ProviderName,
    /// Have the provider hold the model to each schema that can be said strictly
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    catalogue: Catalogue,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Schema {
    /// The same schema without references
    Flatten(Flatten),
    /// The schema as a provider takes it; what became of it, on stderr
    Project(Project),
}

#[derive(Debug, clap::Args)]
#[command(after_help = FLATTEN_HELP)]
pub(crate) struct Flatten {
    /// The schema; stdin when left out
    #[arg(value_name = "FILE|-")]
    pub(crate) file: Option<PathBuf>,
    /// As without it: the output is JSON either way
    #[arg(long)]
    json: bool,
}

const FLATTEN_HELP: &str = "A schema that cannot be flattened: exit 3 and {\"code\",\"message\"} on stdout, the code one \
                            of recursive_ref, external_ref, unresolvable_ref, dynamic_ref, too_large, unsupported.";

#[derive(Debug, clap::Args)]
pub(crate) struct Project {
    /// The schema; stdin when left out
    #[arg(value_name = "FILE|-")]
    pub(crate) file: Option<PathBuf>,
    /// Whose form
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: ProviderName,
    /// Have the provider hold the model to the schema, where that can be said
    #[arg(long)]
    pub(crate) strict: bool,
    /// The report on stderr as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The providers, by the names people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProviderName {
    /// Anthropic Messages
    Anthropic,
    /// `OpenAI` Responses
    #[value(name = "openai-responses", alias = "openai_responses")]
    OpenAiResponses,
    /// `OpenAI` chat completions
    #[value(name = "openai-chat", alias = "openai_chat")]
    OpenAiChat,
}

/// The provider a command may be told to look with the eyes of.
#[derive(Debug, clap::Args)]
pub(crate) struct ForProvider {
    /// Whose form the tools are looked at in
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<ProviderName>,
    /// As the provider is sent them when it shall hold the model to the schemas
    #[arg(long, requires = "provider")]
    pub(crate) strict: bool,
}

/// What the commands about tools understand.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Catalogue {
    #[command(flatten)]
    tools: OnlyTools,
    /// Leave out tools that are refused outright (repeatable)
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct OnlyTools {
    /// Mock tools: a mocks file, an MCP `tools/list` reply, or a provider's `tools` array (repeatable)
    #[arg(long, value_name = "FILE")]
    mocks: Vec<PathBuf>,
    /// The route: only its tools are looked at
    #[arg(long, value_name = "NAME")]
    route: Option<String>,
    /// JSON on stdout, one object a line where there are many
    #[arg(long)]
    json: bool,
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
    /// More calls of the same turn, each a tool's name and its arguments: the plan of their batches is told too
    #[arg(value_name = "TOOL JSON")]
    pub(crate) more: Vec<String>,
    /// Nothing runs, so there are none; taken so that one word more or less turns a call into its explanation
    #[arg(long, hide = true)]
    events: bool,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// Every question that waits, whole
    List(Plain),
    /// Answers a question, once
    Answer(AnswerQuestion),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AnswerQuestion {
    /// The question, as `approvals list` names it
    pub(crate) id: String,
    /// What you say
    pub(crate) answer: Word,
    /// With a no: a word for the model
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// With always and never: how far, by the number `approvals list` shows
    #[arg(long, value_name = "NUMBER", conflicts_with = "rule")]
    pub(crate) reach: Option<usize>,
    /// With always and never: the rule itself (repeatable)
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Vec<String>,
    /// With always and never: for how long
    #[arg(long = "for", value_name = "LIFETIME", default_value = "session")]
    pub(crate) lifetime: HowLong,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Every rule in force, by layer, and what is inert
    Show(Plain),
    /// Cases from a file: exits with 1 when one is not decided as it says
    #[command(after_help = CASES_HELP)]
    Test(PolicyTest),
    /// Rules that can mean nothing, that others make idle, that are wider than they look
    Lint(PolicyLint),
}

const CASES_HELP: &str = "A case is a table [[case]] with `expect` = \"allow\", \"ask\" or \"deny\", and the call: `tool` \
                          with `input`, or one of `command`, `read`, `write`, `host`. Where `rule` or `layer` is given, \
                          it must be the one that decides.";

#[derive(Debug, clap::Args)]
pub(crate) struct PolicyTest {
    /// The cases (TOML)
    #[arg(value_name = "FILE|-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    shared: Shared,
}

/// What a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    Yes,
    No,
    Always,
    Never,
}

/// How long an always or a never lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HowLong {
    Session,
    Project,
    User,
}

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
pub(crate) struct PolicyLint {
    /// Exit with 1 when there is a finding
    #[arg(long = "strict")]
    pub(crate) strict: bool,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrustFile {
    /// The file; the nearest tollgate.toml of this folder unless given
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long)]
    pub(crate) forget: bool,
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Print it, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    shared: Shared,
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
    shared: Shared,
}

const UNDO_HELP: &str = "Only files inside the roots that still are as the tools left them are touched; what something else \
                         changed since is left alone, and that is said.";

#[derive(Debug, clap::Args)]
pub(crate) struct Plain {
    #[command(flatten)]
    shared: Shared,
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

/// What every command understands, before the command's name or after it.
#[derive(Debug, Default, clap::Args)]
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
    #[arg(long, value_name = "NAME")]
    pub(crate) route: Option<String>,
    /// Who proposes the call
    #[arg(long, value_name = "NAME")]
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

/// What the environment says. This is the one place that reads it.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) max_concurrency: Option<OsString>,
    pub(crate) tollgate_home: Option<PathBuf>,
    /// A `postgres://` URL for the ledger, in the place of the file in the home folder.
    pub(crate) store_url: Option<OsString>,
    pub(crate) data_home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// All of it, for the child processes that get a part.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The level below which no command runs.
    pub(crate) sandbox_required: Option<OsString>,
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
            Self::Doctor(plain)
            | Self::Breaker(BreakerCommand::List(plain))
            | Self::Policy(PolicyCommand::Show(plain))
            | Self::Approvals(Approvals::List(plain)) => &mut plain.shared,
            Self::Policy(PolicyCommand::Test(test)) => &mut test.shared,
            Self::Policy(PolicyCommand::Lint(lint)) => &mut lint.shared,
            Self::Trust(trust) => &mut trust.shared,
            Self::Init(init) => &mut init.shared,
            Self::Undo(undo) => &mut undo.shared,
            Self::Demo(demo) => &mut demo.shared,
            Self::Completions(completions) => &mut completions.shared,
            Self::Approvals(Approvals::Answer(answer)) => &mut answer.shared,
            Self::Tools(tools) => return tools.take_shared(),
            Self::Trace(trace) => trace.shared(),
            Self::Breaker(BreakerCommand::Open(of) | BreakerCommand::Reset(of)) => &mut of.shared,
            Self::Schema(_) => return Shared::default(),
        };
        std::mem::take(shared)
    }
}

impl TraceShow {
    /// One run, in brief.
    pub(crate) fn of(run: String) -> Self {
        Self { run: Some(run), follow: false, brief: true, shared: Shared::default() }
    }
}

impl Trace {
    fn shared(&mut self) -> &mut Shared {
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

impl Tools {
    fn take_shared(&mut self) -> Shared {
        let catalogue = match self {
            Self::List(list) => &mut list.catalogue,
            Self::Show(show) => &mut show.catalogue,
            Self::Search(search) => &mut search.catalogue,
            Self::Export(export) => &mut export.catalogue,
            Self::Lint(lint) => return std::mem::take(&mut lint.tools).shared(Vec::new()),
        };
        let Catalogue { tools, deny } = std::mem::take(catalogue);
        tools.shared(deny)
    }
}

impl OnlyTools {
    fn shared(self, deny: Vec<String>) -> Shared {
        let Self { mocks, route, json } = self;
        Shared { mocks, deny, route, json, ..Shared::default() }
    }
}

impl From<ProviderName> for Provider {
    fn from(name: ProviderName) -> Self {
        match name {
            ProviderName::Anthropic => Self::Anthropic,
            ProviderName::OpenAiResponses => Self::OpenAiResponses,
            ProviderName::OpenAiChat => Self::OpenAiChat,
        }
    }
}

impl Form {
    /// The provider; `None` for the plain form.
    pub(crate) fn provider(self) -> Option<Provider> {
        match self {
            Self::Anthropic => Some(Provider::Anthropic),
            Self::OpenAiResponses => Some(Provider::OpenAiResponses),
            Self::OpenAiChat => Some(Provider::OpenAiChat),
            Self::Plain => None,
        }
    }
}

impl ForProvider {
    pub(crate) fn target(&self) -> Option<Target> {
        let strict = self.strict;
        self.provider.map(|provider| Target { provider: provider.into(), strict })
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

impl Environment {
    /// What a variable says; an empty one says nothing.
    pub(crate) fn variable(&self, name: &str) -> Option<&std::ffi::OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    #[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    pub(crate) fn read() -> Self {
        // An empty variable is as good as none.
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            max_concurrency: read("TOLLGATE_MAX_CONCURRENCY"),
            tollgate_home: read("TOLLGATE_HOME").map(PathBuf::from),
            store_url: read("TOLLGATE_STORE"),
            data_home: read("XDG_DATA_HOME").map(PathBuf::from),
            config_home: read("XDG_CONFIG_HOME").map(PathBuf::from),
            home: read("HOME").map(PathBuf::from),
            variables: std::env::vars_os().collect(),
            sandbox_required: read("TOLLGATE_SANDBOX_REQUIRED"),
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
