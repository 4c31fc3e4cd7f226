//! One small world: tools whose arguments say what they do, and a log of when each body began and ended.

#![allow(dead_code, reason = "each test file uses its part of the world")]

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate::{
    Builder, Cx, Effects, Failure, Output, Proposed, Refusal, Registry, Scope, Tollgate, Tool, ToolSpec,
    guard::{BreakerSettings, Run, Workspace},
    hook::{Before, Hook, HookedCall},
    policy::Rules,
    tool::{Concurrency, Interrupt, OnFatal},
};

/// What bodies did, in the order they did it.
#[derive(Debug, Clone, Default)]
pub(crate) struct World(Arc<Mutex<Vec<Mark>>>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) run: String,
    pub(crate) call: String,
    pub(crate) at: Instant,
    pub(crate) sign: Sign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Begin(Concurrency),
    End,
    /// The hook rewrote the call.
    Rewritten,
    /// Somebody outside stopped the turn.
    Stop,
}

impl World {
    pub(crate) fn mark(&self, run: &str, call: &str, sign: Sign) {
        self.lock().push(Mark { run: run.to_owned(), call: call.to_owned(), at: Instant::now(), sign });
    }

    pub(crate) fn marks(&self) -> Vec<Mark> {
        self.lock().clone()
    }

    /// The log as words: `~c1` where the hook rewrote a call, `+c1` where a body began, `-c1` where it
    /// ended.
    pub(crate) fn told(&self) -> String {
        let word = |mark: &Mark| match mark.sign {
            Sign::Begin(_) => format!("+{}", mark.call),
            Sign::End => format!("-{}", mark.call),
            Sign::Rewritten => format!("~{}", mark.call),
            Sign::Stop => "stop".to_owned(),
        };
        self.lock().iter().map(word).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Mark>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call is told to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Work {
    pub(crate) class: Concurrency,
    /// A hook rewrites the class to this.
    pub(crate) becomes: Option<Concurrency>,
    pub(crate) ms: u64,
    pub(crate) end: End,
    /// Ends by itself as soon as it is told to stop.
    pub(crate) heeds: bool,
    /// The tool's own check says no.
    pub(crate) refused: bool,
    /// The hook thinks for so long.
    pub(crate) ponder_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    Ok,
    Fatal,
    Panic,
    Retryable,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            class: Concurrency::ReadOnly,
            becomes: None,
            ms: 10,
            end: End::Ok,
            heeds: false,
            refused: false,
            ponder_ms: 0,
        }
    }
}

pub(crate) fn read(ms: u64) -> Work {
    Work { ms, ..Work::default() }
}

pub(crate) fn write(ms: u64) -> Work {
    Work { class: Concurrency::WriteExclusive, ..read(ms) }
}

impl Work {
    pub(crate) fn call(&self, id: &str, tool: Worker) -> Proposed {
        Proposed::new(id, tool.name(), &serde_json::to_value(self).unwrap())
    }
}

/// A tool by what its spec declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(crate) interrupt: Interrupt,
    pub(crate) on_fatal: OnFatal,
    pub(crate) inline: bool,
}

/// Finishes first, stands alone, on a task of its own: what a spec says by default.
pub(crate) const PLAIN: Worker =
    Worker { interrupt: Interrupt::Block, on_fatal: OnFatal::Isolate, inline: false };

impl Worker {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..8).map(|bits| Self {
            interrupt: if bits & 1 == 0 { Interrupt::Block } else { Interrupt::Cancel },
            on_fatal: if bits & 2 == 0 { OnFatal::Isolate } else { OnFatal::StopSiblings },
            inline: bits & 4 != 0,
        })
    }

    pub(crate) fn name(self) -> String {
        let Self { interrupt, on_fatal, inline } = self;
        format!("{interrupt:?}_{on_fatal:?}_{}", if inline { "inline" } else { "task" }).to_lowercase()
    }
}

