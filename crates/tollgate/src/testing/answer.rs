//! Which answer a call gets: the first whose `when` fits, and of several with the same `when` one after the other.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::{Map, Value};

use super::{Why, fields::Fields, outcome::Scripted};
use crate::{
    json::canonical,
    outcome::{Failure, Output, Refusal},
    tool::Cx,
};

/// The scripted answers of one tool.
pub(super) struct Answers(Vec<Sequence>);

/// Answers to the same calls: the first call gets the first, the next one the second, and so on; the last
/// repeats. This is how "busy, then well" is written.
struct Sequence {
    when: Map<String, Value>,
    answers: Vec<Scripted>,
    given: AtomicUsize,
}

impl Answers {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, Why> {
        let mut sequences: Vec<Sequence> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, value) in fields.list("answers")?.unwrap_or_default().iter().enumerate() {
            let place = format!("answers[{index}]");
            let answer = Fields::inside(&place, value)?;
            let when = match answer.get("when") {
                None => Map::new(),
                Some(Value::Object(when)) => when.clone(),
                Some(other) => return Err(answer.wrong("when", "an object", other)),
            };
            let next = sequences.len();
            let at = *places.entry(canonical(&Value::Object(when.clone()))).or_insert(next);
            if at == next {
                sequences.push(Sequence { when, answers: Vec::new(), given: AtomicUsize::new(0) });
            }
            sequences[at].answers.push(Scripted::read(&answer)?);
        }
        Ok(Self(sequences))
    }

    /// What `check` says: a refusal where the next answer is one. It moves nothing on, so that a call that is
    /// only explained leaves the mock as it was.
    pub(super) fn refusal(&self, args: &Value) -> Result<(), Refusal> {
        let next =
            self.fitting(args).and_then(|sequence| sequence.at(sequence.given.load(Ordering::Acquire)));
        next.and_then(Scripted::refusal).map_or(Ok(()), Err)
    }

    /// Answers one call. Where nothing was scripted for it, it is ok and gets its arguments back.
    pub(super) async fn give(&self, cx: &Cx, args: &Value) -> Result<Output, Failure> {
        match self.fitting(args).and_then(Sequence::next) {
            Some(answer) => answer.play(cx, args).await,
            None => Ok(Output::json(args.clone())),
        }
    }

    fn fitting(&self, args: &Value) -> Option<&Sequence> {
        let fields = args.as_object()?;
        self.0.iter().find(|sequence| holds(fields, &sequence.when))
    }
}

impl Sequence {
    fn next(&self) -> Option<&Scripted> {
        self.at(self.given.fetch_add(1, Ordering::AcqRel))
    }

    fn at(&self, given: usize) -> Option<&Scripted> {
        self.answers.get(given).or(self.answers.last())
    }
}

/// True when every field of `wanted` is in `fields` with the same value.
fn holds(fields: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, wanted)| fields.get(key).is_some_and(|value| same(value, wanted)))
}

/// Equal, but that an object may hold more than is wanted and that 1 and 1.0 are one number.
fn same(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => holds(value, wanted),
        (Value::Array(values), Value::Array(wanted)) => {
            values.len() == wanted.len()
                && values.iter().zip(wanted).all(|(value, wanted)| same(value, wanted))
        }
        (Value::Number(value), Value::Number(wanted)) => {
            value == wanted || (value.is_f64() != wanted.is_f64() && value.as_f64() == wanted.as_f64())
        }
        (value, wanted) => value == wanted,
    }
}
