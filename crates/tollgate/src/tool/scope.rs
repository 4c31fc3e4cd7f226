//! The immutable context of a call: who proposes it, in which run, where, and on which route.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use super::{
    name::{Caller, Route},
    peer::Peer,
};
use crate::guard::{Run, TraceParent, Workspace};
use crate::policy::{Approvals, Protection};

/// What is true for every call of one turn. Cheap to clone, never changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scope {
    /// The run: its id, budget, repetition window and cancellation token.
    pub run: Run,
    /// Which model turn of the run this is, from 1 on. A call is the same call, and answered once, where run, turn, place
    /// and id are the same: whoever takes up a turn again gives it the same number. 0, where nobody says it: then
    /// [`Tollgate::turn`](crate::Tollgate::turn) counts the turns that it begins.
    pub turn: u32,
    /// Who proposes.
    pub caller: Caller,
    /// What the run is for, in a person's words.
    pub goal: Option<Arc<str>>,
    /// The route the turn is on; `None` exposes everything.
    pub route: Option<Route>,
    /// Working folder, roots and the gate that keeps writes exclusive.
    pub workspace: Workspace,
    /// What a person already said yes to, each good for one call.
    pub approvals: Approvals,
    /// True when a person is there to be asked.
    pub interactive: bool,
    /// True while only calls that change nothing may run, whatever policy says.
    pub reading_only: bool,
    /// The sub-agent that proposes, where it is one.
    pub agent: Option<Arc<str>>,
    /// How well what runs is kept apart, as the sandbox says of itself.
    pub sandbox: Isolation,
    /// How many tokens the model reads at once, where that is known: no result may take more than about a quarter.
    pub window: Option<u32>,
    /// What is guarded even inside the roots.
    pub protection: Protection,
    /// The other end of the connection the call came by, where there is one.
    pub peer: Option<Arc<dyn Peer>>,
    /// The span of whoever called that this call is a child of, where they said (W3C `traceparent`).
    pub traced_under: Option<TraceParent>,
}

/// A sandbox's word for itself, looked up when somebody is first asked: finding it may mean starting a process.
#[derive(Clone, Default)]
pub struct Isolation(Option<Arc<LazyLock<Arc<str>, Look>>>);

type Look = Box<dyn FnOnce() -> Arc<str> + Send>;

impl Isolation {
    /// The word that `look` finds.
    pub fn found_by(look: impl FnOnce() -> Arc<str> + Send + 'static) -> Self {
        Self(Some(Arc::new(LazyLock::new(Box::new(look)))))
    }

    /// The word; `None` where nothing is said.
    pub fn word(&self) -> Option<&str> {
        self.0.as_ref().map(|found| &***found as &str)
    }
}

impl From<&str> for Isolation {
    fn from(word: &str) -> Self {
        let word = Arc::from(word);
        Self::found_by(move || word)
    }
}

impl std::fmt::Debug for Isolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Isolation(..)" } else { "Isolation(none)" })
    }
}

impl Scope {
    /// A scope for a run in a workspace, with nobody to ask and no route.
    pub fn new(run: Run, workspace: Workspace) -> Self {
        Self {
            run,
            turn: 0,
            caller: Caller::new("main"),
            goal: None,
            route: None,
            workspace,
            approvals: Approvals::default(),
            interactive: false,
            reading_only: false,
            agent: None,
            sandbox: Isolation::default(),
            window: None,
            protection: Protection::default(),
            peer: None,
            traced_under: None,
        }
    }

    /// The folder relative paths start from.
    pub fn cwd(&self) -> &Path {
        self.workspace.cwd()
    }

    /// The folders a call may touch.
    pub fn roots(&self) -> &[PathBuf] {
        self.workspace.roots()
    }
}
