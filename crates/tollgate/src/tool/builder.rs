//! Tools made at run time: bridged ones, mocks, whatever has no type of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{BadName, Cx, Effects, Scope, Tool, ToolSpec};
use crate::{
    outcome::{Failure, Output, Refusal},
    policy::Opinion,
    schema::Schema,
};

type EffectsFn = dyn Fn(&Scope, &Value) -> Effects + Send + Sync;
type CheckFn = dyn Fn(&Scope, &Value) -> Result<(), Refusal> + Send + Sync;
type AuthorizeFn = dyn Fn(&Scope, &Value) -> Opinion + Send + Sync;
type EnabledFn = dyn Fn() -> bool + Send + Sync;
type RunFn = dyn for<'a> Fn(&'a Cx, &'a Value) -> BoxFuture<'a, Result<Output, Failure>> + Send + Sync;

/// Builds a tool from functions over JSON values. What is not given is on the safe side.
#[must_use]
pub struct ToolBuilder {
    spec: ToolSpec,
    effects: Box<EffectsFn>,
    check: Box<CheckFn>,
    authorize: Box<AuthorizeFn>,
    enabled: Box<EnabledFn>,
}

/// A tool made at run time.
pub struct DynTool {
    parts: ToolBuilder,
    run: Box<RunFn>,
}

impl ToolBuilder {
    /// Begins with a name, a description and the schema of the arguments.
    pub fn new(
        name: &str,
        description: impl Into<Arc<str>>,
        input_schema: impl Into<Schema>,
    ) -> Result<Self, BadName> {
        ToolSpec::new(name, description, input_schema).map(Self::from_spec)
    }

    /// Begins with a whole spec.
    pub fn from_spec(spec: ToolSpec) -> Self {
        Self {
            spec,
            effects: Box::new(|_, _| Effects::worst()),
            check: Box::new(|_, _| Ok(())),
            authorize: Box::new(|_, _| Opinion::Abstain),
            enabled: Box::new(|| true),
        }
    }

    /// Changes the metadata.
    pub fn spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// What a call with given arguments would do.
    pub fn effects(mut self, effects: impl Fn(&Scope, &Value) -> Effects + Send + Sync + 'static) -> Self {
        self.effects = Box::new(effects);
        self
    }

    /// What every call does, whatever its arguments: it can be told before there is a call.
    pub fn always(self, effects: Effects) -> Self {
        let told = effects.clone();
        self.spec(|spec| spec.at_worst = told).effects(move |_, _| effects.clone())
    }

    /// The tool's own rules.
    pub fn check(
        mut self,
        check: impl Fn(&Scope, &Value) -> Result<(), Refusal> + Send + Sync + 'static,
    ) -> Self {
        self.check = Box::new(check);
        self
    }

    /// The tool's own view of permission; it can only tighten.
    pub fn authorize(
        mut self,
        authorize: impl Fn(&Scope, &Value) -> Opinion + Send + Sync + 'static,
    ) -> Self {
        self.authorize = Box::new(authorize);
        self
    }

    /// Whether the tool can be used at the moment. Asked between turns.
    pub fn enabled(mut self, enabled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.enabled = Box::new(enabled);
        self
    }

    /// The body, and with it the tool.
    pub fn run<F>(self, body: F) -> DynTool
    where
        F: for<'a> Fn(&'a Cx, &'a Value) -> BoxFuture<'a, Result<Output, Failure>> + Send + Sync + 'static,
    {
        DynTool { parts: self, run: Box::new(body) }
    }
}

impl DynTool {
    /// The metadata, without a copy.
    pub fn metadata(&self) -> &ToolSpec {
        &self.parts.spec
    }
}

impl Tool for DynTool {
    type Args = Value;

    fn spec(&self) -> ToolSpec {
        self.parts.spec.clone()
    }

    fn is_enabled(&self) -> bool {
        (self.parts.enabled)()
    }

    fn effects(&self, scope: &Scope, args: &Value) -> Effects {
        (self.parts.effects)(scope, args)
    }

    async fn check(&self, scope: &Scope, args: &Value) -> Result<(), Refusal> {
        (self.parts.check)(scope, args)
    }

    fn authorize(&self, scope: &Scope, args: &Value) -> Opinion {
        (self.parts.authorize)(scope, args)
    }

    async fn run(&self, cx: &Cx, args: &Value) -> Result<Output, Failure> {
        (self.run)(cx, args).await
    }
}

impl std::fmt::Debug for DynTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynTool").field("id", &self.parts.spec.id).finish_non_exhaustive()
    }
}
