//! One run put together from its records: each call with what was asked, decided, done and answered.

use std::{collections::HashMap, time::Duration};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Entry, Line, ModelTurn};

mod kept;

use kept::{evidence, in_millis, named, step, value};

/// A run, as far as it is recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunTrace {
    /// The run.
    pub run: String,
    /// Its calls, in the order they were proposed.
    pub calls: Vec<CallTrace>,
    /// What concerned a whole turn: batches, and steps that were missed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Value>,
    /// What the model's turns took, as the loop told it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelTrace>,
    /// Questions that waited for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionTrace>,
    /// The span of a larger trace it is a child of (`traceparent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced_under: Option<String>,
    /// Why the run ended, where somebody told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Rows whose records were pruned.
    #[serde(skip_serializing_if = "is_zero")]
    pub pruned: usize,
    /// Records that cannot be read: of what they tell, nothing is here.
    #[serde(skip_serializing_if = "is_zero")]
    pub unreadable: usize,
}

/// One turn of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ModelTrace {
    /// The turn of the run.
    pub turn: u32,
    /// What it took.
    #[serde(flatten)]
    pub of: ModelTurn,
}

/// One question that was parked.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct QuestionTrace {
    /// What it was answered by.
    pub id: String,
    /// The call it is about.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// When it was asked, in milliseconds since 1970.
    pub asked_ms: i64,
    /// When it was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_ms: Option<i64>,
    /// What was said.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub reply: Value,
}

/// One call.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallTrace {
    /// The call's own id.
    pub id: String,
    /// The ledger's number, where it needed a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// The tool.
    pub tool: String,
    /// The turn of the run.
    pub turn: u32,
    /// Its place in the turn.
    pub position: usize,
    /// Who proposed it.
    pub caller: String,
    /// On which route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The span of its caller's that it is a child of (`traceparent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traced_under: Option<String>,
    /// The caller's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The arguments, secrets redacted; a text where they were not accepted.
    pub input: Value,
    /// When it was proposed, in milliseconds since 1970.
    pub proposed_ms: i64,
    /// Who allowed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When its start was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_ms: Option<i64>,
    /// When its end was recorded; `None` while it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_ms: Option<i64>,
    /// From proposal to end.
    #[serde(rename = "duration_ms", serialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The answer, with the names that answers have everywhere.
    pub answer: Value,
    /// The hash of the whole result; of one that was put aside, of what was put aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_ref: Option<String>,
    /// How well what ran was kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// True when its program ended before it did, and recovery wrote the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// When the answer was handed to whoever asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_ms: Option<i64>,
    /// The steps on its way, each as observers are told it, with how long it took (`took_us`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Value>,
}

