use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    outcome::{Item, Status},
    policy::{Answer, Approver, Decision, Policy, Query, Question, Rules, Verdict, default_verdict},
    tool::Resource,
};
use tollgate_tools::{files::Files, journal::Journal, search::Search};

/// A folder with a workspace in it, a journal beside it, and a gate with every tool.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) gate: Tollgate,
    pub(crate) scope: Arc<Scope>,
    pub(crate) journal: Journal,
}

impl World {
    /// Everything is allowed.
    pub(crate) fn new() -> Self {
        Self::with(Rules::new().allow("*").unwrap(), tollgate::policy::Nobody)
    }

    pub(crate) fn with(policy: impl Policy, approver: impl Approver) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&root).unwrap();
        let journal = Journal::at(folder.path().join("journal"));
        let gate = gate(Some(journal.clone()), policy, approver);
        let scope = Arc::new(Scope::new(Run::new("run"), Workspace::new(root)));
        Self { folder, gate, scope, journal }
    }

    pub(crate) fn root(&self) -> &Path {
        self.scope.cwd()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> Settled {
        call(&self.gate, &self.scope, tool, &input).await
    }
}

pub(crate) fn gate(journal: Option<Journal>, policy: impl Policy, approver: impl Approver) -> Tollgate {
    let registry = Files::new(journal).register(Registry::new(), None).unwrap();
    let registry = Search::new().register(registry, None).unwrap();
    Tollgate::builder(registry).policy(policy).approver(approver).build()
}

pub(crate) async fn call(gate: &Tollgate, scope: &Arc<Scope>, tool: &str, input: &Value) -> Settled {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let id = format!("call_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    gate.call(scope, Proposed::new(id, tool, input.to_string())).await
}

/// The text items of an answer that is ok.
pub(crate) fn text(settled: &Settled) -> String {
    let output = settled.output().unwrap_or_else(|| panic!("{settled:?}"));
    let texts = output.items.iter().filter_map(|item| match item {
        Item::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// The JSON item of an answer that is ok.
pub(crate) fn meta(settled: &Settled) -> Value {
    settled.output().and_then(|output| output.structured()).cloned().unwrap_or_else(|| panic!("{settled:?}"))
}

pub(crate) fn hash(settled: &Settled) -> String {
    meta(settled)["hash"].as_str().unwrap().to_owned()
}

/// What went wrong, in words.
pub(crate) fn wrong(settled: &Settled) -> String {
    match (settled.refusal(), settled.failure()) {
        (Some(refusal), _) => format!("{}: {}", refusal.code, refusal.reason),
        (_, Some(failure)) => format!("{}: {}", settled.status(), failure.message),
        _ => panic!("it went well: {settled:?}"),
    }
}

#[track_caller]
pub(crate) fn good(settled: &Settled) {
    assert_eq!(settled.status(), Status::Ok, "{settled:?}");
}

/// Asks about everything that is protected by its name, and allows the rest.
#[derive(Debug)]
pub(crate) struct Protecting;

impl Policy for Protecting {
    fn forbids(&self, _: &Query<'_>) -> Option<Verdict> {
        None
    }

    fn decide(&self, query: &Query<'_>) -> Verdict {
        let protected = query.effects.touches.iter().any(|touched| match touched {
            Resource::Path { path, .. } => path.components().any(|part| {
                let part = part.as_os_str().to_string_lossy().to_lowercase();
                [".git", ".env", ".mcp.json", ".ssh"].contains(&&*part)
            }),
            _ => false,
        });
        if protected {
            return Verdict::by_default(Decision::Ask, "protected");
        }
        match default_verdict(query).decision {
            Decision::Deny => default_verdict(query),
            _ => Verdict::by_default(Decision::Allow, "not protected"),
        }
    }
}

/// Says yes, after it has done something.
pub(crate) struct Meanwhile<F>(pub(crate) F);

impl<F: Fn() + Send + Sync + 'static> Approver for Meanwhile<F> {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        (self.0)();
        Box::pin(std::future::ready(Answer::Yes))
    }
}

pub(crate) fn one_line(path: &str) -> Value {
    json!({"operations": [{"mode": "line", "path": path}]})
}
