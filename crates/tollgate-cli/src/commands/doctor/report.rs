//! What doctor found: the data behind its words, and its JSON.

use std::path::PathBuf;

use serde::Serialize;
use tollgate::policy::{
    Layer, RuleRef,
    config::{LoadedFile, Trust},
};
use tollgate_tools::sandbox::{Level, Sandbox, SandboxConfig};

use crate::{commands::mcp::state::ServerState, exit::Fault, mocks, sandbox::Asked, store::Found};

/// Everything doctor found.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) ok: bool,
    pub(super) roots: Vec<PathBuf>,
    pub(super) concurrency: Option<usize>,
    pub(super) results: Option<Results>,
    pub(super) store: Option<Found>,
    /// Where what the file tools change is kept for `tollgate undo`.
    pub(super) undo: Option<PathBuf>,
    pub(super) sandbox: Option<Confinement>,
    pub(super) tools: usize,
    pub(super) mocks: Vec<File>,
    pub(super) config: Vec<ConfigFile>,
    pub(super) rules: Vec<Rule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hooks: Vec<HookFound>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) servers: Vec<ServerState>,
    /// The names of the model keys that are set.
    pub(super) keys: Vec<&'static str>,
    /// What is written in a project's file and does nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) inert: Vec<String>,
    pub(super) asking: &'static str,
    pub(super) broken: Vec<Trouble>,
    pub(super) advice: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct Results {
    pub(super) folder: PathBuf,
    pub(super) exists: bool,
}

/// How well commands are held.
#[derive(Serialize)]
pub(super) struct Confinement {
    pub(super) level: &'static str,
    pub(super) holds: &'static str,
    /// What would raise it.
    pub(super) missing: Vec<String>,
    /// Below this level no command runs.
    pub(super) required: Option<&'static str>,
    pub(super) network: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) readable: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) writable: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) environment: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct File {
    #[serde(rename = "file")]
    pub(super) path: PathBuf,
    pub(super) tools: usize,
    pub(super) routes: Vec<String>,
    pub(super) set_aside: Vec<Aside>,
}

#[derive(Serialize)]
pub(super) struct Aside {
    pub(super) tool: String,
    pub(super) reason: String,
}

#[derive(Serialize)]
pub(super) struct Rule {
    #[serde(rename = "rule")]
    pub(super) reference: RuleRef,
    /// As it was given, without what it does.
    #[serde(skip)]
    pub(super) given: String,
    /// False when no tool is meant by it.
    pub(super) speaks: bool,
}

#[derive(Serialize)]
pub(super) struct ConfigFile {
    #[serde(rename = "file")]
    pub(super) path: PathBuf,
    pub(super) layer: Layer,
    pub(super) rules: usize,
    pub(super) trust: Trust,
}

/// A hook, and how it took a call that will never be.
#[derive(Serialize)]
pub(super) struct HookFound {
    pub(super) name: String,
    pub(super) state: HookState,
    #[serde(rename = "reason", skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum HookState {
    /// A gate that answered the probe.
    Answers,
    /// A gate that did not: it would block every call it looks at.
    Fails,
    /// An observer: its failure changes nothing, so it is left alone.
    Observes,
    /// Nobody trusts its file.
    Inert,
}

#[derive(Serialize)]
pub(super) struct Trouble {
    #[serde(rename = "reason")]
    pub(super) what: String,
    pub(super) hint: String,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self { what: fault.message, hint: fault.hint }
    }
}

impl From<&LoadedFile> for ConfigFile {
    fn from(file: &LoadedFile) -> Self {
        let LoadedFile { path, layer, trust, file } = file;
        Self { path: path.clone(), layer: *layer, rules: file.rules().len(), trust: *trust }
    }
}

impl From<mocks::File> for File {
    fn from(file: mocks::File) -> Self {
        let aside = |one: tollgate::testing::SetAside| Aside { tool: one.what, reason: one.why.to_string() };
        let set_aside = file.set_aside.into_iter().map(aside).collect();
        Self { path: file.path, tools: file.tools, routes: file.routes, set_aside }
    }
}

pub(super) const CLOSED: &str = "closed";

pub(super) fn confinement(sandbox: &Sandbox, asked: &Asked) -> Confinement {
    let found = sandbox.found();
    let holds = match found.level {
        Level::L3 if found.inner => {
            "bubblewrap, Landlock and seccomp hold commands: files, network, processes"
        }
        Level::L3 => "bubblewrap and seccomp hold commands: files, network, processes",
        Level::L2 => "Landlock, seccomp and limits hold commands: files, network",
        Level::L1 => "nothing holds commands, so that each one needs a yes",
    };
    let SandboxConfig { required, network, readable, writable, environment } = asked.config.clone();
    Confinement {
        level: found.level.name(),
        holds,
        missing: found.missing.clone(),
        required: required.map(Level::name),
        network: if network == Some(true) { "open to commands that do more than read" } else { CLOSED },
        readable,
        writable,
        environment,
    }
}
