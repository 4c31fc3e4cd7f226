//! Whoever can be asked a question of the model's own.

use tollgate::{BoxFuture, tool::RunId};

/// A person the model may put a question to. Approvals are another matter: those go through the gate.
pub trait Person: Send + Sync + 'static {
    /// Asks and waits for the answer; `None` where nobody is there or will answer.
    fn ask<'a>(&'a self, question: Inquiry<'a>) -> BoxFuture<'a, Option<String>>;
}

/// A question of the model.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Inquiry<'a> {
    /// The run that asks.
    pub run: &'a RunId,
    /// The sub-agent that asks, where it is one.
    pub agent: Option<&'a str>,
    /// The question. The model's words: to be shown as such.
    pub question: &'a str,
    /// Answers to choose from; any other is as good.
    pub choices: &'a [String],
}

impl<'a> Inquiry<'a> {
    pub(crate) fn new(
        run: &'a RunId,
        agent: Option<&'a str>,
        question: &'a str,
        choices: &'a [String],
    ) -> Self {
        Self { run, agent, question, choices }
    }
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPerson;

impl Person for NoPerson {
    fn ask<'a>(&'a self, _: Inquiry<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
