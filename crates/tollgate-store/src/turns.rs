//! What a loop tells the store of its model: what each turn took, and why the run ended; and what it asks on resuming.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tollgate::{Settled, guard::TraceParent, outcome::NotStored, tool::RunId};

use crate::{Entry, Store, StoreError, book::Tally, clean, record};

/// One turn of a model, as the loop counts it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTurn {
    /// The model, as it is named to its provider.
    pub model: String,
    /// Tokens in.
    #[serde(default)]
    pub input_tokens: u64,
    /// Tokens out.
    #[serde(default)]
    pub output_tokens: u64,
    /// What it cost, in millionths of a dollar, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microdollars: Option<u64>,
    /// Why the model stopped, in its provider's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, alias = "took_ms")]
    pub duration_ms: u64,
}

impl Store {
    /// Notes what a model's turn took. Lazily, as reads are.
    pub fn model_turn(&self, run: &RunId, turn: u32, of: &ModelTurn) {
        let mut line = Vec::new();
        record::model(&mut line, turn, of);
        let _ = self.inner.desk.queue.note(run, &line, 1, Tally::default());
    }

    /// Notes why the run ended. Lazily, as reads are.
    pub fn stopped(&self, run: &RunId, reason: &str) {
        let mut line = Vec::new();
        record::stopped(&mut line, &self.redactor.text(reason));
        let _ = self.inner.desk.queue.note(run, &line, 1, Tally::default());
    }

    /// Notes the span of somebody else's trace that this run is a child of. Lazily, as reads are.
    pub fn traced(&self, run: &RunId, under: TraceParent) {
        let mut line = Vec::new();
        record::traced(&mut line, under);
        let _ = self.inner.desk.queue.note(run, &line, 1, Tally::default());
    }

    /// The answer this run's call has in the ledger; `None` while it has none, or where the answer of a read was too
    /// long to be recorded. For a run that goes on after its process ended: what has an answer is not walked again.
    /// Ids repeat from turn to turn, so the turn is part of the question.
    pub fn answer_of(&self, run: &RunId, turn: u32, call: &str) -> Result<Option<Settled>, StoreError> {
        let entries = self.journal(&clean(run.as_str()), 0)?;
        let mut number = None;
        let mut answer = None;
        for line in entries.iter().flat_map(Entry::lines) {
            let this = line.t == Some(turn) && line.c.as_deref() == Some(call);
            match &*line.r {
                "proposed" if this => (number, answer) = (line.i, None),
                "settled" if line.i.is_some() && line.i == number => answer = line.a,
                "call" if line.t == Some(turn) && line.a.is_some_and(|a| is_of(a, call)) => answer = line.a,
                _ => {}
            }
        }
        match answer.map(|answer| Settled::restore(answer.get().as_bytes())) {
            None | Some(Err(NotStored::Unknown("missing output"))) => Ok(None),
            Some(restored) => restored.map(Some).map_err(|error| StoreError::Database(error.to_string())),
        }
    }
}

/// True when the answer is the one of this call.
fn is_of(answer: &RawValue, call: &str) -> bool {
    #[derive(Deserialize)]
    struct Id<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    serde_json::from_str::<Id<'_>>(answer.get()).is_ok_and(|answer| answer.id == call)
}
