//! `tools` and `schema`: what a model is offered.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tollgate::schema::{Provider, Target};

use super::Shared;

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
    pub(super) catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The tool's name
    pub(crate) tool: String,
    #[command(flatten)]
    pub(crate) target: ForProvider,
    #[command(flatten)]
    pub(super) catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// A tool's name, or words for what it should do
    pub(crate) query: String,
    /// How many tools at most
    #[arg(long, value_name = "NUMBER", default_value_t = 10)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(super) catalogue: Catalogue,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Lint {
    /// Exit with 1 when there is a finding that is more than information
    #[arg(long)]
    pub(crate) deny: bool,
    #[command(flatten)]
    pub(crate) target: ForProvider,
    #[command(flatten)]
    pub(super) tools: OnlyTools,
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
    pub(super) catalogue: Catalogue,
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
    pub(super) tools: OnlyTools,
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

impl Tools {
    pub(super) fn take_shared(&mut self) -> Shared {
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
    pub(super) fn shared(self, deny: Vec<String>) -> Shared {
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

impl ForProvider {
    pub(crate) fn target(&self) -> Option<Target> {
        let strict = self.strict;
        self.provider.map(|provider| Target { provider: provider.into(), strict })
    }
}