#[expect(clippy::ref_option, reason = "the shape serde asks for")]
fn millis<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    duration.map(in_millis).serialize(to)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl RunTrace {
    /// Puts a run together from its journal.
    pub fn of(run: &str, entries: &[Entry]) -> Self {
        let mut tree = Self { run: run.to_owned(), ..Self::default() };
        tree.pruned = entries.iter().filter(|entry| entry.pruned).count();
        let mut numbered: HashMap<i64, usize> = HashMap::new();
        for record in entries.iter().flat_map(Entry::records) {
            let Ok(line) = record else {
                tree.unreadable += 1;
                continue;
            };
            match &*line.r {
                "turn" => tree.turns.extend(line.steps.map(value)),
                "steps" => tree.take_steps(&line),
                "delivered" => tree.take_delivery(&line),
                "asked" | "answered" => tree.take_question(&line),
                "traced" => tree.traced_under = line.by.as_deref().map(str::to_owned),
                "stopped" => tree.stopped = line.by.as_deref().map(str::to_owned),
                "model" => {
                    let of = line.steps.and_then(|of| serde_json::from_str(of.get()).ok());
                    tree.models.extend(of.map(|of| ModelTrace { turn: line.t.unwrap_or(0), of }));
                }
                "call" => {
                    let mut call = asked(&line);
                    call.by = line.by.as_deref().map(str::to_owned);
                    end(&mut call, &line);
                    call.proposed_ms = line.at - i64::try_from(line.us.unwrap_or(0) / 1_000).unwrap_or(0);
                    tree.calls.push(call);
                }
                _ => {
                    let Some(number) = line.i else { continue };
                    let at = *numbered.entry(number).or_insert_with(|| {
                        tree.calls.push(CallTrace { number: Some(number), ..asked(&line) });
                        tree.calls.len() - 1
                    });
                    let call = &mut tree.calls[at];
                    match &*line.r {
                        "decided" => call.by = line.by.as_deref().map(str::to_owned),
                        "started" => call.started_ms = Some(line.at),
                        "settled" => end(call, &line),
                        _ => {}
                    }
                }
            }
        }
        tree.calls.sort_by_key(|call| (call.turn, call.position, call.proposed_ms));
        tree
    }

    fn take_steps(&mut self, line: &Line<'_>) {
        let Some(steps) = line.steps.map(value).and_then(|steps| match steps {
            Value::Array(steps) => Some(steps),
            _ => None,
        }) else {
            return;
        };
        // Ids repeat from turn to turn: the earliest call of that id that has none yet. The steps of one whose program
        // ended went with it, and what comes later is another's.
        let id = line.c.as_deref().unwrap_or_default();
        let lacks = |call: &&mut CallTrace| call.id == id && call.steps.is_empty() && !call.recovered;
        if let Some(call) = self.calls.iter_mut().find(lacks) {
            call.steps = steps.into_iter().map(step).collect();
        }
    }

    fn take_question(&mut self, line: &Line<'_>) {
        let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
        let id = text(&line.q);
        if line.r == "asked" {
            let (call, tool) = (text(&line.c), text(&line.tool));
            let asked_ms = line.at;
            self.questions.push(QuestionTrace { id, call, tool, asked_ms, ..QuestionTrace::default() });
        } else if let Some(asked) = self.questions.iter_mut().rfind(|asked| asked.id == id) {
            asked.answered_ms = Some(line.at);
            asked.reply = line.steps.map(value).unwrap_or_default();
        }
    }

    fn take_delivery(&mut self, line: &Line<'_>) {
        let ids: Vec<String> =
            line.steps.and_then(|ids| serde_json::from_str(ids.get()).ok()).unwrap_or_default();
        for call in &mut self.calls {
            if Some(call.turn) == line.t && call.delivered_ms.is_none() && ids.contains(&call.id) {
                call.delivered_ms = Some(line.at);
            }
        }
    }
}

impl CallTrace {
    /// The word its answer begins with; `open` while it has none.
    pub fn status(&self) -> &str {
        self.answer["status"].as_str().unwrap_or("open")
    }
}

fn asked(line: &Line<'_>) -> CallTrace {
    let text = |text: &Option<std::borrow::Cow<'_, str>>| text.as_deref().map(str::to_owned);
    CallTrace {
        id: text(&line.c).unwrap_or_default(),
        tool: text(&line.tool).unwrap_or_default(),
        turn: line.t.unwrap_or(0),
        position: line.p.unwrap_or(0),
        caller: text(&line.who).unwrap_or_else(|| "main".to_owned()),
        route: text(&line.route),
        traced_under: text(&line.parent),
        key: text(&line.key),
        input: line.input.map(value).or_else(|| text(&line.text).map(Value::String)).unwrap_or_default(),
        proposed_ms: line.at,
        ..CallTrace::default()
    }
}

fn end(call: &mut CallTrace, line: &Line<'_>) {
    call.settled_ms = Some(line.at);
    call.duration = line.us.map(Duration::from_micros);
    call.recovered = line.recovered;
    call.sandbox = line.sandbox.as_deref().map(str::to_owned);
    call.evidence_ref = line.a.and_then(evidence);
    call.answer = line.a.map(|answer| named(value(answer), call)).unwrap_or_default();
    let name = |field: &str| call.answer[field].as_str().unwrap_or_default().to_owned();
    if call.id.is_empty() {
        call.id = name("id");
    }
    if call.tool.is_empty() {
        call.tool = name("tool");
    }
}
