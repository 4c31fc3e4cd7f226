//! One scripted answer: how long it takes, what it says meanwhile, and how it ends.

use std::time::Duration;

use serde_json::Value;

use super::{Why, fields::Fields};
use crate::{
    outcome::{Failure, FailureKind, Item, Output, Refusal},
    tool::Cx,
};

/// What one call of a mock does.
pub(super) struct Scripted {
    delay: Duration,
    progress: Vec<(f64, String)>,
    ending: Ending,
}

enum Ending {
    Echo,
    Output(Output),
    Failure(Failure),
    Refusal(Refusal),
    Panic(String),
    Hang,
}

/// The keys that say how a call ends. An answer has one of them, or none and echoes.
const ENDINGS: [&str; 9] =
    ["ok", "text", "error", "fatal", "retryable", "unknown", "refuse", "panic", "hang"];
const OTHERS: [&str; 3] = ["when", "delay_ms", "progress"];

impl Scripted {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, Why> {
        let mut progress = Vec::new();
        for step in fields.list("progress")?.unwrap_or_default() {
            let step = Fields::inside("progress", step)?;
            let message = step.text("message")?.unwrap_or_default();
            progress.push((step.fraction("fraction")?.unwrap_or(0.0), message.to_owned()));
        }
        Ok(Self {
            delay: fields.millis("delay_ms")?.unwrap_or_default(),
            progress,
            ending: Ending::read(fields)?,
        })
    }

    pub(super) fn refusal(&self) -> Option<Refusal> {
        match &self.ending {
            Ending::Refusal(refusal) => Some(refusal.clone()),
            _ => None,
        }
    }

    /// Plays the answer. The delay is spread over the steps of progress, so that each is a sign of life.
    pub(super) async fn play(&self, cx: &Cx, args: &Value) -> Result<Output, Failure> {
        let steps = u32::try_from(self.progress.len()).unwrap_or(u32::MAX).max(1);
        let pause = self.delay / steps;
        for (fraction, message) in &self.progress {
            cx.progress(*fraction, message.clone());
            sleep(pause).await;
        }
        if self.progress.is_empty() {
            sleep(pause).await;
        }
        match &self.ending {
            Ending::Echo => Ok(Output::json(args.clone())),
            Ending::Output(output) => Ok(output.clone()),
            Ending::Failure(failure) => Err(failure.clone()),
            // Only where another call has moved the answers on since this one was checked.
            Ending::Refusal(refusal) => Err(Failure::fatal(refusal.reason.clone())),
            #[expect(clippy::panic, reason = "this answer is there to show what a panic comes to")]
            Ending::Panic(words) => std::panic::panic_any(words.clone()),
            Ending::Hang => std::future::pending().await,
        }
    }
}

async fn sleep(pause: Duration) {
    if !pause.is_zero() {
        tokio::time::sleep(pause).await;
    }
}

impl Ending {
    fn read(fields: &Fields<'_>) -> Result<Self, Why> {
        let is_given = |key: &&&str| match fields.get(key) {
            Some(Value::Bool(false)) => !matches!(**key, "panic" | "hang"),
            // `null` is a JSON value that a call may well answer.
            None => **key == "ok" && fields.keys().any(|key| key == "ok"),
            Some(_) => true,
        };
        let given: Vec<_> = ENDINGS.iter().filter(is_given).collect();
        let key = match given[..] {
            [key] => *key,
            [] => return Self::nothing_said(fields),
            [first, second, ..] => {
                return Err(fields.needs(&format!("a single end: it says both `{first}` and `{second}`")));
            }
        };
        let value = fields.get(key).unwrap_or(&Value::Null);
        let failure = |kind| failure(kind, key, value, fields).map(Self::Failure);
        match key {
            "ok" => Ok(Self::Output(output(value))),
            "text" => Ok(Self::Output(Output::text(fields.text(key)?.unwrap_or_default()))),
            "error" | "fatal" => failure(FailureKind::Fatal),
            "retryable" => failure(FailureKind::Retryable),
            "unknown" => failure(FailureKind::Unknown),
            "refuse" => refusal(value, fields).map(Self::Refusal),
            "panic" => Ok(Self::Panic(value.as_str().unwrap_or("a mock that panics").to_owned())),
            _ => Ok(Self::Hang),
        }
    }

    /// An answer without an end echoes, unless it has keys of which one was surely meant to be the end.
    fn nothing_said(fields: &Fields<'_>) -> Result<Self, Why> {
        let known = |key: &&str| ENDINGS.contains(key) || OTHERS.contains(key);
        match fields.keys().find(|key| !known(key)) {
            None => Ok(Self::Echo),
            Some(odd) => {
                let odd = crate::json::shorten(odd, 40);
                Err(fields.needs(&format!("an end: {odd:?} is none of {}", ENDINGS.join(", "))))
            }
        }
    }
}

/// A text is a text item, `{"items": […]}` the items it lists, anything else one JSON item.
fn output(value: &Value) -> Output {
    if let Value::String(text) = value {
        return Output::text(text);
    }
    let listed = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.get("items"));
    match listed.and_then(|items| serde_json::from_value::<Vec<Item>>(items.clone()).ok()) {
        Some(items) => items.into_iter().fold(Output::default(), Output::and),
        None => Output::json(value.clone()),
    }
}

/// A text, or `{"message", "hint"?, "retry_after_ms"?}`.
fn failure(kind: FailureKind, key: &str, value: &Value, fields: &Fields<'_>) -> Result<Failure, Why> {
    let make = match kind {
        FailureKind::Retryable => Failure::retryable,
        FailureKind::Fatal => Failure::fatal,
        FailureKind::Unknown => Failure::unknown,
    };
    match value {
        Value::String(message) => Ok(make(message.as_str())),
        Value::Object(_) => {
            let said = Fields::inside(key, value)?;
            let mut failure = make(said.text("message")?.ok_or_else(|| said.needs("`message`"))?);
            failure.hint = said.text("hint")?.map(str::to_owned);
            failure.retry_after = said.millis("retry_after_ms")?;
            Ok(failure)
        }
        other => Err(fields.wrong(key, "a text or an object with a `message`", other)),
    }
}

/// A text, or `{"pointer"?, "message"}`.
fn refusal(value: &Value, fields: &Fields<'_>) -> Result<Refusal, Why> {
    match value {
        Value::String(message) => Ok(Refusal::invalid_value("", message)),
        Value::Object(_) => {
            let said = Fields::inside("refuse", value)?;
            let message = said.text("message")?.ok_or_else(|| said.needs("`message`"))?;
            Ok(Refusal::invalid_value(said.pointer("pointer")?.unwrap_or_default(), message))
        }
        other => Err(fields.wrong("refuse", "a text or an object with a `message`", other)),
    }
}
