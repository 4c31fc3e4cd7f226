//! The gate itself: tools, policy, hooks and guards wired once; calls and turns walk through it.

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::{
    call::{Call, Guards, Lane, Proposed, Records, UNFINISHED},
    catalog::{Loaded, Registry, Snapshot, ToolSearch},
    dispatch::Turn,
    event::{Events, Subscription},
    explain::{Explanation, explain},
    guard::{
        BreakerBook, BreakerSettings, Breakers, Ledger, LedgerFault, MemoryLedger, Recalled, Spawner,
        TokioSpawner,
    },
    hook::{ErasedHook, Hook, Hooks},
    outcome::{Redactor, ResultStore, Settled},
    pipeline::Pipeline,
    policy::{Approver, Nobody, Policy, Rules},
    tool::Scope,
};

/// The boundary between what a model asks for and what happens.
///
/// Cheap to clone; clones are the same gate.
#[derive(Clone)]
pub struct Tollgate {
    inner: Arc<Inner>,
}

struct Inner {
    // Held while the pipeline is replaced, so that two replacements do not lose one another.
    registry: Mutex<Registry>,
    pipeline: ArcSwap<Pipeline>,
    events: Events,
    loaded: Loaded,
    search: Option<ToolSearch>,
    cap: usize,
}

/// Wires a gate. What is not given is on the safe side: no rules (so most calls ask), nobody to ask.
#[must_use]
pub struct Builder {
    registry: Registry,
    policy: Arc<dyn Policy>,
    approver: Arc<dyn Approver>,
    hooks: Vec<Arc<dyn ErasedHook>>,
    breakers: BreakerSettings,
    breaker_book: Option<Arc<dyn BreakerBook>>,
    ledger: Arc<dyn Ledger>,
    results: Option<Arc<dyn ResultStore>>,
    spawner: Option<Arc<dyn Spawner>>,
    redactor: Option<Redactor>,
    search: Option<ToolSearch>,
    cap: usize,
}

/// How many calls of one batch run at the same time.
pub const DEFAULT_CONCURRENCY: usize = 10;

/// More at once than any machine has use for.
const MOST_CONCURRENT: usize = 100_000;

/// How many keys the ledger in memory remembers.
const REMEMBERED_KEYS: usize = 10_000;

impl Tollgate {
    /// A gate for these tools. Inside a tokio runtime, bodies run on tasks of it.
    pub fn builder(registry: Registry) -> Builder {
        Builder {
            registry,
            policy: Arc::new(Rules::new()),
            approver: Arc::new(Nobody),
            hooks: Vec::new(),
            breakers: BreakerSettings::default(),
            breaker_book: None,
            ledger: Arc::new(MemoryLedger::new(REMEMBERED_KEYS)),
            results: None,
            spawner: TokioSpawner::current().map(|spawner| Arc::new(spawner) as Arc<dyn Spawner>),
            redactor: Some(Redactor::new()),
            search: None,
            cap: DEFAULT_CONCURRENCY,
        }
    }

    /// Walks one call to its one answer.
    pub async fn call(&self, scope: &Arc<Scope>, call: Proposed) -> Settled {
        let pipeline = self.inner.pipeline.load();
        pipeline.run(Call::propose(call, 0, scope, &self.inner.events)).await
    }

    /// The same, until `token` says that nobody wants the answer any more: a call that has not started does not, and
    /// a body that runs is stopped. Stopped or not, the call is answered. The run's own token counts no more then;
    /// make this one its child where it should.
    pub async fn call_until(&self, scope: &Arc<Scope>, call: Proposed, token: &CancellationToken) -> Settled {
        let pipeline = self.inner.pipeline.load();
        let mut call = Call::propose(call, 0, scope, &self.inner.events);
        call.lane(Lane::own(token.clone(), token.clone(), false));
        pipeline.run(call).await
    }

    /// What the ledger knows of a call that brings its key: the answer it has, or `unknown` where it started and never
    /// ended. `None`: it never started, and may walk. Nothing is run, asked or recorded; for whoever goes on with a
    /// conversation that was broken off, where a call that had started must not be decided about a second time.
    pub async fn recall(&self, scope: &Scope, call: &Proposed) -> Result<Option<Settled>, LedgerFault> {
        let Some(key) = &call.idempotency_key else { return Ok(None) };
        let recalled = self.pinned().guards.ledger.recall(&scope.caller, key).await?;
        Ok(recalled.map(|recalled| {
            let mut settled = match recalled {
                Recalled::Ended(settled) => settled,
                Recalled::Unfinished => Settled::lost(call.id.clone(), call.name.as_str(), UNFINISHED),
            };
            settled.id = call.id.clone();
            settled.replayed = true;
            settled
        }))
    }

    /// Begins a turn: pins the tool list its calls will be judged against. Where its scope does not say which turn of the run
    /// it is, it is one more.
    pub fn turn(&self, scope: &Arc<Scope>) -> Turn {
        let scope = match scope.turn {
            0 => counted(scope),
            _ => scope.clone(),
        };
        Turn::new(self.pinned(), scope, self.inner.events.clone(), self.inner.cap)
    }

    /// Says what would happen to a call and why. Runs no body and no hook, asks nobody, reserves nothing.
    pub async fn explain(&self, scope: &Arc<Scope>, call: Proposed) -> Explanation {
        explain(&self.pinned(), scope, call).await
    }

