//! What a run has spent, kept beyond its process: others of the run count into it, and a resumed one goes on with it.

use std::{fmt, sync::Arc};

use futures_util::{FutureExt as _, future::BoxFuture};

use super::{
    budget::{Budget, Spent},
    contained::{Contained, caught},
    ledger::LedgerFault,
};
use crate::{
    outcome::{Refusal, RefusalCode},
    tool::RunId,
};

/// Where what runs have spent is kept. Only runs with a budget ask it before a call.
pub trait PurseBook: Send + Sync + 'static {
    /// Counts one call, in one step with the look whether the budget has room after what everyone has spent.
    fn reserve<'a>(
        &'a self,
        run: &'a RunId,
        tool: &'a str,
        budget: &'a Budget,
    ) -> BoxFuture<'a, Result<Reserved, LedgerFault>>;

    /// What the run has spent, in every process.
    fn spent<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Spent, LedgerFault>>;

    /// Adds time, tokens and money. Waits for nothing.
    fn add(&self, run: &RunId, more: &Spent);

    /// One call that was counted never started. Waits for nothing.
    fn give_back(&self, run: &RunId, tool: &str);
}

/// What came of counting a call, and what is spent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// There was room, and it is counted.
    Counted(Spent),
    /// There was none, and nothing was counted.
    Full(Spent),
}

/// The page of one run in a book.
pub(crate) struct Kept {
    pub(crate) book: Arc<dyn PurseBook>,
    pub(crate) run: RunId,
}

impl Kept {
    /// A book that fails lets nothing through: what is not counted has no limit.
    pub(crate) async fn reserve(&self, tool: &str, budget: &Budget) -> Result<Reserved, Refusal> {
        // Asked inside the future, so that a panic in the method itself is caught with it.
        let reserved = async { self.book.reserve(&self.run, tool, budget).await };
        let reserved = Contained::new(reserved.boxed()).await;
        reserved.map_err(drop).and_then(|reserved| reserved.map_err(drop)).map_err(|()| {
            Refusal::new(
                RefusalCode::Internal,
                "What this run has spent could not be looked up, so the call did not run.",
            )
            .with_hint(
                "The store of this run has to be put right first; `tollgate doctor` says what is wrong.",
            )
        })
    }

    pub(crate) async fn spent(&self) -> Result<Spent, LedgerFault> {
        self.book.spent(&self.run).await
    }

    pub(crate) fn add(&self, more: &Spent) {
        // It is counted here in any case; what is spent has been spent.
        let _ = caught(|| self.book.add(&self.run, more));
    }

    pub(crate) fn give_back(&self, tool: &str) {
        let _ = caught(|| self.book.give_back(&self.run, tool));
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("run", &self.run).finish_non_exhaustive()
    }
}
