//! A model that is asked as before, and whose conversation is written down on the way.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::StreamExt as _;
use serde::Serialize;
use serde_json::Value;
use tollgate::wire::{ModelTurn, Provider, Stop};

use super::{
    Places,
    shown::{Shown, What, shown},
    tape::{Assistant, CallLine, Head, Line, ResultLine, StopWord, User},
};
use crate::model::{Broken, ErrorKind, Model, ModelError, Reply, Request, Step, ToolSearch};

/// A model with a cassette in it. Only turns that were whole are written; what failed and was asked again is not.
///
/// Keys, headers and the system text never get near it. Secrets in what is written are left out, as far as they are
/// known or of a known form; the places that differ between machines are written by their names.
pub struct Recorder {
    model: Arc<dyn Model>,
    tape: Arc<Tape>,
}

struct Tape {
    file: Mutex<File>,
    shown_as: String,
    places: Places,
}

impl Recorder {
    /// Records a model's conversation into a file, which begins anew.
    pub fn new(model: Arc<dyn Model>, file: &Path, places: Places) -> Result<Self, ModelError> {
        let shown_as = file.display().to_string();
        let opened = File::create(file).map_err(|error| failed(&shown_as, &error))?;
        let tape = Tape { file: Mutex::new(opened), shown_as, places };
        let head = Head {
            cassette: 1,
            provider: model.provider(),
            model: Some(model.name().to_owned()),
            about: None,
        };
        tape.write(&[head])?;
        Ok(Self { model, tape: Arc::new(tape) })
    }
}

impl Model for Recorder {
    fn provider(&self) -> Provider {
        self.model.provider()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn priced_as(&self) -> &str {
        self.model.priced_as()
    }

    fn context_window(&self) -> Option<u64> {
        self.model.context_window()
    }

    fn tool_search(&self) -> ToolSearch {
        self.model.tool_search()
    }

    fn ask(&self, request: Request) -> Reply {
        let seen = shown(self.provider(), &request.messages);
        let tape = self.tape.clone();
        Reply::new(self.model.ask(request).map(move |step| match step {
            Step::Done(turn) => match tape.keep(&seen, &turn) {
                Ok(()) => Step::Done(turn),
                // Who asked for a recording shall not find half of one.
                Err(error) => Step::Broken(Broken { error, partial: Some(turn) }),
            },
            step => step,
        }))
    }
}

impl Tape {
    fn keep(&self, seen: &[Shown], turn: &ModelTurn) -> Result<(), ModelError> {
        let mut lines: Vec<_> = seen.iter().map(|shown| self.line(&shown.what)).collect();
        let calls = turn.calls.iter().map(|call| {
            let input = self.places.take_out_json(call.input.as_str());
            let object = serde_json::from_str(&input).ok().filter(Value::is_object);
            CallLine {
                id: call.id.to_string(),
                name: call.name.to_string(),
                input: object.unwrap_or(Value::String(input)),
            }
        });
        let stop = match turn.stop {
            Stop::MaxTokens | Stop::ContextFull => Some(StopWord::MaxTokens),
            Stop::Refusal => Some(StopWord::Refusal),
            Stop::ContentFilter => Some(StopWord::ContentFilter),
            _ => None,
        };
        lines.push(Line::Assistant(Assistant {
            assistant: self.places.take_out(&turn.text),
            calls: calls.collect(),
            stop,
            usage: turn.usage.map(Into::into),
        }));
        self.write(&lines)
    }

    fn line(&self, what: &What) -> Line {
        match what {
            What::User(text) => Line::User(User { user: self.places.take_out(text) }),
            What::Result(answer) => Line::Result(ResultLine {
                result: answer.id.clone(),
                status: Some(answer.status.clone()),
                code: answer.code.clone(),
                says: None,
            }),
        }
    }

    /// Writes lines at once, so that conversations side by side do not mix.
    fn write(&self, lines: &[impl Serialize]) -> Result<(), ModelError> {
        let mut text = String::new();
        for line in lines {
            text.push_str(&serde_json::to_string(line).map_err(|error| failed(&self.shown_as, &error))?);
            text.push('\n');
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(text.as_bytes())
            .and_then(|()| file.flush())
            .map_err(|error| failed(&self.shown_as, &error))
    }
}

fn failed(file: &str, error: &dyn std::error::Error) -> ModelError {
    ModelError::new(ErrorKind::BadCassette, format!("the cassette {file} cannot be written: {error}"))
        .with_hint("choose another file for `--record`, or make room.")
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("file", &self.tape.shown_as).finish_non_exhaustive()
    }
}