    /// Begins to observe everything that happens. `capacity` bounds what waits for a slow observer.
    pub fn observe(&self, capacity: usize) -> Subscription {
        self.inner.events.subscribe(capacity)
    }

    /// Between turns: asks every tool anew whether it is enabled, takes over how breakers stand, and pins a new list. A turn that has begun
    /// keeps the list it was given.
    pub fn refresh(&self) {
        self.breakers().refresh();
        let mut registry = self.registry();
        let pipeline = self.pinned();
        // What was made of the list (offers, the search index) is kept with it while it stays the same.
        if pipeline.snapshot.still_holds(&registry, &*pipeline.policy, &self.inner.loaded) {
            return;
        }
        let same = registry.clone();
        self.pin(&mut registry, same);
    }

    /// Between turns: other tools from now on.
    pub fn replace(&self, registry: Registry) {
        self.pin(&mut self.registry(), registry);
    }

    fn pin(&self, current: &mut Registry, registry: Registry) {
        let pipeline = self.pinned();
        let snapshot = Arc::new(Snapshot::take(&registry, &*pipeline.policy, &self.inner.loaded));
        if let Some(search) = &self.inner.search {
            search.attach(&snapshot, &self.inner.loaded);
        }
        self.inner.pipeline.store(Arc::new(Pipeline { snapshot, ..(*pipeline).clone() }));
        *current = registry;
    }

    /// The tools as they are offered now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.pinned().snapshot.clone()
    }

    /// The breakers, to be looked at, opened and reset.
    pub fn breakers(&self) -> Arc<Breakers> {
        self.pinned().guards.breakers.clone()
    }

    fn pinned(&self) -> Arc<Pipeline> {
        self.inner.pipeline.load_full()
    }

    fn registry(&self) -> std::sync::MutexGuard<'_, Registry> {
        self.inner.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The scope of the run's next turn. The first of which nobody says the number has none.
fn counted(scope: &Arc<Scope>) -> Arc<Scope> {
    match scope.run.next_turn() {
        0 => scope.clone(),
        turn => Arc::new(Scope { turn, ..(**scope).clone() }),
    }
}

impl Builder {
    /// Who decides.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// Who is asked.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// One hook more, after those already there.
    pub fn hook(mut self, hook: impl Hook) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// When breakers open.
    pub fn breakers(mut self, settings: BreakerSettings) -> Self {
        self.breakers = settings;
        self
    }

    /// Where breakers are kept beyond this process.
    pub fn breaker_book(mut self, book: impl BreakerBook) -> Self {
        self.breaker_book = Some(Arc::new(book));
        self
    }

    /// Where starts and ends are recorded.
    pub fn ledger(mut self, ledger: impl Ledger) -> Self {
        self.ledger = Arc::new(ledger);
        self
    }

    /// Where results are kept that are too long for the model.
    pub fn results(mut self, results: impl ResultStore) -> Self {
        self.results = Some(Arc::new(results));
        self
    }

    /// What runs bodies beside the caller. `None`: they run on the caller's own task, and one that blocks its
    /// thread cannot be stopped in time.
    pub fn spawner(mut self, spawner: Option<Arc<dyn Spawner>>) -> Self {
        self.spawner = spawner;
        self
    }

    /// What takes secrets out of answers, in the place of the usual one. `None`: they go as they are.
    pub fn redactor(mut self, redactor: Option<Redactor>) -> Self {
        self.redactor = redactor;
        self
    }

    /// The tool that finds deferred ones; register the same one. Without it they are called by name only.
    pub fn tool_search(mut self, search: &ToolSearch) -> Self {
        self.search = Some(search.clone());
        self
    }

    /// How many calls of a batch run at the same time; 1 is one after the other.
    pub fn max_concurrency(mut self, cap: usize) -> Self {
        self.cap = cap.clamp(1, MOST_CONCURRENT);
        self
    }

    /// The gate.
    pub fn build(self) -> Tollgate {
        let loaded = Loaded::default();
        let snapshot = Arc::new(Snapshot::take(&self.registry, &*self.policy, &loaded));
        if let Some(search) = &self.search {
            search.attach(&snapshot, &loaded);
        }
        let pipeline = Pipeline {
            snapshot,
            policy: self.policy,
            approver: self.approver,
            hooks: Hooks::new(self.hooks, self.redactor.clone()),
            guards: Guards {
                breakers: Arc::new(match self.breaker_book {
                    Some(book) => Breakers::new(self.breakers).kept_in(book),
                    None => Breakers::new(self.breakers),
                }),
                ledger: self.ledger.clone(),
                spawner: self.spawner.clone(),
                redactor: self.redactor,
            },
            records: Records { ledger: self.ledger, results: self.results, spawner: self.spawner },
        };
        Tollgate {
            inner: Arc::new(Inner {
                registry: Mutex::new(self.registry),
                pipeline: ArcSwap::from_pointee(pipeline),
                events: Events::default(),
                loaded,
                search: self.search,
                cap: self.cap,
            }),
        }
    }
}

impl std::fmt::Debug for Tollgate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tollgate").field("concurrency", &self.inner.cap).finish_non_exhaustive()
    }
}
