//! The plain form of a turn: a list of calls and where they stand, for programs that speak no provider's format.
//!
//! ```json
//! {"calls": [{"id": "c1", "name": "read_file", "input": {"path": "a.txt"}, "idempotency_key": "k1"}],
//!  "context": {"route": "reading", "caller": "planner", "run": "r1", "turn": 3, "approvals": ["9f86…"]}}
//! ```

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use super::{
    ModelTurn, WireError,
    body::Body,
    calls::{CallIds, stands_twice},
    envelope::{Fields, Shape, items_of, items_or_one, looks_like, text_of},
    loose::Loose,
    results::fault_text,
    turn::Draft,
};
use crate::{
    call::Proposed,
    json::shorten,
    outcome::Settled,
    policy::Digest,
    tool::{Caller, Route, RunId},
};

/// Where the calls of a turn stand, as far as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Context {
    /// The route: only its tools are exposed.
    pub route: Option<Route>,
    /// Who proposes.
    pub caller: Option<Caller>,
    /// The run the turn belongs to.
    pub run: Option<RunId>,
    /// Which turn of the run it is.
    pub turn: Option<u32>,
    /// What a person already said yes to.
    pub approvals: Vec<Digest>,
}

const KEYS: [&str; 5] = ["route", "caller", "run", "turn", "approvals"];

impl Context {
    /// Reads the object. What is odd in it is an error: a route that was overlooked would expose every tool.
    pub fn parse(text: &str) -> Result<Self, String> {
        let raw = serde_json::from_str(text).map_err(|error| format!("the context is not JSON: {error}"))?;
        Self::of(raw)
    }

    fn of(raw: &RawValue) -> Result<Self, String> {
        let fields = Fields::read(raw).ok_or("the context is not an object")?;
        if let Some(key) = fields.keys().find(|key| !KEYS.contains(key)) {
            let (key, known) = (shorten(key, 40), KEYS.join(", "));
            return Err(format!("the context has no {key:?}; it has {known}"));
        }
        if let Some(key) = fields.twice(&KEYS) {
            return Err(format!("`{key}` stands twice in the context"));
        }
        let text = |key: &str| match fields.present(key).map(text_of) {
            None => Ok(None),
            Some(Some(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` in the context is not a text")),
        };
        let turn = fields.present("turn").map(|raw| serde_json::from_str(raw.get()));
        Ok(Self {
            route: text("route")?.map(Route::new),
            caller: text("caller")?.map(Caller::new),
            run: text("run")?.map(RunId::new),
            turn: turn.transpose().map_err(|_| "`turn` in the context is not a whole number")?,
            approvals: fields.present("approvals").map_or(Ok(Vec::new()), digests)?,
        })
    }

    /// The same, filled up with what another says where this one says nothing. Approvals add up.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.approvals.extend(other.approvals);
        Self {
            route: self.route.or(other.route),
            caller: self.caller.or(other.caller),
            run: self.run.or(other.run),
            turn: self.turn.or(other.turn),
            ..self
        }
    }
}

fn digests(raw: &RawValue) -> Result<Vec<Digest>, String> {
    let items = items_of(raw).ok_or("`approvals` in the context is not a list")?;
    let digest = |raw: &RawValue| text_of(raw).and_then(|text| Digest::parse(&text));
    items
        .into_iter()
        .map(|raw| {
            let shown = shorten(raw.get(), 80);
            digest(raw).ok_or_else(|| format!("the approval {shown} is no digest of 64 hexadecimal digits"))
        })
        .collect()
}

/// Reads a turn. Of one whose context cannot be read no call runs.
pub fn read_turn(body: &[u8]) -> Result<(ModelTurn, Context), WireError> {
    let body = Body::decode(body)?;
    let mut context = Context::default();
    let draft = body.json().and_then(|raw| read(raw, &mut context));
    Ok((body.finish(draft)?, context))
}

/// The results, and what is wrong with the turn as a whole where something is.
pub fn results(answers: &[Settled], faults: &[String]) -> Value {
    let mut results = json!({ "results": answers });
    if !faults.is_empty() {
        results["faults"] = faults.iter().map(|fault| fault_text(fault)).collect();
    }
    results
}

fn read(raw: &RawValue, context: &mut Context) -> Result<Draft, WireError> {
    let odd = |message: &str| WireError::NotPlain { message: message.to_owned() };
    let fields = Fields::read(raw).ok_or_else(|| odd("it is not an object"))?;
    if fields.get("calls").is_none() {
        return Err(odd(&match looks_like(&fields) {
            Some(other) => format!("it has no `calls`; it looks like {other}"),
            None => "it has no `calls`".to_owned(),
        }));
    }
    let mut broken = fields.twice(&["calls", "context"]).map(stands_twice);
    let mut items = Vec::new();
    for calls in fields.all("calls").filter(|calls| calls.get() != "null") {
        let (list, shape) = items_or_one(calls).ok_or_else(|| odd("its `calls` is not a list"))?;
        if shape == Shape::Alone {
            broken.get_or_insert_with(|| "The call stands alone where a list of calls belongs.".to_owned());
        }
        items.extend(list);
    }
    match fields.present("context").map_or_else(|| Ok(Context::default()), Context::of) {
        Ok(read) => *context = read,
        Err(why) => broken = broken.or(Some(format!("The turn cannot be placed: {why}."))),
    }
    let (calls, mut faults) = calls_of(&items);
    if calls.is_empty() {
        faults.extend(broken.take());
    }
    let mut draft =
        Draft { text: String::new(), calls, stop: None, usage: None, message: Value::Null, faults };
    if let Some(reason) = broken {
        draft.break_all(&reason);
    }
    Ok(draft)
}

fn calls_of(items: &[&RawValue]) -> (Vec<Proposed>, Vec<String>) {
    let mut ids = CallIds::default();
    let calls: Vec<_> = items.iter().copied().filter_map(Fields::read).collect();
    // An id that is made must not be one that a later call brings.
    calls.iter().filter_map(|call| call.text("id")).for_each(|id| ids.take(&id));
    let odd = items.len() - calls.len();
    let faults = std::iter::repeat_n("A call is not an object.".to_owned(), odd.min(10)).collect();
    (calls.iter().map(|call| call_of(call, &mut ids)).collect(), faults)
}

fn call_of(call: &Fields<'_>, ids: &mut CallIds) -> Proposed {
    // Nobody waits for the answer under an id of their own, so a call may come without one.
    let id = match Loose::of(call.get("id")) {
        Loose::Null => Loose::Text(Cow::Owned(ids.make())),
        id => id,
    };
    let head = ids.head(id, Loose::of(call.get("name")));
    let mut proposed = head.with(call.get("input").map_or("null", RawValue::get));
    match call.present("idempotency_key").map(text_of) {
        None => {}
        Some(Some(key)) if !key.is_empty() => proposed = proposed.with_key(key),
        Some(_) => proposed = proposed.broken("The idempotency key of the call is not a text."),
    }
    match call.twice(&["id", "name", "input", "idempotency_key"]) {
        Some(key) => proposed.broken(stands_twice(key)),
        None => proposed,
    }
}
