//! The immutable context of a call: who proposes it, in which run, where, and on which route.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::name::{Caller, Route};
use crate::guard::{Run, Workspace};
use crate::policy::{Approvals, Protection};

/// What is true for every call of one turn. Cheap to clone, never changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Scope {
    /// The run: its id, budget, repetition window and cancellation token.
    pub run: Run,
    /// Which model turn of the run this is.
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
    /// The sub-agent that proposes, where it is one.
    pub agent: Option<Arc<str>>,
    /// How well what runs is kept apart, as the sandbox says of itself.
    pub sandbox: Option<Arc<str>>,
    /// What is guarded even inside the roots.
    pub protection: Protection,
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
            agent: None,
            sandbox: None,
            protection: Protection::default(),
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
