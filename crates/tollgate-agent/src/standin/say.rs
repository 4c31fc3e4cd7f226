//! What the stand-in says next: a turn, an error, or bytes as they are.

use serde_json::{Value, json};
use tollgate::wire::Usage;

use super::{Cut, Delivery, render};
use crate::provider::Api;

/// One reply of the stand-in.
#[derive(Debug, Clone)]
pub struct Say {
    pub(super) what: What,
    pub(super) delivery: Delivery,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Turn(Turn),
    Raw { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
}

/// A turn in no provider's form.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// What the model thinks first.
    pub thinking: String,
    /// What it says.
    pub text: String,
    /// Its calls: id, name, arguments as text.
    pub calls: Vec<(String, String, String)>,
    /// The provider's own word for why it stopped; `None` for the usual one.
    pub stop: Option<String>,
    /// What it cost.
    pub usage: Usage,
    /// An error that ends the stream in place of its end: kind and message.
    pub error: Option<(String, String)>,
}

impl Say {
    /// A turn of text.
    pub fn text(text: &str) -> Self {
        Self::turn(Turn {
            text: text.to_owned(),
            usage: Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() },
            ..Turn::default()
        })
    }

    /// A turn.
    pub fn turn(turn: Turn) -> Self {
        Self { what: What::Turn(turn), delivery: Delivery::default() }
    }

    /// A turn of so many calls of one tool: `call_N_1`, `call_N_2` …, with these arguments.
    pub fn calls(prefix: &str, count: usize, name: &str, input: &str) -> Self {
        let calls = (1..=count).map(|at| (format!("{prefix}_{at}"), name.to_owned(), input.to_owned()));
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        Self::turn(Turn { calls: calls.collect(), usage, ..Turn::default() })
    }

    /// A status with an error body in the provider's form.
    pub fn status(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        Self::raw(status, "application/json", body.to_string())
    }

    /// Overload, as Anthropic says it.
    pub fn overloaded() -> Self {
        Self::status(529, "overloaded_error", "Overloaded")
    }

    /// Too many requests, with the time to wait.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::status(429, "rate_limit_error", "Slow down").header("retry-after", retry_after)
    }

    /// A web page.
    pub fn page(status: u16) -> Self {
        Self::raw(status, "text/html", "<!doctype html><html><body>Hello</body></html>".to_owned())
    }

    /// A success with an error in it.
    pub fn error_body(kind: &str, message: &str) -> Self {
        Self::status(200, kind, message)
    }

    /// These bytes.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { what: What::Raw { status, headers, body: body.into() }, delivery: Delivery::default() }
    }

    /// The same, with a header more. Turns have none of their own.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let What::Raw { headers, .. } = &mut self.what {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same, with a call more.
    #[must_use]
    pub fn call(self, id: &str, name: &str, input: &str) -> Self {
        self.changed(|turn| turn.calls.push((id.to_owned(), name.to_owned(), input.to_owned())))
    }

    /// The same, with a call whose arguments are this value.
    #[must_use]
    pub fn call_with(self, id: &str, name: &str, input: &Value) -> Self {
        self.call(id, name, &input.to_string())
    }

    /// The same, after some thinking.
    #[must_use]
    pub fn thinking(self, thinking: &str) -> Self {
        self.changed(|turn| thinking.clone_into(&mut turn.thinking))
    }

    /// The same, stopped for this reason, in the provider's word.
    #[must_use]
    pub fn stop(self, word: &str) -> Self {
        self.changed(|turn| turn.stop = Some(word.to_owned()))
    }

    /// The same, at this cost.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.changed(|turn| turn.usage = usage)
    }

    /// The same, ended by an error in the stream.
    #[must_use]
    pub fn then_error(self, kind: &str, message: &str) -> Self {
        self.changed(|turn| turn.error = Some((kind.to_owned(), message.to_owned())))
    }

    /// The same, delivered like this.
    #[must_use]
    pub fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    /// The same, cut after so many bytes.
    #[must_use]
    pub fn cut(mut self, cut: Cut) -> Self {
        self.delivery.cut = Some(cut);
        self
    }

    /// What it says as the text of a stream; empty where it is no turn.
    pub fn stream_text(&self, api: Api) -> String {
        match &self.what {
            What::Turn(turn) => render::stream(api, turn, &self.delivery),
            What::Raw { .. } => String::new(),
        }
    }

    fn changed(mut self, change: impl FnOnce(&mut Turn)) -> Self {
        if let What::Turn(turn) = &mut self.what {
            change(turn);
        }
        self
    }
}
