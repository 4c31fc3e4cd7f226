//! A model that says what a cassette has it say, as long as the conversation is the one on it.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

use tollgate::wire::{ModelTurn, Provider, TurnEvent};

use super::{
    Places,
    fit::{came_instead, departure},
    shown::shown,
    tape::{self, Exchange, Says},
};
use crate::model::{ErrorKind, Model, ModelError, Reply, Request, Step};

/// A cassette that is played.
#[derive(Debug)]
pub struct Cassette {
    name: String,
    /// The model it was recorded from.
    model: Option<String>,
    provider: Provider,
    exchanges: Vec<Exchange>,
    /// Which were given.
    given: Mutex<Vec<bool>>,
    places: Places,
}

impl Cassette {
    /// Reads a cassette. What is wrong with it is told with the line's number.
    pub fn open(file: &Path, places: Places) -> Result<Self, ModelError> {
        let name = format!("cassette:{}", file.display());
        let text = std::fs::read_to_string(file).map_err(|error| {
            ModelError::new(
                ErrorKind::BadCassette,
                format!("the cassette {} cannot be read: {error}", file.display()),
            )
            .with_hint("check the path; `--record FILE` makes one.")
        })?;
        Self::read(name, &text, places)
    }

    /// Reads a cassette from its text.
    pub fn read(name: impl Into<String>, text: &str, places: Places) -> Result<Self, ModelError> {
        let (head, exchanges) = tape::read(text)?;
        let given = Mutex::new(vec![false; exchanges.len()]);
        Ok(Self { name: name.into(), model: head.model, provider: head.provider, exchanges, given, places })
    }

    /// How many of its replies were not asked for yet.
    pub fn left(&self) -> usize {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.iter().filter(|given| !**given).count()
    }

    fn play(&self, request: &Request) -> Result<&Exchange, ModelError> {
        let shown = shown(self.provider, &request.messages);
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let mut nearest = None;
        for (exchange, given) in self.exchanges.iter().zip(given.iter_mut()).filter(|(_, given)| !**given) {
            match departure(&exchange.expects, &shown, &self.places) {
                None => {
                    *given = true;
                    return Ok(exchange);
                }
                Some(why) => {
                    nearest.get_or_insert(why);
                }
            }
        }
        let name = &self.name;
        Err(match nearest {
            Some(why) => {
                ModelError::new(ErrorKind::Departed, format!("the conversation departs from {name}: {why}"))
            }
            None => ModelError::new(
                ErrorKind::Departed,
                format!(
                    "{name} has ended after {} replies, and the conversation goes on with {}",
                    self.exchanges.len(),
                    came_instead(&shown)
                ),
            ),
        })
    }

    fn steps(&self, exchange: &Exchange) -> Result<Vec<Step>, ModelError> {
        let (written, usage) = match &exchange.says {
            Says::Fails(error) => return Err(error.clone()),
            Says::Turn { written, usage } => (written, *usage),
        };
        let mut written = written.clone();
        written.text = self.places.put_in(&written.text);
        for call in &mut written.calls {
            call.input = self.places.put_in_json(&call.input);
        }
        let mut turn = written.turn(self.provider).map_err(|error| {
            let why = format!("line {} of {} is no turn: {error}", exchange.line, self.name);
            ModelError::new(ErrorKind::BadCassette, why)
        })?;
        turn.usage = usage;
        Ok(told(turn))
    }
}

/// A turn as a stream tells it: word by word, then its calls.
fn told(turn: ModelTurn) -> Vec<Step> {
    let words = turn.text.split_inclusive(char::is_whitespace);
    let mut steps: Vec<_> = words.map(|word| Step::Event(TurnEvent::TextDelta(word.to_owned()))).collect();
    steps.extend(turn.calls.iter().cloned().map(TurnEvent::CallReady).map(Step::Event));
    steps.extend(turn.usage.map(TurnEvent::Usage).map(Step::Event));
    steps.push(Step::Done(Box::new(turn)));
    steps
}

impl Model for Cassette {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn priced_as(&self) -> &str {
        self.model.as_deref().unwrap_or(&self.name)
    }

    fn ask(&self, request: Request) -> Reply {
        if request.cancel.is_cancelled() {
            return Reply::broken(ModelError::new(ErrorKind::Cancelled, "the request was cancelled"));
        }
        match self.play(&request).and_then(|exchange| self.steps(exchange)) {
            Ok(steps) => Reply::of(steps),
            Err(error) => Reply::broken(error),
        }
    }
}
