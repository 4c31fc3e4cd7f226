//! `call`, `batch`, `explain`: what comes on the path.

use std::path::PathBuf;

use clap::{ValueEnum, builder::NonEmptyStringValueParser};
use tollgate::schema::Provider;

use super::Shared;

#[derive(Debug, clap::Args)]
pub(crate) struct Call {
    /// The tool's name, as `tollgate tools list` shows it; a server's also as `@server/tool`
    pub(crate) tool: String,
    /// The arguments, `-` to read them from stdin; `{}` when left out
    #[arg(value_name = "JSON|-")]
    pub(crate) input: Option<String>,
    /// The call's own id
    #[arg(long, default_value = "call_1")]
    pub(crate) id: String,
    /// A key under which the call takes effect at most once
    // An empty one would be a real key, shared by every call whose variable was not set.
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) idempotency_key: Option<String>,
    /// What happens to the call, as JSON on stderr, one event a line
    #[arg(long)]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
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
    pub(super) shared: Shared,
}

const BATCH_HELP: &str = "The plain form is {\"calls\":[{\"id\",\"name\",\"input\",\"idempotency_key\"?}],\"context\"?:{…}} in and \
                          {\"results\":[…]} out.\nExits with 0 whenever it printed a results message, whatever \
                          became of the calls; with 1 when the input is no JSON or in another form.";

/// The forms a turn comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Anthropic Messages
    Anthropic,
    /// The Responses API
    #[value(help = "OpenAI Responses", name = "openai-responses", alias = "openai_responses")]
    OpenAiResponses,
    /// Chat completions
    #[value(
        help = "OpenAI chat completions, and servers compatible with them",
        name = "openai-chat",
        alias = "openai_chat"
    )]
    OpenAiChat,
    /// A list of calls: {"calls": [{"id", "name", "input"}]}
    Plain,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The tool's name, as `tollgate tools list` shows it; a server's also as `@server/tool`
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
    pub(super) shared: Shared,
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
