//! The command line of `tollgate run`.

use std::path::PathBuf;

use crate::args::Shared;

#[derive(Debug, Default, clap::Args)]
#[command(after_help = HELP)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Run {
    /// What the model is to do; `-` reads it from stdin. Without it, at a terminal, you type
    #[arg(value_name = "PROMPT|-")]
    pub(crate) prompt: Option<String>,
    /// The model: `anthropic:NAME`, `openai:NAME`, `chat:NAME@URL`, or `cassette:FILE`; else `TOLLGATE_MODEL`, else `[run] model`
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The role it has: a `[roles.NAME]` of tollgate.toml
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
    /// Takes up a session; the latest of this folder when no id is given
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "", conflicts_with = "continued")]
    pub(crate) resume: Option<String>,
    /// Takes up the latest session of this folder
    #[arg(long = "continue", short = 'c')]
    pub(crate) continued: bool,
    /// The sessions there are, the latest first
    #[arg(long, conflicts_with_all = ["prompt", "resume", "continued"])]
    pub(crate) list: bool,
    /// Only look until the plan is approved
    #[arg(long)]
    pub(crate) plan: bool,
    /// The final answer on stdout, and nothing else
    #[arg(long, short)]
    pub(crate) print: bool,
    /// Everything a call gave back, not only the telling part
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Ask for whole answers instead of streamed ones
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Writes the conversation down as a cassette, for `--model cassette:FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// How often a request that failed is made again
    #[arg(long, value_name = "NUMBER", default_value_t = 4)]
    pub(crate) retries: u32,
    /// Read no AGENTS.md and the like
    #[arg(long)]
    pub(crate) no_instructions: bool,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

/// What a run may take.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Limits")]
#[expect(clippy::struct_field_names, reason = "they are named as the flags are")]
pub(crate) struct Limits {
    /// Turns of the model for one message of yours
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_turns: Option<u32>,
    /// Calls that are executed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_calls: Option<u64>,
    /// Seconds at work, waiting for you left out
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_seconds: Option<u64>,
    /// Tokens read and written
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_tokens: Option<u64>,
    /// Money, in dollars
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<u64>,
}

const HELP: &str = "\
Ctrl-C interrupts: calls that can be stopped are, every call is answered, and the session can be resumed. A second \
Ctrl-C stops all.\nWith --json every event is one line on stdout; docs/run.md has the list.\n\
Exit codes: 0 done, 1 the model failed, 2 bad usage, 3 refused, 4 needs a person, 130 interrupted.";

impl Run {
    pub(crate) fn take_shared(&mut self) -> &mut Shared {
        &mut self.shared
    }

    /// The session to take up: its id, or the latest one where that is empty.
    pub(crate) fn taken_up(&self) -> Option<&str> {
        self.resume.as_deref().or(self.continued.then_some(""))
    }
}

/// Dollars as people write them, in millionths.
pub(crate) fn dollars(text: &str) -> Result<u64, String> {
    let number = text.trim().trim_start_matches('$').parse::<f64>().ok().and_then(microdollars);
    number.ok_or_else(|| format!("`{text}` is no amount in dollars, as 0.50"))
}

/// A million millions of dollars is more than anyone means.
const MOST: f64 = 1e12;

pub(crate) fn microdollars(dollars: f64) -> Option<u64> {
    let fits = dollars.is_finite() && (0.0..=MOST).contains(&dollars);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the range")]
    fits.then(|| (dollars * 1e6).round() as u64)
}
