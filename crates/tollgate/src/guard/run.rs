//! One run of an agent: what it may spend, what it repeats, and the token that stops it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU32, Ordering},
};

use tokio_util::sync::CancellationToken;

use super::{
    budget::{Budget, Purse},
    purse_book::{Kept, PurseBook},
    repetition::{Repetition, Window},
    trace_parent::TraceParent,
};
use crate::tool::RunId;

/// A handle to one run. Clones are the same run; its counters end with the last clone.
#[derive(Debug, Clone)]
pub struct Run {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    id: RunId,
    // Made when first asked for: nobody can have cancelled what nobody has.
    token: OnceLock<CancellationToken>,
    purse: Purse,
    window: Window,
    trace: Option<TraceParent>,
    // Asked for by every call that goes out to a server.
    own: OnceLock<TraceParent>,
    // Those of which nobody said which they are.
    turns: AtomicU32,
}

/// Sets the limits of a run.
#[must_use]
pub struct RunBuilder {
    id: RunId,
    token: OnceLock<CancellationToken>,
    budget: Budget,
    repetition: Repetition,
    book: Option<Arc<dyn PurseBook>>,
    trace: Option<TraceParent>,
}

impl Run {
    /// A run with no budget and the usual repetition guard.
    pub fn new(id: impl AsRef<str>) -> Self {
        Self::builder(id).build()
    }

    /// A run with limits.
    pub fn builder(id: impl AsRef<str>) -> RunBuilder {
        RunBuilder {
            id: RunId::new(id),
            token: OnceLock::new(),
            budget: Budget::default(),
            repetition: Repetition::default(),
            book: None,
            trace: None,
        }
    }

    /// Its id.
    pub fn id(&self) -> &RunId {
        &self.inner.id
    }

    /// The token that stops everything of this run. Batches and calls have children of it.
    pub fn token(&self) -> &CancellationToken {
        self.inner.token.get_or_init(CancellationToken::new)
    }

    /// True once its token was cancelled.
    pub(crate) fn is_stopped(&self) -> bool {
        self.inner.token.get().is_some_and(CancellationToken::is_cancelled)
    }

    /// What it has spent, and may still.
    pub fn purse(&self) -> &Purse {
        &self.inner.purse
    }

    /// Its own span, in the trace it was given or in one of its own.
    pub fn traceparent(&self) -> TraceParent {
        *self.inner.own.get_or_init(|| {
            self.inner.trace.map_or_else(|| TraceParent::of(self.id()), |given| given.run(self.id()))
        })
    }

    /// The span of somebody else's that this run is a child of, where one was given.
    pub fn traced_under(&self) -> Option<TraceParent> {
        self.inner.trace
    }

    /// The number of one more turn of which nobody said it.
    pub(crate) fn next_turn(&self) -> u32 {
        self.inner.turns.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn window(&self) -> &Window {
        &self.inner.window
    }
}

impl RunBuilder {
    /// What the run may spend.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// Where what it spends is kept, so that other processes of the run count too and a resumed one goes on with it;
    /// [`Purse::refresh`] looks it up.
    pub fn kept_in(mut self, book: Arc<dyn PurseBook>) -> Self {
        self.book = Some(book);
        self
    }

    /// How often the same call may come turn after turn.
    pub fn repetition(mut self, repetition: Repetition) -> Self {
        self.repetition = repetition;
        self
    }

    /// The trace it is a part of.
    pub fn traced(mut self, under: TraceParent) -> Self {
        self.trace = Some(under);
        self
    }

    /// A token of a larger session that stops this run too.
    pub fn under(mut self, session: &CancellationToken) -> Self {
        self.token = OnceLock::from(session.child_token());
        self
    }

    /// The run.
    pub fn build(self) -> Run {
        let kept = self.book.map(|book| Kept { book, run: self.id.clone() });
        Run {
            inner: Arc::new(Inner {
                id: self.id,
                token: self.token,
                purse: Purse::new(self.budget, kept),
                window: Window::new(self.repetition),
                trace: self.trace,
                own: OnceLock::new(),
                turns: AtomicU32::new(0),
            }),
        }
    }
}
