//! Phase 1: the text is strict JSON that the tool's schema accepts, parsed once into what the body wants.

use std::{any::Any, sync::Arc};

use serde_json::Value;

use super::{Base, Call, Records, Refused, Resolved};
use crate::{
    catalog::Registered,
    event::What,
    guard::caught,
    json::{Likeness, NotStrict, parse_strict},
    outcome::{Phase, Refusal, RefusalCode, Trust, Violation, may_refer, resolve_references},
    policy::Query,
    tool::{Args, Concurrency, Effects, Scope, ToolSpec},
};

/// The longest text of arguments that is read.
pub const MAX_INPUT_BYTES: usize = 4 << 20;

/// A call whose arguments are what its tool asks for.
pub struct Validated {
    _earned: (),
}

/// A tool with arguments it accepts, and what they would do.
///
/// `T` is what the body wants; only the tool itself knows which type that is.
pub struct Invocation<T: ?Sized = dyn Any + Send + Sync> {
    pub(super) tool: Arc<Registered>,
    pub(super) args: Args,
    /// What equal arguments share, where it was found on the way.
    pub(super) likeness: Option<Likeness>,
    pub(super) effects: Effects,
    /// What the panic said where its effects could not be computed.
    fault: Option<Arc<str>>,
    /// Whether everything in the arguments may be taken at its word.
    pub(super) trust: Trust,
    typed: T,
}

/// What an invocation is of, whatever its arguments. They are taken to where they stay and nowhere in between.
#[derive(Clone, Copy)]
pub(crate) struct Accepted<'a> {
    pub(crate) tool: &'a Arc<Registered>,
    pub(crate) trust: Trust,
}

/// In the place of typed arguments: the arguments themselves are what the body wants.
struct AsItIs;

impl Accepted<'_> {
    /// Puts together what was parsed once. Effects that cannot be computed are the worst there are.
    ///
    /// `likeness` is what equal arguments share, where it was found on the way.
    pub(crate) fn invoke<T: Any + Send + Sync>(
        self,
        args: impl FnOnce() -> Args,
        likeness: Option<Likeness>,
        typed: T,
        effects: impl FnOnce(&T) -> Effects,
    ) -> Box<Invocation> {
        let effects = caught(|| effects(&typed));
        self.with(args, likeness, typed, effects)
    }

    /// The same for a body that wants them as they are.
    pub(crate) fn invoke_as_it_is(
        self,
        args: Args,
        likeness: Option<Likeness>,
        effects: impl FnOnce(&Value) -> Effects,
    ) -> Box<Invocation> {
        let effects = caught(|| effects(&args));
        self.with(|| args, likeness, AsItIs, effects)
    }

    fn with<T: Any + Send + Sync>(
        self,
        args: impl FnOnce() -> Args,
        likeness: Option<Likeness>,
        typed: T,
        effects: Result<Effects, String>,
    ) -> Box<Invocation> {
        let (effects, fault) = match effects {
            Ok(effects) => (effects, None),
            Err(panic) => (Effects::worst(), Some(panic.into())),
        };
        let room = Box::<Invocation<T>>::new_uninit();
        let (tool, trust) = (self.tool.clone(), self.trust);
        let invocation: Box<Invocation<T>> =
            Box::write(room, Invocation { tool, args: args(), likeness, effects, fault, trust, typed });
        invocation
    }
}

impl Call<Resolved<'_>> {
    /// Parses, puts what was kept in the place of references, validates, and computes the effects; each once.
    pub fn validate(self, records: &Records) -> Result<Call<Validated>, Refused> {
        let Call { mut base, state: Resolved { tool } } = self;
        let invoked = match plainly(tool, &mut base) {
            Some(invoked) => Ok(invoked),
            None => arguments(tool, &mut base, records),
        };
        match invoked {
            Ok(invocation) => {
                let mut steps = base.steps();
                if let Some(panic) = &invocation.fault {
                    steps.note(|| What::Fault { message: panic.clone() });
                }
                steps.note(|| What::Validated { concurrency: invocation.effects.class() });
                // Nobody holds the errand of a call whose body has not begun.
                let Some(errand) = base.errand.own() else {
                    return Err(base.refuse(Phase::Validate, super::execute::unpermitted()));
                };
                // What a hook rewrote.
                errand.let_go();
                errand.invocation = Some(invocation);
                Ok(Call { base, state: Validated { _earned: () } })
            }
            Err(refusal) => {
                let refusal = if base.rounds == 0 { refusal } else { rewritten_badly(refusal) };
                Err(base.refuse_text(tool.label.clone(), Phase::Validate, refusal))
            }
        }
    }
}

/// The short way: plain fields that one look at their text tells all about. Takes the text where it goes.
fn plainly(tool: &Arc<Registered>, base: &mut Base) -> Option<Box<Invocation>> {
    let Base { written, errand, trust, .. } = base;
    if written.inverse.is_some() || written.text.as_str().len() > MAX_INPUT_BYTES {
        return None;
    }
    tool.tool.read(errand.cx(), Accepted { tool, trust: *trust }, &mut written.text)
}

#[inline(never)]
fn arguments(tool: &Arc<Registered>, base: &mut Base, records: &Records) -> Result<Box<Invocation>, Refusal> {
    let written = &base.written;
    let mut args = parse_strict(written.text.as_str(), MAX_INPUT_BYTES).map_err(|error| not_json(&error))?;
    if let Some(inverse) = &written.inverse {
        args = inverse.apply(args);
    }
    if base.may_refer(written.text.as_str()) {
        let brought = resolve_references(&mut args, records.results.as_deref(), &base.scope().caller)?;
        base.trust = base.trust.worse(brought);
    }
    if !args.is_object() || !tool.input.accepts(&args) {
        return Err(invalid(tool, violations(tool, &args)));
    }
    tool.tool.invoke(base.scope(), Accepted { tool, trust: base.trust }, args).map_err(|message| {
        invalid(tool, vec![Violation { pointer: String::new(), message, did_you_mean: None }])
    })
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

#[cold]
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

/// The model cannot mend what a hook wrote, and is not told to.
#[cold]
fn rewritten_badly(mut refusal: Refusal) -> Refusal {
    refusal.reason = format!("A hook rewrote this call into one that cannot run. {}", refusal.reason);
    refusal
        .with_hint("What you sent was accepted; the hook is to be mended. Say so, and do without this call.")
}

impl Call<Validated> {
    /// What dispatch goes by.
    pub fn class(&self) -> Concurrency {
        self.base.invocation().effects.class()
    }

    /// The tool, its arguments and what they would do.
    pub fn invocation(&self) -> &Invocation {
        self.base.invocation()
    }
}

impl Call<Validated> {
    pub(crate) fn query(&self) -> Query<'_> {
        self.base.invocation().query(self.base.scope())
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

    /// The arguments as the body wants them; `None` for a type that is not the tool's own.
    pub(crate) fn typed<T: 'static>(&self) -> Option<&T> {
        match self.typed.downcast_ref() {
            Some(typed) => Some(typed),
            None => self.as_it_is(),
        }
    }

    #[inline(never)]
    fn as_it_is<T: 'static>(&self) -> Option<&T> {
        let args: &Value = self.typed.is::<AsItIs>().then(|| &*self.args)?;
        (args as &dyn Any).downcast_ref()
    }

    pub(super) fn query<'a>(&'a self, scope: &'a Scope) -> Query<'a> {
        Query::new(&self.tool.spec, &self.args, &self.effects, scope)
    }
}
