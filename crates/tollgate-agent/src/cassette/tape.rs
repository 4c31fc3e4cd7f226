//! The lines of a cassette, read strictly: a line that is not understood is told by its number.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate::wire::{Provider, Usage};

use crate::model::{
    ErrorKind, ModelError,
    written::{End, Written, WrittenCall},
};

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Head {
    pub(super) cassette: u32,
    pub(super) provider: Provider,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
}

/// Every other line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Line {
    User(User),
    Result(ResultLine),
    Assistant(Assistant),
    Fails(Fails),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct User {
    pub(super) user: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultLine {
    pub(super) result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) says: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the fields are the words of the file")]
pub(super) struct Assistant {
    pub(super) assistant: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<CallLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<StopWord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Counts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallLine {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopWord {
    MaxTokens,
    Refusal,
    ContentFilter,
}

/// [`Usage`] with what is zero left out.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the fields are the words of the file")]
pub(super) struct Counts {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_read_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning_tokens: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fails {
    pub(super) fails: String,
    #[serde(default)]
    pub(super) message: String,
}

/// What the model is to be shown, and what it then says.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) expects: Vec<Expected>,
    pub(super) says: Says,
    /// The line of what it says.
    pub(super) line: usize,
}

#[derive(Debug)]
pub(super) enum Expected {
    User { text: String, line: usize },
    Result { result: ResultLine, line: usize },
}

#[derive(Debug)]
pub(super) enum Says {
    Turn { written: Written, usage: Option<Usage> },
    Fails(ModelError),
}

/// Reads a whole cassette.
pub(super) fn read(text: &str) -> Result<(Head, Vec<Exchange>), ModelError> {
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or_else(|| bad(1, "there is nothing in it"))?;
    let head: Head = serde_json::from_str(first).map_err(|error| bad(1, &error.to_string()))?;
    if head.cassette != 1 {
        return Err(bad(1, &format!("it is of version {}, and this program knows version 1", head.cassette)));
    }
    let (mut exchanges, mut expects) = (Vec::new(), Vec::new());
    for (at, line) in lines {
        let says = match parse(line).map_err(|why| bad(at, &why))? {
            Line::User(user) => {
                expects.push(Expected::User { text: user.user, line: at });
                continue;
            }
            Line::Result(result) => {
                expects.push(Expected::Result { result, line: at });
                continue;
            }
            Line::Assistant(turn) => turn.says(),
            Line::Fails(fails) => Says::Fails(fails.error().map_err(|why| bad(at, &why))?),
        };
        exchanges.push(Exchange { expects: std::mem::take(&mut expects), says, line: at });
    }
    match expects.first() {
        None => Ok((head, exchanges)),
        Some(Expected::User { line, .. } | Expected::Result { line, .. }) => {
            Err(bad(*line, "no assistant line comes after it"))
        }
    }
}

fn bad(line: usize, why: &str) -> ModelError {
    ModelError::new(ErrorKind::BadCassette, format!("line {line} of the cassette cannot be used: {why}"))
        .with_hint("put the line right, or record it again with `--record`.")
}

/// One line; an untagged enum would only say that none of its kinds fits.
fn parse(line: &str) -> Result<Line, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let has = |key| value.get(key).is_some();
    let read = match () {
        () if has("user") => User::deserialize(&value).map(Line::User),
        () if has("result") => ResultLine::deserialize(&value).map(Line::Result),
        () if has("assistant") => Assistant::deserialize(&value).map(Line::Assistant),
        () if has("fails") => Fails::deserialize(&value).map(Line::Fails),
        () => return Err("it has none of `user`, `result`, `assistant` and `fails`".to_owned()),
    };
    read.map_err(|error| error.to_string())
}

impl Assistant {
    fn says(self) -> Says {
        let calls = self.calls.into_iter().map(|call| WrittenCall {
            id: call.id,
            name: call.name,
            input: call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned),
        });
        let end = match self.stop {
            None => End::Done,
            Some(StopWord::MaxTokens) => End::MaxTokens,
            Some(StopWord::Refusal) => End::Refusal,
            Some(StopWord::ContentFilter) => End::ContentFilter,
        };
        let written = Written { text: self.assistant, calls: calls.collect(), end };
        Says::Turn { written, usage: self.usage.map(Usage::from) }
    }
}

impl Fails {
    fn error(&self) -> Result<ModelError, String> {
        let kind = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == self.fails);
        let kind = kind.ok_or_else(|| format!("`{}` is no kind of failure", self.fails))?;
        let message = if self.message.is_empty() { "the cassette says so" } else { &self.message };
        Ok(ModelError::new(kind, message))
    }
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        Self {
            input_tokens: counts.input_tokens,
            output_tokens: counts.output_tokens,
            cache_read_tokens: counts.cache_read_tokens,
            cache_write_tokens: counts.cache_write_tokens,
            reasoning_tokens: counts.reasoning_tokens,
        }
    }
}

impl From<Usage> for Counts {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields over by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
