//! An answer as a ledger keeps it: everything that is needed to give the same answer again, byte for byte.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Answer, Failure, FailureKind, Item, Offloaded, Outcome, Output, Phase, Redactor, Refusal, RefusalCode,
    Settled, Status, Trust, Violation,
};
use crate::tool::CallId;

/// The stored form. Its JSON is read back by every later version of this crate.
#[derive(Debug, Serialize, Deserialize)]
struct Stored<'a> {
    id: Cow<'a, str>,
    tool: Cow<'a, str>,
    status: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Cow<'a, [Item]>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    untrusted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "none")]
    violations: Cow<'a, [Violation]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    attempts: u32,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_concurrent: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trust: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offloaded: Option<Cow<'a, Offloaded>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    context: Cow<'a, [String]>,
}

/// Why kept bytes are not an answer.
#[derive(Debug, thiserror::Error)]
pub enum NotStored {
    /// Not the JSON of one.
    #[error("what is kept is not an answer: {0}")]
    Json(#[from] serde_json::Error),
    /// A status or code of a newer version.
    #[error("what is kept has a {0} this program does not know")]
    Unknown(&'static str),
}

impl Settled {
    /// Writes the stored form. With `most`, an output of more characters is left out: its hash still tells it.
    pub fn store(&self, out: &mut Vec<u8>, most: Option<usize>) -> Result<(), NotStored> {
        Ok(serde_json::to_writer(out, &self.stored(most))?)
    }

    /// The same without secrets in a refusal, which quotes what was asked for and so may hold one that no tool gave.
    pub fn store_redacted(
        &self,
        out: &mut Vec<u8>,
        most: Option<usize>,
        redactor: &Redactor,
    ) -> Result<(), NotStored> {
        let mut stored = self.stored(most);
        if self.refusal().is_some() {
            stored.redact(redactor);
        }
        Ok(serde_json::to_writer(out, &stored)?)
    }

    fn stored(&self, most: Option<usize>) -> Stored<'_> {
        let mut stored = Stored {
            id: self.id.as_str().into(),
            tool: (&*self.tool).into(),
            status: status_word(self.status()).into(),
            output: None,
            untrusted: false,
            code: None,
            phase: None,
            reason: None,
            hint: None,
            violations: Cow::Borrowed(&[]),
            rule: None,
            retry_after_ms: None,
            attempts: self.attempts,
            was_concurrent: self.was_concurrent,
            replayed: self.replayed,
            trust: (self.trust == Trust::UntrustedContent).then_some("untrusted_content".into()),
            offloaded: self.offloaded.as_deref().map(Cow::Borrowed),
            context: Cow::Borrowed(&self.context),
        };
        match &self.outcome {
            Outcome::Ok(output) => {
                let fits = most.is_none_or(|most| !super::exceeds(output, most) && no_picture(output));
                stored.output = fits.then_some(Cow::Borrowed(&output.items));
                stored.untrusted = output.untrusted;
            }
            Outcome::Refused(refusal) => {
                stored.code = Some(refusal.code.as_str().into());
                stored.phase = Some(self.phase.title().into());
                stored.reason = Some((&*refusal.reason).into());
                stored.hint = refusal.hint.as_deref().map(Cow::Borrowed);
                stored.violations = Cow::Borrowed(&refusal.violations);
                stored.rule = refusal.rule.as_ref().map(|rule| Cow::Borrowed(&*rule.text));
                stored.retry_after_ms = refusal.retry_after_ms;
            }
            Outcome::Failed(failure) => {
                stored.untrusted = failure.untrusted;
                stored.reason = Some((&*failure.message).into());
                stored.hint = failure.hint.as_deref().map(Cow::Borrowed);
                stored.retry_after_ms =
                    failure.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            }
        }
        stored
    }

    /// Reads the stored form.
    pub fn restore(stored: &[u8]) -> Result<Self, NotStored> {
        let stored: Stored<'_> = serde_json::from_slice(stored)?;
        let reason = stored.reason.as_deref().unwrap_or_default();
        let failed = |kind| Outcome::Failed(failure(kind, reason, &stored));
        let outcome = match &*stored.status {
            "ok" => {
                let items = stored.output.clone().ok_or(NotStored::Unknown("missing output"))?.into_owned();
                Outcome::Ok(Output { items, untrusted: stored.untrusted })
            }
            "refused" => Outcome::Refused(refusal(reason, &stored)?),
            "retryable_error" => failed(FailureKind::Retryable),
            "fatal_error" => failed(FailureKind::Fatal),
            "unknown" => failed(FailureKind::Unknown),
            _ => return Err(NotStored::Unknown("status")),
        };
        Ok(Self::new(Answer {
            id: CallId::new(&stored.id),
            tool: Arc::from(&*stored.tool),
            outcome,
            phase: phase(stored.phase.as_deref()),
            duration: Duration::ZERO,
            was_concurrent: stored.was_concurrent,
            attempts: stored.attempts,
            replayed: stored.replayed,
            trust: if stored.trust.is_some() { Trust::UntrustedContent } else { Trust::TrustedSystem },
            offloaded: stored.offloaded.map(|offloaded| Box::new(offloaded.into_owned())),
            context: stored.context.into_owned(),
            evidence: OnceLock::new(),
        }))
    }
}

impl Stored<'_> {
    /// Each text for itself: what is found in one never reaches into the next, nor into the form around them.
    fn redact(&mut self, redactor: &Redactor) {
        let clean = |text: &mut Cow<'_, str>| {
            if let Cow::Owned(clean) = redactor.text(text) {
                *text = clean.into();
            }
        };
        clean(&mut self.tool);
        [&mut self.reason, &mut self.hint, &mut self.rule].into_iter().flatten().for_each(clean);
        if self.context.iter().any(|words| matches!(redactor.text(words), Cow::Owned(_))) {
            self.context.to_mut().iter_mut().for_each(|words| redactor.in_place(words));
        }
        let found = |violation: &Violation| {
            let texts = [Some(&violation.pointer), Some(&violation.message), violation.did_you_mean.as_ref()];
            texts.into_iter().flatten().any(|text| matches!(redactor.text(text), Cow::Owned(_)))
        };
        if self.violations.iter().any(found) {
            for violation in self.violations.to_mut() {
                redactor.in_place(&mut violation.pointer);
                redactor.in_place(&mut violation.message);
                violation.did_you_mean.iter_mut().for_each(|name| redactor.in_place(name));
            }
        }
    }
}

