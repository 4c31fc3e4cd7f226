//! Phase 1: the text is strict JSON that the tool's schema accepts, parsed once into what the body wants.

use std::{any::Any, sync::Arc};

use serde_json::Value;

use super::{Base, Call, Records, Refused, Resolved, proposed::Written};
use crate::{
    catalog::Registered,
    event::What,
    guard::caught,
    json::{NotStrict, parse_strict},
    outcome::{Phase, Refusal, RefusalCode, Trust, Violation, may_refer, resolve_references},
    policy::Query,
    tool::{Concurrency, Effects, Scope, ToolSpec},
};

/// The longest text of arguments that is read.
pub const MAX_INPUT_BYTES: usize = 4 << 20;

/// A call whose arguments are what its tool asks for.
pub struct Validated {
    pub(super) invocation: Box<Invocation>,
}

/// A tool with arguments it accepts, and what they would do.
pub struct Invocation {
    pub(super) tool: Arc<Registered>,
    pub(super) args: Value,
    pub(super) typed: Arc<dyn Any + Send + Sync>,
    pub(super) effects: Effects,
    /// Whether everything in the arguments may be taken at its word.
    pub(super) trust: Trust,
}

impl Call<Resolved> {
    /// Parses, puts what was kept in the place of references, validates, and computes the effects; each once.
    pub fn validate(self, records: &Records) -> Result<Call<Validated>, Refused> {
        let Call { mut base, state: Resolved { tool, written } } = self;
        match arguments(&tool, &written, &mut base, records) {
            Ok((args, typed)) => {
                let trust = base.trust;
                // Effects that cannot be computed are the worst there are.
                let effects = caught(|| tool.tool.effects(&base.scope, &typed)).unwrap_or_else(|panic| {
                    base.trail.note(|| What::Fault { message: panic.into() });
                    Effects::worst()
                });
                base.trail.note(|| What::Validated { concurrency: effects.class() });
                Ok(Call {
                    base,
                    state: Validated {
                        invocation: Box::new(Invocation { tool, args, typed, effects, trust }),
                    },
                })
            }
            Err(refusal) => Err(base.refuse_text(tool.label.clone(), written.text, Phase::Validate, refusal)),
        }
    }
}

type Arguments = (Value, Arc<dyn Any + Send + Sync>);

fn arguments(
    tool: &Registered,
    written: &Written,
    base: &mut Base,
    records: &Records,
) -> Result<Arguments, Refusal> {
    let mut args = parse_strict(written.text.as_str(), MAX_INPUT_BYTES).map_err(|error| not_json(&error))?;
    if let Some(inverse) = &written.inverse {
        args = inverse.apply(args);
    }
    if base.may_refer(written.text.as_str()) {
        let brought = resolve_references(&mut args, records.results.as_deref(), &base.scope.caller)?;
        base.trust = base.trust.worse(brought);
    }
    if !args.is_object() || !tool.input.accepts(&args) {
        return Err(invalid(tool, violations(tool, &args)));
    }
    let typed = caught(|| tool.tool.parse(&args))
        .unwrap_or_else(|_| Err("the arguments could not be read".to_owned()));
    let typed = typed.map_err(|message| {
        invalid(tool, vec![Violation { pointer: String::new(), message, did_you_mean: None }])
    })?;
    Ok((args, typed))
}

impl Base {
    /// True when the text could hold a reference. What a hook wrote holds none: it was shown arguments in which they are
    /// resolved already, and what came from there, or from the hook, is data.
    pub(super) fn may_refer(&self, text: &str) -> bool {
        self.rounds == 0 && may_refer(text)
    }
}

fn not_json(error: &NotStrict) -> Refusal {
    let code = match error {
        NotStrict::TooLong { .. } | NotStrict::TooDeep(_) => RefusalCode::TooLarge,
        NotStrict::DuplicateKey { .. } | NotStrict::Syntax { .. } => RefusalCode::InvalidJson,
    };
    let hint = match code {
        RefusalCode::TooLarge => "Send less in one call: split the work, or write large content in parts.",
        _ => "Send one JSON object with each field once, and nothing around it.",
    };
    Refusal::new(code, format!("The arguments cannot be read as JSON: {error}.")).with_hint(hint)
}

fn violations(tool: &Registered, args: &Value) -> Vec<Violation> {
    if args.is_object() {
        return tool.input.violations(args);
    }
    let message = match args {
        Value::String(text) if text.trim_start().starts_with('{') => {
            "expected an object, came a string that holds one; send the object itself".to_owned()
        }
        other => format!("expected an object, came {}", crate::json::shorten(&other.to_string(), 60)),
    };
    vec![Violation { pointer: String::new(), message, did_you_mean: None }]
}

fn invalid(tool: &Registered, violations: Vec<Violation>) -> Refusal {
    let list: Vec<_> = violations
        .iter()
        .map(|violation| match violation.pointer.as_str() {
            "" => violation.message.clone(),
            pointer => format!("{pointer}: {}", violation.message),
        })
        .collect();
    let reason = format!("The arguments do not fit the schema of `{}`: {}.", tool.label, list.join("; "));
    let refusal = Refusal::new(RefusalCode::InvalidArguments, reason);
    refusal.with_violations(violations).with_hint("Correct these fields and call again.")
}

impl Call<Validated> {
    /// What dispatch goes by.
    pub fn class(&self) -> Concurrency {
        self.state.invocation.effects.class()
    }

    /// The tool, its arguments and what they would do.
    pub fn invocation(&self) -> &Invocation {
        &self.state.invocation
    }
}

impl Call<Validated> {
    pub(crate) fn query(&self) -> Query<'_> {
        self.state.invocation.query(&self.base.scope)
    }
}

impl Invocation {
    /// The tool's metadata.
    pub fn tool(&self) -> &ToolSpec {
        &self.tool.spec
    }

    /// The arguments.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// What the call would do.
    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// Whether everything in the arguments may be taken at its word. References carry the label of what they
    /// stand for.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    pub(super) fn query<'a>(&'a self, scope: &'a Scope) -> Query<'a> {
        Query::new(&self.tool.spec, &self.args, &self.effects, scope)
    }
}
