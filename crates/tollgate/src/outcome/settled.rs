//! The one answer of a call: its status and everything that travels with it.

use std::{
    fmt,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Serialize, Serializer, ser::SerializeMap};
use sha2::{Digest as _, Sha256};

use super::{Failure, FailureKind, Item, Offloaded, Output, Refusal, Trust};
use crate::tool::CallId;

/// What a call ended as. There is exactly one for every proposed call.
///
/// One pointer wide; read through its [`Answer`].
#[derive(Debug, Clone)]
#[must_use = "every call is answered: hand this to the model"]
pub struct Settled(Box<Answer>);

/// Everything that travels with the one answer of a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Answer {
    /// The call's own id.
    pub id: CallId,
    /// The tool as resolved, or the name as proposed where nothing was.
    pub tool: Arc<str>,
    /// How it ended.
    pub outcome: Outcome,
    /// The phase it ended in.
    pub phase: Phase,
    /// From proposal to answer; zero in an answer that was read back.
    pub duration: Duration,
    /// True when it ran in a batch with others.
    pub was_concurrent: bool,
    /// How often the body was tried; 0 when it never started.
    pub attempts: u32,
    /// True when the answer is one that was given before under the same key.
    pub replayed: bool,
    /// Whether the content may be taken at its word.
    pub trust: Trust,
    /// Where the whole of an oversized result is.
    pub offloaded: Option<Box<Offloaded>>,
    /// What hooks want the model to know.
    pub context: Vec<String>,
    pub(crate) evidence: OnceLock<Evidence>,
}

/// How a call ended, with what there is to say.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It ran and succeeded.
    Ok(Output),
    /// It was stopped before it ran.
    Refused(Refusal),
    /// It ran, or began to, and failed; the kind says whether a retry is safe.
    Failed(Failure),
}

/// The five words a result begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Ran and succeeded.
    Ok,
    /// Stopped before execution.
    Refused,
    /// Failed with no effect.
    RetryableError,
    /// Failed; a retry will not help.
    FatalError,
    /// Started; nobody knows whether it took effect.
    Unknown,
}

/// The phases of the path, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// 0: name to tool.
    Resolve,
    /// 1: text to typed arguments.
    Validate,
    /// 2: what is forbidden, and the tool's own rules.
    Check,
    /// 3: hooks before.
    Before,
    /// 4: admission, policy, a person.
    Permit,
    /// 5: the body.
    Execute,
    /// 6: hooks after.
    After,
    /// The record.
    Settle,
}

/// A content hash of what the call answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Evidence(Arc<str>);

impl Evidence {
    /// `sha256:` and 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("sha256:{}", hex(&Sha256::digest(bytes))).into())
    }
}

/// Bytes as hexadecimal digits, small letters.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    let mut text = String::with_capacity(bytes.len() * 2);
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text
}

impl Settled {
    /// The answer of a call whose task went away with its runtime.
    pub(crate) fn vanished(id: CallId) -> Self {
        let failure = Failure::unknown("The call was stopped together with the program that ran it.");
        Self::new(Answer {
            id,
            tool: "".into(),
            outcome: Outcome::Failed(failure),
            phase: Phase::Execute,
            duration: Duration::ZERO,
            was_concurrent: true,
            attempts: 1,
            replayed: false,
            trust: Trust::TrustedSystem,
            offloaded: None,
            context: Vec::new(),
            evidence: OnceLock::new(),
        })
    }

    /// The answer of a call that nobody saw the end of: it may have taken effect, or not. For whoever takes up a
    /// conversation that was broken off.
    pub fn lost(id: CallId, tool: impl Into<Arc<str>>, reason: impl Into<String>) -> Self {
        let failure = Failure::unknown(reason)
            .with_hint("Find out whether it took effect before you do anything like it again.");
        let mut settled = Self::vanished(id);
        settled.tool = tool.into();
        settled.outcome = Outcome::Failed(failure);
        settled.was_concurrent = false;
        settled
    }

    /// The answer of a call that was never run, for a reason that its turn does not show.
    pub fn never_ran(id: CallId, tool: impl Into<Arc<str>>, refusal: Refusal) -> Self {
        let mut settled = Self::vanished(id);
        settled.tool = tool.into();
        settled.outcome = Outcome::Refused(refusal);
        settled.phase = Phase::Resolve;
        settled.was_concurrent = false;
        settled.attempts = 0;
        settled
    }

    pub(crate) fn new(answer: Answer) -> Self {
        Self(Box::new(answer))
    }

    /// The same, put together where it stays.
    pub(crate) fn within(room: Box<MaybeUninit<Answer>>, answer: Answer) -> Self {
        Self(Box::write(room, answer))
    }

    pub(crate) fn into_answer(self) -> Answer {
        *self.0
    }

