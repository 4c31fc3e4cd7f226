//! How a started call failed: the class is in the variant, the operator's chain stays out of the prompt.

use std::{
    error::Error,
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use crate::{guard::caught, json::shorten};

/// What a tool's body answers when it did not succeed.
///
/// `?` on any [`std::error::Error`] makes a fatal failure whose message is the error's own and whose chain
/// is kept for the operator.
///
/// One pointer wide, like [`Refusal`](super::Refusal).
#[derive(Clone, PartialEq)]
pub struct Failure(Box<FailureDetails>);

/// What a failure says. Read and changed through [`Failure`].
#[derive(Clone)]
#[non_exhaustive]
pub struct FailureDetails {
    /// Whether a retry is safe, pointless, or dangerous.
    pub kind: FailureKind,
    /// What happened, for the model.
    pub message: String,
    /// What else to try, for the model.
    pub hint: Option<String>,
    /// When a retry may work, where the other side said so.
    pub retry_after: Option<Duration>,
    pub(crate) untrusted: bool,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// More causes than any chain has that comes to an end.
const MOST_CAUSES: usize = 32;

/// How many characters of a cause are told.
const LONGEST_CAUSE: usize = 4_000;

/// A cause that was put in other words.
#[derive(Debug)]
struct Cause {
    text: String,
    next: Option<Box<Cause>>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Cause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.next.as_deref().map(|next| -> &(dyn Error + 'static) { next })
    }
}

/// The three ways to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// No effect happened; trying again may work.
    Retryable,
    /// It failed; trying again will not help.
    Fatal,
    /// It started, and nobody knows whether it took effect.
    Unknown,
}

impl Failure {
    /// Failed without effect; may be tried again.
    pub fn retryable(message: impl Into<String>) -> Self {
        Self::of(FailureKind::Retryable, message)
    }

    /// Failed; a retry will not help.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::of(FailureKind::Fatal, message)
    }

    /// Started, and its effect is not known.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::of(FailureKind::Unknown, message)
    }

    // Cold: what comes to this is not what a quick call does, and its code lies apart from what is.
    #[cold]
    fn of(kind: FailureKind, message: impl Into<String>) -> Self {
        Self(Box::new(FailureDetails {
            kind,
            message: message.into(),
            hint: None,
            retry_after: None,
            untrusted: false,
            source: None,
        }))
    }

    /// The same with what else to try.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with the time after which a retry may work.
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// The same, marked as quoting content nobody vouches for.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// The same with a cause for the operator; the model never sees it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// The chain of causes, outermost first, for the operator; each shortened, and no more than any chain has that ends.
    pub fn chain(&self) -> Vec<String> {
        self.causes().iter().map(|cause| shorten(cause, LONGEST_CAUSE)).collect()
    }

    /// Errors are somebody else's code: one that panics ends the chain, and so does its length.
    fn causes(&self) -> Vec<String> {
        let mut chain = Vec::new();
        let mut next: Option<&(dyn Error + 'static)> =
            self.source.as_deref().map(|source| -> &(dyn Error + 'static) { source });
        while let Some(error) = next.take().filter(|_| chain.len() < MOST_CAUSES) {
            match caught(|| (error.to_string(), error.source())) {
                Ok((text, source)) => {
                    chain.push(text);
                    next = source;
                }
                Err(panic) => chain.push(format!("a cause that cannot be told: {panic}")),
            }
        }
        chain
    }

    /// Changes the causes, each seen whole, where `change` has another word for one.
    pub(crate) fn reword_causes(&mut self, change: impl Fn(&str) -> Option<String>) {
        let told = self.causes();
        let reworded: Vec<_> = told.iter().map(|cause| change(cause)).collect();
        if reworded.iter().any(Option::is_some) {
            let texts = reworded.into_iter().zip(told).map(|(other, told)| other.unwrap_or(told));
            let chain = texts.rev().fold(None, |next, text| Some(Box::new(Cause { text, next })));
            self.source = chain.map(|chain| -> Arc<dyn Error + Send + Sync> { Arc::new(*chain) });
        }
    }
}

// `Failure` is not itself an `Error`, so that this conversion can exist and `?` just works in tool bodies.
impl<E: Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::fatal(error.to_string()).caused_by(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("chain", &self.chain())
            .finish_non_exhaustive()
    }
}

impl Deref for Failure {
    type Target = FailureDetails;

    fn deref(&self) -> &FailureDetails {
        &self.0
    }
}

impl DerefMut for Failure {
    fn deref_mut(&mut self) -> &mut FailureDetails {
        &mut self.0
    }
}

impl PartialEq for FailureDetails {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.message == other.message && self.hint == other.hint
    }
}
