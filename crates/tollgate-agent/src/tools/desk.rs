//! Who runs at the moment: a tool finds the agent that called it by the run of the call.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use tollgate::{
    Failure, Registry,
    catalog::RegistryError,
    policy::BadPattern,
    tool::{BadName, RunId},
};

use super::{TodoItem, ask_user, delegate, report, start_work, todo};
use crate::{
    event::{AgentEvent, What},
    model::{Model, ModelError},
    person::{NoPerson, Person},
    role::Role,
    runner::{Config, Control, Meter},
};

/// Makes a model of the name a role gives.
pub type ModelSource = Arc<dyn Fn(&str) -> Result<Arc<dyn Model>, ModelError> + Send + Sync>;

/// The tools `todo`, `ask_user`, `start_work`, `report` and `delegate`, and what they need to know.
///
/// Register them with [`Desk::register`], and give the same desk to the agent. Clones are the same desk.
#[derive(Clone)]
pub struct Desk {
    inner: Arc<Inner>,
}

struct Inner {
    person: Arc<dyn Person>,
    roles: BTreeMap<String, Role>,
    models: Option<ModelSource>,
    running: Mutex<HashMap<RunId, Arc<Sitter>>>,
}

/// Why a desk's tools cannot be registered.
#[derive(Debug, Clone, thiserror::Error)]
pub enum DeskError {
    /// A name of ours is taken.
    #[error(transparent)]
    Taken(#[from] RegistryError),
    /// A name of ours is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// A role names tools by a pattern that is none.
    #[error("role {role:?}: {source}")]
    Tools {
        /// The role.
        role: String,
        /// What is wrong with the pattern.
        source: BadPattern,
    },
    /// A role is on a route that nobody made: it would be left without a tool.
    #[error("role {role:?}: there is no route {route:?}")]
    Route {
        /// The role.
        role: String,
        /// What it calls its route.
        route: String,
    },
}

/// Sets up a desk.
#[must_use]
pub struct DeskBuilder {
    inner: Inner,
}

/// An agent that runs.
pub(crate) struct Sitter {
    pub(crate) sitting: Sitting,
    turn: AtomicU32,
    notes: Mutex<Notes>,
}

/// What an agent brings along.
pub(crate) struct Sitting {
    pub(crate) config: Arc<Config>,
    pub(crate) run: RunId,
    pub(crate) meter: Arc<Meter>,
    pub(crate) control: Arc<Control>,
}

#[derive(Default)]
struct Notes {
    report: Option<String>,
    charges: Option<(u64, u64, u64)>,
}

/// An agent's place at the desk; dropped, it is free.
pub(crate) struct Seat {
    desk: Desk,
    run: RunId,
    sitter: Arc<Sitter>,
}

impl Desk {
    /// A desk with nobody to ask and no roles to delegate to.
    pub fn builder() -> DeskBuilder {
        let inner = Inner {
            person: Arc::new(NoPerson),
            roles: BTreeMap::new(),
            models: None,
            running: Mutex::default(),
        };
        DeskBuilder { inner }
    }

    /// The registry with the desk's tools, and with a route for each role. `delegate` is there where there are roles.
    pub fn register(&self, registry: Registry) -> Result<Registry, DeskError> {
        let mut registry = registry
            .with(todo::tool(self)?)?
            .with(ask_user::tool(self)?)?
            .with(start_work::tool()?)?
            .with(report::tool(self)?)?;
        if !self.inner.roles.is_empty() {
            registry = registry.with(delegate::tool(self)?)?;
        }
        self.routes(registry)
    }

    pub(crate) fn person(&self) -> &Arc<dyn Person> {
        &self.inner.person
    }

    /// The roles, by name.
    pub fn roles(&self) -> &BTreeMap<String, Role> {
        &self.inner.roles
    }

    pub(crate) fn models(&self) -> Option<&ModelSource> {
        self.inner.models.as_ref()
    }

    pub(crate) fn sit_down(&self, sitting: Sitting) -> Seat {
        let run = sitting.run.clone();
        let sitter = Arc::new(Sitter { sitting, turn: AtomicU32::new(0), notes: Mutex::default() });
        self.running().insert(run.clone(), sitter.clone());
        Seat { desk: self.clone(), run, sitter }
    }

    /// The agent whose call this is.
    pub(crate) fn sitter(&self, run: &RunId) -> Result<Arc<Sitter>, Failure> {
        let sitter = self.running().get(run).cloned();
        sitter.ok_or_else(|| {
            Failure::fatal("This tool belongs to an agent's loop, and no agent runs here.")
                .with_hint("Do without it.")
        })
    }

    /// True where `root` sent the agent out, at whatever distance.
    pub(crate) fn is_of_tree(&self, run: &RunId, root: &RunId) -> bool {
        let running = self.running();
        let mut at = running.get(run);
        while let Some(parent) = at.and_then(|at| at.sitting.config.parent.as_ref()) {
            if parent.run == *root {
                return true;
            }
            at = running.get(&parent.run);
        }
        false
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Sitter>>> {
        self.inner.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DeskBuilder {
    /// Who is asked by `ask_user`.
    pub fn person(mut self, person: Arc<dyn Person>) -> Self {
        self.inner.person = person;
        self
    }

    /// A role that `delegate` may send out under.
    pub fn role(mut self, name: impl Into<String>, role: Role) -> Self {
        self.inner.roles.insert(name.into(), role);
        self
    }

    /// Makes the models that roles name.
    pub fn models(mut self, models: ModelSource) -> Self {
        self.inner.models = Some(models);
        self
    }

    /// The desk.
    pub fn build(self) -> Desk {
        Desk { inner: Arc::new(self.inner) }
    }
}

impl Sitter {
    /// Tells of something that happened in the agent.
    pub(crate) fn tell(&self, what: What) {
        let config = &self.sitting.config;
        if let Some(teller) = &config.teller {
            let (run, agent) = (self.sitting.run.clone(), config.scope.agent.clone());
            teller.tell(AgentEvent { run, agent, turn: self.turn.load(Ordering::Relaxed), what });
        }
    }

    pub(crate) fn report(&self, report: String) {
        self.notes().report = Some(report);
    }

    pub(crate) fn tell_todo(&self, items: Vec<TodoItem>) {
        self.tell(What::Todo { items });
    }

    /// What a sub-agent of this one spent.
    pub(crate) fn charge(&self, calls: u64, tokens: u64, microdollars: u64) {
        let mut notes = self.notes();
        let (c, t, m) = notes.charges.unwrap_or_default();
        notes.charges = Some((c + calls, t + tokens, m + microdollars));
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    pub(crate) fn turn(&self, turn: u32) {
        self.sitter.turn.store(turn, Ordering::Relaxed);
    }

    pub(crate) fn take_charges(&self) -> Option<(u64, u64, u64)> {
        self.sitter.notes().charges.take()
    }

    pub(crate) fn take_report(&self) -> Option<String> {
        self.sitter.notes().report.take()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.desk.running().remove(&self.run);
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("roles", &self.inner.roles.keys()).finish_non_exhaustive()
    }
}
