//! A model that answers what it was told to: for tests of whatever asks one.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tollgate::wire::{Provider, TurnEvent, read_turn};

use super::{Broken, ErrorKind, Model, ModelError, Reply, Request, Step, ToolSearch};

/// A model whose replies are given beforehand, and which remembers what it was asked.
///
/// Clones share their replies and their memory.
#[derive(Debug, Clone)]
pub struct Scripted {
    provider: Provider,
    replies: Arc<Mutex<VecDeque<Vec<Step>>>>,
    asked: Arc<Mutex<Vec<Request>>>,
    /// How many tokens it claims to take.
    pub window: Option<u64>,
}

impl Scripted {
    /// A model of this provider's format that has nothing to say yet.
    pub fn new(provider: Provider) -> Self {
        Self { provider, replies: Arc::default(), asked: Arc::default(), window: None }
    }

    /// The next reply is this response body, told as a stream would tell it.
    ///
    /// # Panics
    /// Where the body is no turn of the provider.
    #[must_use]
    #[expect(clippy::panic, reason = "a mistake in a test shows in the test")]
    pub fn says(self, body: &str) -> Self {
        let turn = match read_turn(self.provider, body.as_bytes()) {
            Ok(turn) => turn,
            Err(error) => panic!("not a turn of {}: {error}", self.provider),
        };
        let text = Some(turn.text.clone()).filter(|text| !text.is_empty()).map(TurnEvent::TextDelta);
        let calls = turn.calls.iter().cloned().map(TurnEvent::CallReady);
        let mut steps: Vec<_> = text.into_iter().chain(calls).map(Step::Event).collect();
        steps.push(Step::Done(Box::new(turn)));
        self.answers(steps)
    }

    /// The next reply fails.
    #[must_use]
    pub fn fails(self, error: ModelError) -> Self {
        self.answers(vec![Step::Broken(Broken { error, partial: None })])
    }

    /// The next reply is these steps.
    #[must_use]
    pub fn answers(self, steps: Vec<Step>) -> Self {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).push_back(steps);
        self
    }

    /// What it was asked, in order.
    pub fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for Scripted {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn name(&self) -> &'static str {
        "scripted"
    }

    fn context_window(&self) -> Option<u64> {
        self.window
    }

    fn tool_search(&self) -> ToolSearch {
        ToolSearch::Ours
    }

    fn ask(&self, request: Request) -> Reply {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        match self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            Some(steps) => Reply::of(steps),
            None => Reply::broken(ModelError::new(ErrorKind::Departed, "the script has no further reply")),
        }
    }
}
