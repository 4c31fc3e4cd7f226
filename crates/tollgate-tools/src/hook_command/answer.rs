//! What a command hook says, understood strictly: what is not exactly an answer is a failure with its reason.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tollgate::{
    Output,
    hook::{After, Before},
    outcome::Item,
};

use super::config::{Answers, LONGEST_CACHE_MS, On};
use crate::process::{Captured, Ended, How};

/// What a hook said.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Before(Before),
    After(After),
}

/// An answer, and how long the hook lets it be used again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answered {
    pub(super) said: Said,
    pub(super) cache: Option<Duration>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    decision: Decision,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default, deserialize_with = "given")]
    input: Option<Value>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default, deserialize_with = "given")]
    output: Option<Value>,
    #[serde(default)]
    cache_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    Pass,
    Block,
    Rewrite,
}

// A null that was written is something else than nothing.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The exit code that blocks.
const BLOCKS: i32 = 2;

/// As much of a hook's complaint as is passed on.
const LONGEST_REASON: usize = 2_000;

/// Understands how a hook ended and what it said; `Err` says why that is no answer.
pub(super) fn understand(ended: &Ended, on: On, answers: Answers) -> Result<Answered, String> {
    match (ended.how, answers) {
        (How::Code(0), Answers::ExitCode) => Ok(Answered { said: passes(on), cache: None }),
        (How::Code(0), Answers::Json) => spoken(&ended.stdout, on),
        (How::Code(BLOCKS), _) => match on {
            On::Before => {
                Ok(Answered { said: Said::Before(Before::Block(complaint(&ended.stderr))), cache: None })
            }
            On::After => Err(format!("it exited with 2 after the call: {}", complaint(&ended.stderr))),
        },
        (How::Code(code), _) => Err(with_complaint(format!("it exited with {code}"), &ended.stderr)),
        (How::Signal(signal), _) => {
            Err(with_complaint(format!("it was killed by signal {signal}"), &ended.stderr))
        }
        (How::Late(limit), _) => Err(format!("it did not answer within {} ms", limit.as_millis())),
        (How::Cancelled | How::Unseen, _) => Err("it was stopped".to_owned()),
    }
}

fn passes(on: On) -> Said {
    match on {
        On::Before => Said::Before(Before::Pass),
        On::After => Said::After(After::Keep),
    }
}

fn spoken(stdout: &Captured, on: On) -> Result<Answered, String> {
    let Some(bytes) = stdout.whole() else {
        return Err(format!("it answered with {} bytes, more than an answer may have", stdout.total()));
    };
    if bytes.trim_ascii().is_empty() {
        return Err("it ended well but said nothing, and silence is no answer".to_owned());
    }
    let answer: Answer =
        serde_json::from_slice(&bytes).map_err(|error| format!("what it said is no answer: {error}"))?;
    let cache = answer.cache_ms.map(|asked| Duration::from_millis(asked.min(LONGEST_CACHE_MS)));
    let said = match on {
        On::Before => answer.before().map(Said::Before)?,
        On::After => answer.after().map(Said::After)?,
    };
    Ok(Answered { said, cache })
}

impl Answer {
    fn before(self) -> Result<Before, String> {
        let Self { decision, reason, input, context, output, .. } = self;
        if output.is_some() {
            return Err("it gave an output before the call has one".to_owned());
        }
        match (decision, input, context) {
            (Decision::Pass, None, None) => Ok(Before::Pass),
            (Decision::Pass, None, Some(context)) => Ok(Before::Context(context)),
            (Decision::Block, None, _) => Ok(Before::Block(reason.unwrap_or_else(|| NO_REASON.to_owned()))),
            (Decision::Rewrite, Some(input), None) => Ok(Before::Rewrite(input)),
            (Decision::Rewrite, Some(input), Some(context)) => Ok(Before::RewriteWith(input, context)),
            (Decision::Rewrite, None, _) => Err("it wants to rewrite and gave no input".to_owned()),
            (Decision::Pass | Decision::Block, Some(_), _) => {
                Err("it gave an input without the decision to rewrite".to_owned())
            }
        }
    }

    fn after(self) -> Result<After, String> {
        let Self { decision, input, context, output, .. } = self;
        if decision != Decision::Pass || input.is_some() {
            return Err("after a call there is only `pass`, with or without an output".to_owned());
        }
        match (output.map(items).transpose()?, context) {
            (None, None) => Ok(After::Keep),
            (None, Some(context)) => Ok(After::Context(context)),
            (Some(output), None) => Ok(After::Replace(output)),
            (Some(output), Some(context)) => Ok(After::ReplaceWith(output, context)),
        }
    }
}

const NO_REASON: &str = "it gave no reason";

/// A text, or a list of items in the form the hook was shown them.
fn items(output: Value) -> Result<Output, String> {
    match output {
        Value::String(text) => Ok(Output::text(text)),
        Value::Array(_) => {
            let items: Vec<Item> = serde_json::from_value(output)
                .map_err(|error| format!("its output is no list of items: {error}"))?;
            Ok(items.into_iter().fold(Output::default(), Output::and))
        }
        _ => Err("its output is neither a text nor a list of items".to_owned()),
    }
}

fn complaint(stderr: &Captured) -> String {
    let text = stderr.text();
    let text = text.trim();
    if text.is_empty() {
        return NO_REASON.to_owned();
    }
    match text.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{} [{} bytes left out]", &text[..end], text.len() - end),
        None => text.to_owned(),
    }
}

fn with_complaint(what: String, stderr: &Captured) -> String {
    match complaint(stderr) {
        none if none == NO_REASON => what,
        words => format!("{what}: {words}"),
    }
}
