//! Hooks: what may look at a call before it is permitted and at its outcome after it ran.

use std::{future::Future, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{
    guard::{Guarded, caught},
    outcome::{Outcome, Output, Redactor},
    tool::{CallId, Effects, Scope, ToolSpec},
};

/// Looks at calls on their way. Each method has a default that does nothing.
///
/// It runs on the path of the calls and must not block its thread: a hook that does holds up the turn, and once it took
/// longer than its timeout its answer does not count. What blocks belongs on a thread of its own.
pub trait Hook: Send + Sync + 'static {
    /// The name people know it by.
    fn name(&self) -> &str;

    /// What its failure means.
    fn kind(&self) -> HookKind {
        HookKind::Gate
    }

    /// Which tools it looks at.
    fn matches(&self, tool: &ToolSpec) -> bool {
        let _ = tool;
        true
    }

    /// How long it may take each time.
    fn timeout(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// Phase 3: before anyone is asked.
    fn before(&self, call: &HookedCall<'_>) -> impl Future<Output = Before> + Send {
        let _ = call;
        std::future::ready(Before::Pass)
    }

    /// Phase 6: after every execution, well ended or not.
    fn after(&self, call: &HookedCall<'_>, outcome: &Outcome) -> impl Future<Output = After> + Send {
        let _ = (call, outcome);
        std::future::ready(After::Keep)
    }
}

/// What a hook's timeout, panic or crash means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookKind {
    /// The call is blocked.
    Gate,
    /// It is logged, and nothing changes. Its blocks and rewrites are not honoured either.
    Observer,
}

/// The call as a hook sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct HookedCall<'a> {
    /// Its id.
    pub id: &'a CallId,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, validated and checked.
    pub args: &'a Value,
    /// What it would do.
    pub effects: &'a Effects,
    /// Who, where, on which route.
    pub scope: &'a Scope,
}

impl<'a> HookedCall<'a> {
    pub(crate) fn new(
        id: &'a CallId,
        tool: &'a ToolSpec,
        args: &'a Value,
        effects: &'a Effects,
        scope: &'a Scope,
    ) -> Self {
        Self { id, tool, args, effects, scope }
    }
}

/// What a hook says before.
#[derive(Debug, Clone, PartialEq)]
pub enum Before {
    /// Go on.
    Pass,
    /// Go on, and tell the model this along with the result.
    Context(String),
    /// Begin again with these arguments. They stand as they are: a `$result` in them is a field like any other.
    Rewrite(Value),
    /// Begin again with these arguments, and tell the model this along with the result.
    RewriteWith(Value, String),
    /// Do not run it.
    Block(String),
    /// It could not judge the call, for this reason: blocked where the hook is a gate, logged where it observes.
    Failed(String),
}

/// What a hook says after.
#[derive(Debug, Clone, PartialEq)]
pub enum After {
    /// The outcome stands.
    Keep,
    /// Tell the model this along with the result.
    Context(String),
    /// The model gets this output instead. Only the output of a call that went well can be replaced.
    Replace(Output),
    /// The same, and the model is told this along with it.
    ReplaceWith(Output, String),
    /// It could not do its work, for this reason: the output is withheld where the hook is a gate, logged where it
    /// observes.
    Failed(String),
}

/// The hooks of a gate, in order. What they say is heard without secrets, as what tools say is.
#[derive(Clone, Default)]
pub struct Hooks {
    list: Arc<[Arc<dyn ErasedHook>]>,
    redactor: Option<Redactor>,
}

/// What a hook says, with words in it that others will read.
pub(crate) trait Words {
    fn redact(&mut self, redactor: &Redactor);
}

impl Words for Before {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::Pass | Self::Rewrite(_) => {}
            Self::Context(words) | Self::RewriteWith(_, words) | Self::Block(words) | Self::Failed(words) => {
                redactor.in_place(words);
            }
        }
    }
}

impl Words for After {
    fn redact(&mut self, redactor: &Redactor) {
        match self {
            Self::Keep => {}
            Self::Context(words) | Self::Failed(words) => redactor.in_place(words),
            Self::Replace(output) => redactor.output(output),
            Self::ReplaceWith(output, words) => {
                redactor.output(output);
                redactor.in_place(words);
            }
        }
    }
}

impl Hooks {
    pub(crate) fn new(hooks: Vec<Arc<dyn ErasedHook>>, redactor: Option<Redactor>) -> Self {
        Self { list: hooks.into(), redactor }
    }

    /// What a hook said, fit for model, ledger and observers. Arguments it rewrote are judged again, not shown.
    pub(crate) fn heard<T: Words>(&self, mut answer: Guarded<T>) -> Guarded<T> {
        if let Some(redactor) = &self.redactor {
            match &mut answer {
                Guarded::Done(said) => said.redact(redactor),
                Guarded::Panicked(panic) => redactor.in_place(panic),
                Guarded::Late | Guarded::Cancelled => {}
            }
        }
        answer
    }

    pub(crate) fn of<'a>(&'a self, tool: &'a ToolSpec) -> impl Iterator<Item = &'a Arc<dyn ErasedHook>> {
        self.list.iter().filter(move |hook| hook.matches(tool))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The names of the hooks that look at this tool, in order. Runs none of them.
    pub fn matching(&self, tool: &ToolSpec) -> Vec<String> {
        self.of(tool).map(|hook| hook.name().to_owned()).collect()
    }
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list.iter().map(|hook| hook.name())).finish()
    }
}

/// The object-safe twin of [`Hook`].
pub(crate) trait ErasedHook: Send + Sync {
    fn name(&self) -> &str;
    fn kind(&self) -> HookKind;
    fn matches(&self, tool: &ToolSpec) -> bool;
    fn timeout(&self) -> Duration;
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> BoxFuture<'a, Before>;
    fn after<'a>(&'a self, call: &'a HookedCall<'a>, outcome: &'a Outcome) -> BoxFuture<'a, After>;
}

/// What a hook says of itself; `strict` where it cannot even say that.
fn says<T>(strict: T, ask: impl FnOnce() -> T) -> T {
    caught(ask).unwrap_or(strict)
}

// A hook that fails to say what it is counts as the strictest there is: a gate, for every tool, with no time to spare.
impl<H: Hook> ErasedHook for H {
    fn name(&self) -> &str {
        says("a hook that cannot say its name", || Hook::name(self))
    }
    fn kind(&self) -> HookKind {
        says(HookKind::Gate, || Hook::kind(self))
    }
    fn matches(&self, tool: &ToolSpec) -> bool {
        says(true, || Hook::matches(self, tool))
    }
    fn timeout(&self) -> Duration {
        says(Duration::ZERO, || Hook::timeout(self))
    }
    fn before<'a>(&'a self, call: &'a HookedCall<'a>) -> BoxFuture<'a, Before> {
        // Made inside the future, so that a panic in the method itself is caught with it.
        Box::pin(async move { Hook::before(self, call).await })
    }
    fn after<'a>(&'a self, call: &'a HookedCall<'a>, outcome: &'a Outcome) -> BoxFuture<'a, After> {
        Box::pin(async move { Hook::after(self, call, outcome).await })
    }
}
