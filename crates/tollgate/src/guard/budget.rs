//! What a run may spend: calls, tool time, tokens, money; in all, and calls per tool.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use serde::Serialize;

use super::{
    purse_book::{Kept, Reserved},
    run::Run,
};
use crate::{
    outcome::{Refusal, RefusalCode},
    tool::ToolName,
};

/// Limits of a run; what is not set has none.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Budget {
    /// Executed calls.
    pub calls: Option<u64>,
    /// Time spent in tool bodies, added up.
    pub tool_time: Option<Duration>,
    /// Tokens, as the loop counts them.
    pub tokens: Option<u64>,
    /// Money in millionths of a dollar, as the loop counts it.
    pub microdollars: Option<u64>,
    /// Executed calls of single tools, by name.
    pub calls_of: HashMap<String, u64>,
}

/// What a run has spent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Executed calls.
    pub calls: u64,
    /// Time in tool bodies.
    pub tool_time: Duration,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a dollar.
    pub microdollars: u64,
    /// Executed calls of the tools that have a limit of their own.
    pub calls_of: HashMap<String, u64>,
}

/// The counters of one run.
#[derive(Debug)]
pub struct Purse {
    budget: Budget,
    limited: bool,
    spent: Mutex<Spent>,
    /// Where others of the same run count too.
    kept: Option<Kept>,
}

/// One call, counted; given back if it never starts.
#[must_use]
pub(crate) struct Reservation {
    run: Run,
    tool: ToolName,
    kept: bool,
}

impl Purse {
    pub(crate) fn new(budget: Budget, kept: Option<Kept>) -> Self {
        Self { limited: budget != Budget::default(), budget, spent: Mutex::default(), kept }
    }

    /// Takes over what the book says the run has spent: before a resumed run goes on. Where it cannot be looked up,
    /// nothing is forgotten; the first call that counts fails closed.
    pub async fn refresh(&self) {
        if let Some(kept) = &self.kept
            && let Ok(spent) = kept.spent().await
        {
            self.take_over(spent);
        }
    }

    /// What was spent. Calls and tool time are counted only where a limit is set.
    pub fn spent(&self) -> Spent {
        self.lock().clone()
    }

    /// Counts tokens and money of a model turn.
    pub fn charge(&self, tokens: u64, microdollars: u64) {
        let mut spent = self.lock();
        spent.tokens += tokens;
        spent.microdollars += microdollars;
        drop(spent);
        if let Some(kept) = &self.kept {
            kept.add(&Spent { tokens, microdollars, ..Spent::default() });
        }
    }

    /// Refuses when a limit is reached; counts nothing.
    pub(crate) fn admit(&self, tool: &str) -> Result<(), Refusal> {
        if self.limited { self.admit_limited(tool) } else { Ok(()) }
    }

    #[inline(never)]
    fn admit_limited(&self, tool: &str) -> Result<(), Refusal> {
        self.room(&self.lock(), tool)
    }

    /// Counts one call, atomically with the check that there is room for it, among everyone who counts there.
    pub(crate) async fn reserve(run: &Run, tool: &ToolName) -> Result<Reservation, Refusal> {
        let purse = run.purse();
        match &purse.kept {
            Some(kept) => purse.reserve_kept(kept, tool.as_str()).await?,
            None => purse.reserve_here(tool.as_str())?,
        }
        Ok(Reservation { run: run.clone(), tool: tool.clone(), kept: false })
    }

    fn reserve_here(&self, tool: &str) -> Result<(), Refusal> {
        let mut spent = self.lock();
        self.room(&spent, tool)?;
        spent.calls += 1;
        if self.budget.calls_of.contains_key(tool) {
            *spent.calls_of.entry(tool.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    async fn reserve_kept(&self, kept: &Kept, tool: &str) -> Result<(), Refusal> {
        match kept.reserve(tool, &self.budget).await? {
            Reserved::Counted(spent) => {
                self.take_over(spent);
                Ok(())
            }
            Reserved::Full(spent) => {
                let refusal = self.budget.refusal(&spent, tool);
                self.take_over(spent);
                Err(refusal.unwrap_or_else(|| exhausted("others have used it")))
            }
        }
    }

    /// Time and tokens of this process may be on their way to the book still: they are not counted back.
    fn take_over(&self, known: Spent) {
        let mut spent = self.lock();
        let Spent { tool_time, tokens, microdollars, .. } = *spent;
        *spent = Spent {
            tool_time: known.tool_time.max(tool_time),
            tokens: known.tokens.max(tokens),
            microdollars: known.microdollars.max(microdollars),
            ..known
        };
    }

    /// True when time, tokens or money are used up: what still runs is stopped too.
    pub(crate) fn is_spent(&self) -> bool {
        let over = |limit: Option<u64>, spent: u64| limit.is_some_and(|limit| spent >= limit);
        self.limited && {
            let spent = self.lock();
            self.budget.tool_time.is_some_and(|limit| spent.tool_time >= limit)
                || over(self.budget.tokens, spent.tokens)
                || over(self.budget.microdollars, spent.microdollars)
        }
    }

    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    pub(crate) fn add_time(&self, took: Duration) {
        self.lock().tool_time += took;
        if let Some(kept) = &self.kept {
            kept.add(&Spent { tool_time: took, ..Spent::default() });
        }
    }

    fn room(&self, spent: &Spent, tool: &str) -> Result<(), Refusal> {
        self.budget.refusal(spent, tool).map_or(Ok(()), Err)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Budget {
    /// Why another call of the tool does not fit after what was spent; `None` where there is room.
    pub fn refusal(&self, spent: &Spent, tool: &str) -> Option<Refusal> {
        let budget = self;
        let of_tool = spent.calls_of.get(tool).copied().unwrap_or(0);
        let full = if budget.calls.is_some_and(|limit| spent.calls >= limit) {
            format!("all {} calls of this run are used", spent.calls)
        } else if budget.calls_of.get(tool).is_some_and(|limit| of_tool >= *limit) {
            format!("all {of_tool} calls of `{tool}` in this run are used")
        } else if budget.tool_time.is_some_and(|limit| spent.tool_time >= limit) {
            format!("the run's tool time of {:.1} s is used", spent.tool_time.as_secs_f64())
        } else if budget.tokens.is_some_and(|limit| spent.tokens >= limit) {
            format!("all {} tokens of this run are used", spent.tokens)
        } else if budget.microdollars.is_some_and(|limit| spent.microdollars >= limit) {
            "the run's money is used".to_owned()
        } else {
            return None;
        };
        Some(exhausted(&full))
    }
}

fn exhausted(why: &str) -> Refusal {
    Refusal::new(RefusalCode::BudgetExhausted, format!("The budget does not allow another call: {why}."))
        .with_hint("Finish with what you have, and say what is left to do.")
}

impl Reservation {
    /// The call started: it stays counted.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let (purse, tool) = (self.run.purse(), self.tool.as_str());
        let mut spent = purse.lock();
        spent.calls = spent.calls.saturating_sub(1);
        if let Some(count) = spent.calls_of.get_mut(tool) {
            *count = count.saturating_sub(1);
        }
        drop(spent);
        if let Some(kept) = &purse.kept {
            kept.give_back(tool);
        }
    }
}
