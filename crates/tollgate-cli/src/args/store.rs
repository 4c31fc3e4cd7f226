//! Arguments of the commands that look into the store, beside those of `trace` and `breaker`.

use clap::Subcommand;

use super::{Plain, Shared};

#[derive(Debug, clap::Args)]
pub(crate) struct PolicyReplay {
    /// One run, or how its name begins; all runs of the last days when left out
    pub(crate) run: Option<String>,
    /// Runs whose latest record is not older than so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7, conflicts_with = "run")]
    pub(crate) days: u64,
    /// Every call, not only those that would be decided otherwise
    #[arg(long)]
    pub(crate) all: bool,
    /// Exit with 1 when a call would be decided otherwise
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BudgetCommand {
    /// What each run with a budget has spent, in all its processes
    List(Plain),
    /// Forgets what a run has spent: its whole budget is there again
    Reset(BudgetOf),
}

#[derive(Debug, clap::Args)]
pub(crate) struct BudgetOf {
    /// The run
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) shared: Shared,
}

impl BudgetCommand {
    pub(crate) fn shared(&mut self) -> &mut Shared {
        match self {
            Self::List(plain) => &mut plain.shared,
            Self::Reset(of) => &mut of.shared,
        }
    }
}
