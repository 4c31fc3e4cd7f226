//! The sealed, object-safe twin of [`Tool`]: arguments are parsed once and borrowed by every later phase.

use std::{
    any::{Any, TypeId},
    pin::pin,
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use super::{Args, Effects, Scope, Tool, ToolSpec};
use crate::{
    call::{Accepted, Errand, Invocation, RawInput, Sent},
    guard::{caught, contained_until},
    outcome::{Failure, Output, Refusal},
    policy::Opinion,
};

pub(crate) trait Erased: Send + Sync {
    fn spec(&self) -> ToolSpec;
    fn is_enabled(&self) -> bool;
    /// Parses arguments that the schema accepts, once, and computes what they would do.
    fn invoke(&self, scope: &Scope, accepted: Accepted<'_>, args: Value) -> Result<Box<Invocation>, String>;
    /// The same straight from their text, held against the schema on the way; leaves it alone where that cannot tell.
    fn read(&self, scope: &Scope, accepted: Accepted<'_>, text: &mut RawInput) -> Option<Box<Invocation>>;
    fn check<'a>(&'a self, scope: &'a Scope, call: &'a Invocation) -> BoxFuture<'a, Result<(), Refusal>>;
    fn authorize(&self, scope: &Scope, call: &Invocation) -> Opinion;
    /// The body on the caller's own task.
    fn run_here<'a>(&'a self, errand: &'a Errand) -> BoxFuture<'a, Result<Output, Failure>>;
    /// The body for a task of its own: it answers there, for as long as somebody waits for that.
    fn run_apart(&self, sent: Sent) -> BoxFuture<'static, ()>;
    fn as_any(&self) -> &dyn Any;
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

    fn invoke(&self, scope: &Scope, accepted: Accepted<'_>, args: Value) -> Result<Box<Invocation>, String> {
        if takes_any::<T>() {
            let effects = |args: &Value| self.effects_of(scope, args);
            return Ok(accepted.invoke_as_it_is(Args::read(args), None, effects));
        }
        let parsed = caught(|| match T::Args::deserialize(&args) {
            Ok(args) => Ok(args),
            // `10.0` is an integer in JSON Schema and none to serde: the schema has already said yes.
            Err(error) => T::Args::deserialize(&whole_numbers(&args)).map_err(|_| error.to_string()),
        });
        let typed = parsed.unwrap_or_else(|_| Err("the arguments could not be read".to_owned()))?;
        Ok(accepted.invoke(|| Args::read(args), None, typed, |typed| self.0.effects(scope, typed)))
    }

    fn read(&self, scope: &Scope, accepted: Accepted<'_>, text: &mut RawInput) -> Option<Box<Invocation>> {
        let schema = &accepted.tool.input;
        if takes_any::<T>() {
            let (_, likeness) = schema.read::<IgnoredAny>(text.as_str())?;
            let (args, effects) =
                (Args::unread(std::mem::take(text)), |args: &Value| self.effects_of(scope, args));
            return Some(accepted.invoke_as_it_is(args, Some(likeness), effects));
        }
        let (typed, likeness) = caught(|| schema.read(text.as_str())).ok().flatten()?;
        let args = || Args::unread(std::mem::take(text));
        Some(accepted.invoke(args, Some(likeness), typed, |typed| self.0.effects(scope, typed)))
    }

    fn check<'a>(&'a self, scope: &'a Scope, call: &'a Invocation) -> BoxFuture<'a, Result<(), Refusal>> {
        // Begun inside the future, so that a panic in the method itself is caught with it.
        Box::pin(async move {
            match call.typed() {
                Some(args) => self.0.check(scope, args).await,
                None => Err(mismatch()),
            }
        })
    }

    fn authorize(&self, scope: &Scope, call: &Invocation) -> Opinion {
        call.typed().map_or_else(|| Opinion::Deny(mismatch()), |args| self.0.authorize(scope, args))
    }

    fn run_here<'a>(&'a self, errand: &'a Errand) -> BoxFuture<'a, Result<Output, Failure>> {
        Box::pin(body(&self.0, errand))
    }

    fn run_apart(&self, sent: Sent) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let ran = {
                let errand = sent.errand();
                // Found again behind the errand, which keeps it: a counter of its own would be pulled at by every body.
                let tool = errand.tool().as_any().downcast_ref::<Self>();
                let work = pin!(Some(async {
                    match tool {
                        Some(tool) => body(&tool.0, errand).await,
                        None => Err(Failure::fatal(mismatch().to_string())),
                    }
                }));
                contained_until(work, |task| sent.poll_closed(task)).await
            };
            if let Some(ran) = ran {
                sent.answer(ran);
            }
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

async fn body<T: Tool>(tool: &T, errand: &Errand) -> Result<Output, Failure> {
    match errand.invocation().typed() {
        Some(args) => tool.run(errand.cx(), args).await,
        None => Err(Failure::fatal(mismatch().to_string())),
    }
}

/// True for a tool that takes any JSON and gets it as it is: every tool of a server does.
fn takes_any<T: Tool>() -> bool {
    TypeId::of::<T::Args>() == TypeId::of::<Value>()
}

impl<T: Tool> Typed<T> {
    fn effects_of(&self, scope: &Scope, args: &Value) -> Effects {
        let args = (args as &dyn Any).downcast_ref();
        args.map_or_else(Effects::worst, |args| self.0.effects(scope, args))
    }
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