fn failure(kind: FailureKind, reason: &str, stored: &Stored<'_>) -> Failure {
    let mut failure = match kind {
        FailureKind::Retryable => Failure::retryable(reason),
        FailureKind::Fatal => Failure::fatal(reason),
        FailureKind::Unknown => Failure::unknown(reason),
    };
    failure.untrusted = stored.untrusted;
    failure.hint = stored.hint.as_deref().map(str::to_owned);
    failure.retry_after = stored.retry_after_ms.map(Duration::from_millis);
    failure
}

fn refusal(reason: &str, stored: &Stored<'_>) -> Result<Refusal, NotStored> {
    let code = stored.code.as_deref().unwrap_or_default();
    let code = RefusalCode::ALL.iter().find(|known| known.as_str() == code);
    let mut refusal = Refusal::new(*code.ok_or(NotStored::Unknown("refusal code"))?, reason);
    refusal.hint = stored.hint.as_deref().map(str::to_owned);
    refusal.violations = stored.violations.to_vec();
    refusal.retry_after_ms = stored.retry_after_ms;
    Ok(refusal)
}

fn phase(title: Option<&str>) -> Phase {
    const EARLY: [Phase; 5] = [Phase::Resolve, Phase::Validate, Phase::Check, Phase::Before, Phase::Permit];
    EARLY.into_iter().find(|phase| Some(phase.title()) == title).unwrap_or(Phase::Execute)
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Refused => "refused",
        Status::RetryableError => "retryable_error",
        Status::FatalError => "fatal_error",
        Status::Unknown => "unknown",
    }
}

fn no_picture(output: &Output) -> bool {
    !output.items.iter().any(|item| matches!(item, Item::Image { .. }))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::ptr_arg, reason = "the shape serde asks for")]
fn is_empty(list: &Cow<'_, [String]>) -> bool {
    list.is_empty()
}

#[expect(clippy::ptr_arg, reason = "the shape serde asks for")]
fn none(list: &Cow<'_, [Violation]>) -> bool {
    list.is_empty()
}