struct WorkTool {
    worker: Worker,
    world: World,
}

/// Notes the end however the body ends: well, by a panic, or dropped on the way.
struct Inside<'a> {
    world: &'a World,
    cx: &'a Cx,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.world.mark(self.cx.run.id().as_str(), self.cx.call_id().as_str(), Sign::End);
    }
}

impl Tool for WorkTool {
    type Args = Work;

    fn spec(&self) -> ToolSpec {
        let class = json!({"enum": ["read_only", "write_exclusive", "unsafe", null]});
        let schema = json!({
            "type": "object",
            "properties": {
                "class": class,
                "becomes": class,
                "ms": {"type": "integer"},
                "end": {"enum": ["ok", "fatal", "panic", "retryable"]},
                "heeds": {"type": "boolean"},
                "refused": {"type": "boolean"},
                "ponder_ms": {"type": "integer"},
            },
        });
        let mut spec = ToolSpec::new(&self.worker.name(), "Works as it is told.", schema).unwrap();
        spec.interrupt = self.worker.interrupt;
        spec.on_fatal = self.worker.on_fatal;
        spec.inline = self.worker.inline;
        spec
    }

    fn effects(&self, _: &Scope, work: &Work) -> Effects {
        match work.class {
            Concurrency::ReadOnly => Effects::reading(),
            Concurrency::WriteExclusive => Effects::writing(),
            Concurrency::Unsafe => Effects::worst(),
        }
    }

    async fn check(&self, _: &Scope, work: &Work) -> Result<(), Refusal> {
        if work.refused { Err(Refusal::invalid_value("/refused", "must be false")) } else { Ok(()) }
    }

    async fn run(&self, cx: &Cx, work: &Work) -> Result<Output, Failure> {
        self.world.mark(cx.run.id().as_str(), cx.call_id().as_str(), Sign::Begin(work.class));
        let _inside = Inside { world: &self.world, cx };
        let told_to_stop =
            async { if work.heeds { cx.cancelled().await } else { std::future::pending().await } };
        tokio::select! {
            biased;
            () = tokio::time::sleep(Duration::from_millis(work.ms)) => {}
            () = told_to_stop => return Err(Failure::retryable("told to stop")),
        }
        match work.end {
            End::Ok => Ok(Output::text(cx.call_id().as_str())),
            End::Fatal => Err(Failure::fatal("as planned")),
            End::Retryable => Err(Failure::retryable("as planned")),
            End::Panic => panic!("as planned"),
        }
    }
}

/// Rewrites the class of calls that ask for it.
pub(crate) struct Rewriter(World);

impl Hook for Rewriter {
    fn name(&self) -> &'static str {
        "rewriter"
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        let mut work: Work = serde_json::from_value(call.args.clone()).unwrap();
        if work.ponder_ms > 0 {
            tokio::time::sleep(Duration::from_millis(work.ponder_ms)).await;
        }
        let Some(class) = work.becomes.take() else { return Before::Pass };
        work.class = class;
        self.0.mark(call.scope.run.id().as_str(), call.id.as_str(), Sign::Rewritten);
        Before::Rewrite(serde_json::to_value(work).unwrap_or(Value::Null))
    }
}

pub(crate) fn registry(world: &World) -> Registry {
    Worker::all().fold(Registry::new(), |registry, worker| {
        registry.with(WorkTool { worker, world: world.clone() }).unwrap()
    })
}

/// A gate for every worker, where everything is allowed and no breaker opens.
pub(crate) fn builder(world: &World) -> Builder {
    Tollgate::builder(registry(world))
        .policy(Rules::new().allow("*").unwrap())
        .breakers(BreakerSettings { failures: u32::MAX, cooldown: Duration::ZERO })
        .hook(Rewriter(world.clone()))
}

pub(crate) fn scope(run: &str, workspace: &Workspace) -> Arc<Scope> {
    Arc::new(Scope::new(Run::new(run), workspace.clone()))
}