    /// Says what another answer says, because others were told that one already.
    pub(crate) fn give_way_to(&mut self, counts: Self) {
        let Answer { outcome, trust, offloaded, .. } = counts.into_answer();
        self.trust = self.trust.worse(trust);
        (self.outcome, self.offloaded, self.evidence) = (outcome, offloaded, OnceLock::new());
    }

    /// The status word.
    pub fn status(&self) -> Status {
        self.outcome.status()
    }

    /// About how many bytes it takes to hold this answer.
    pub(crate) fn weight(&self) -> usize {
        const FRAME: usize = 256;
        let said = match &self.outcome {
            Outcome::Ok(output) => output.items.iter().map(Item::weight).sum(),
            Outcome::Refused(refusal) => refusal.reason.len(),
            Outcome::Failed(failure) => failure.message.len(),
        };
        FRAME + said + self.context.iter().map(String::len).sum::<usize>()
    }

    /// The content hash of the whole answer, computed when first asked for.
    pub fn evidence_ref(&self) -> &Evidence {
        self.evidence.get_or_init(|| Evidence::of(&self.outcome.bytes()))
    }

    /// The output, when it ended well.
    pub fn output(&self) -> Option<&Output> {
        match &self.outcome {
            Outcome::Ok(output) => Some(output),
            _ => None,
        }
    }

    /// The refusal, when it was stopped before it ran.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.outcome {
            Outcome::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The failure, when it started and did not succeed.
    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

impl Deref for Settled {
    type Target = Answer;

    fn deref(&self) -> &Answer {
        &self.0
    }
}

impl DerefMut for Settled {
    fn deref_mut(&mut self) -> &mut Answer {
        &mut self.0
    }
}

impl Outcome {
    /// The status word.
    pub fn status(&self) -> Status {
        match self {
            Self::Ok(_) => Status::Ok,
            Self::Refused(_) => Status::Refused,
            Self::Failed(failure) => match failure.kind {
                FailureKind::Retryable => Status::RetryableError,
                FailureKind::Fatal => Status::FatalError,
                FailureKind::Unknown => Status::Unknown,
            },
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Ok(output) => match &output.items[..] {
                [Item::Text { text }] => text.clone().into_bytes(),
                items => serde_json::to_vec(items).unwrap_or_default(),
            },
            Self::Refused(refusal) => serde_json::to_vec(refusal).unwrap_or_default(),
            Self::Failed(failure) => failure.message.clone().into_bytes(),
        }
    }
}

impl Phase {
    /// The phase as people read it: `4 permit`.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Resolve => "0 resolve",
            Self::Validate => "1 validate",
            Self::Check => "2 check",
            Self::Before => "3 before",
            Self::Permit => "4 permit",
            Self::Execute => "5 execute",
            Self::After => "6 after",
            Self::Settle => "settle",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::RetryableError => "retryable_error",
            Self::FatalError => "fatal_error",
            Self::Unknown => "unknown",
        })
    }
}

/// The plain result form: status first, then what belongs to it, then what travels with every result.
impl Serialize for Settled {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("status", &self.status())?;
        match &self.outcome {
            Outcome::Ok(output) => map.serialize_entry("output", &output)?,
            Outcome::Refused(refusal) => {
                map.serialize_entry("phase", &self.phase)?;
                map.serialize_entry("code", &refusal.code)?;
                map.serialize_entry("reason", &refusal.reason)?;
                entry(&mut map, "hint", refusal.hint.as_ref())?;
                entry(&mut map, "rule", refusal.rule.as_ref())?;
                entry(&mut map, "retry_after_ms", refusal.retry_after_ms)?;
                entry(&mut map, "digest", refusal.digest.as_ref())?;
                if !refusal.violations.is_empty() {
                    map.serialize_entry("violations", &refusal.violations)?;
                }
            }
            Outcome::Failed(failure) => {
                map.serialize_entry("reason", &failure.message)?;
                entry(&mut map, "hint", failure.hint.as_ref())?;
                entry(&mut map, "retry_after_ms", failure.retry_after.map(|wait| wait.as_millis()))?;
            }
        }
        map.serialize_entry("duration_ms", &self.duration.div_duration_f64(Duration::from_millis(1)))?;
        map.serialize_entry("was_concurrent", &self.was_concurrent)?;
        map.serialize_entry("attempts", &self.attempts)?;
        map.serialize_entry("trust", &self.trust)?;
        map.serialize_entry("evidence_ref", self.evidence_ref())?;
        if self.replayed {
            map.serialize_entry("replayed", &true)?;
        }
        entry(&mut map, "offloaded", self.offloaded.as_ref())?;
        if !self.context.is_empty() {
            map.serialize_entry("context", &self.context)?;
        }
        map.end()
    }
}

fn entry<M: SerializeMap, T: Serialize>(map: &mut M, key: &str, value: Option<T>) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, &value))
}
