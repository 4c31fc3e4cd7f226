//! `policy`, `approvals`, `trust`, `init`: who decides.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{Plain, PolicyReplay, Shared};

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
    /// With always: take a rule that means far more than the call
    #[arg(long)]
    pub(crate) confirm_wide: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
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
    /// What the calls of the last days would have met under today's rules; runs nothing
    Replay(PolicyReplay),
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
    pub(super) shared: Shared,
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

#[derive(Debug, clap::Args)]
pub(crate) struct PolicyLint {
    /// Exit with 1 when there is a finding
    #[arg(long = "strict")]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
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
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Print it, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}
