//! The sealed, object-safe twin of [`Tool`]: arguments are parsed once and borrowed by every later phase.

use std::{
    any::{Any, TypeId},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::{Cx, Effects, Scope, Tool, ToolSpec};
use crate::{
    outcome::{Failure, Output, Refusal},
    policy::Opinion,
};

/// Typed arguments whose type only their tool knows.
pub(crate) type TypedArgs = Arc<dyn Any + Send + Sync>;

pub(crate) trait Erased: Send + Sync {
    fn spec(&self) -> ToolSpec;
    fn is_enabled(&self) -> bool;
    fn parse(&self, args: &Value) -> Result<TypedArgs, String>;
    fn effects(&self, scope: &Scope, args: &TypedArgs) -> Effects;
    fn check<'a>(&'a self, scope: &'a Scope, args: &'a TypedArgs) -> BoxFuture<'a, Result<(), Refusal>>;
    fn authorize(&self, scope: &Scope, args: &TypedArgs) -> Opinion;
    /// The body on the caller's own task.
    fn run_here<'a>(&'a self, cx: &'a Cx, args: &'a TypedArgs) -> BoxFuture<'a, Result<Output, Failure>>;
    /// The body for a task of its own.
    fn run(self: Arc<Self>, cx: Arc<Cx>, args: TypedArgs) -> BoxFuture<'static, Result<Output, Failure>>;
}

pub(crate) fn erase(tool: impl Tool) -> Arc<dyn Erased> {
    Arc::new(Typed(tool))
}

struct Typed<T>(T);

impl<T: Tool> Erased for Typed<T> {
    fn spec(&self) -> ToolSpec {
        self.0.spec()
    }

    fn is_enabled(&self) -> bool {
        self.0.is_enabled()
    }

    fn parse(&self, args: &Value) -> Result<TypedArgs, String> {
        // Who takes any JSON gets it as it is: every tool of a server does.
        if TypeId::of::<T::Args>() == TypeId::of::<Value>() {
            return Ok(Arc::new(args.clone()));
        }
        match T::Args::deserialize(args) {
            Ok(args) => Ok(Arc::new(args)),
            // `10.0` is an integer in JSON Schema and none to serde: the schema has already said yes.
            Err(error) => match T::Args::deserialize(&whole_numbers(args)) {
                Ok(args) => Ok(Arc::new(args)),
                Err(_) => Err(error.to_string()),
            },
        }
    }

    fn effects(&self, scope: &Scope, args: &TypedArgs) -> Effects {
        typed::<T>(args).map_or_else(Effects::worst, |args| self.0.effects(scope, args))
    }

    fn check<'a>(&'a self, scope: &'a Scope, args: &'a TypedArgs) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            match typed::<T>(args) {
                Some(args) => self.0.check(scope, args).await,
                None => Err(mismatch()),
            }
        })
    }

    fn authorize(&self, scope: &Scope, args: &TypedArgs) -> Opinion {
        typed::<T>(args).map_or_else(|| Opinion::Deny(mismatch()), |args| self.0.authorize(scope, args))
    }

    fn run_here<'a>(&'a self, cx: &'a Cx, args: &'a TypedArgs) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(body(&self.0, cx, args))
    }

    fn run(self: Arc<Self>, cx: Arc<Cx>, args: TypedArgs) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { body(&self.0, &cx, &args).await })
    }
}

async fn body<T: Tool>(tool: &T, cx: &Cx, args: &TypedArgs) -> Result<Output, Failure> {
    match typed::<T>(args) {
        Some(args) => tool.run(cx, args).await,
        None => Err(Failure::fatal(mismatch().to_string())),
    }
}

fn typed<T: Tool>(args: &TypedArgs) -> Option<&T::Args> {
    (**args).downcast_ref()
}

fn mismatch() -> Refusal {
    Refusal::new(crate::outcome::RefusalCode::Internal, "arguments of another tool reached this one")
}

fn whole_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(whole_numbers).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect(),
        _ => value.clone(),
    }
}
