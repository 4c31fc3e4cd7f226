//! Why a call was stopped before it ran: a closed list of codes, in words a model can act on.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use serde::{Deserialize, Serialize};

use crate::policy::{Digest, RuleRef};

/// A call stopped before execution. Says what is wrong and what would be right.
///
/// One pointer wide: it is the way out of every phase, and most calls never take it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Refusal(Box<RefusalDetails>);

/// What a refusal says. Read and changed through [`Refusal`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RefusalDetails {
    /// Which of the closed list.
    pub code: RefusalCode,
    /// What is wrong, in one or two sentences.
    pub reason: String,
    /// What would be acceptable instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Each violation of the arguments, where that is the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The rule that decided, where one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleRef>,
    /// When to come back, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What a person's yes would be bound to, where one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Rules that would have let it run, where some would; the hint says the same in words.
    #[serde(skip)]
    pub would_allow: Vec<String>,
}

/// One place where the arguments are not what the schema asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON pointer into the arguments; empty for the whole.
    pub pointer: String,
    /// What is wrong there: what was expected, what came.
    pub message: String,
    /// The nearest valid name of a mistyped field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

/// Makes the closed list once, with the phase's own word for each.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal),+ $(,)?) => {
        /// The closed list of reasons to stop a call before it runs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum RefusalCode { $($(#[$doc])* $variant),+ }

        impl RefusalCode {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The code as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }
    };
}

codes! {
    /// No tool of that name in the snapshot the model saw.
    UnknownTool = "unknown_tool",
    /// The tool exists and is not exposed on this route.
    NotDisclosed = "not_disclosed",
    /// The tool exists and is switched off.
    NotEnabled = "not_enabled",
    /// The turn itself is malformed: a shared or missing id, a cut turn.
    ProtocolError = "protocol_error",
    /// The tool is not the one the model was shown.
    DefinitionChanged = "definition_changed",
    /// The arguments are not strict JSON.
    InvalidJson = "invalid_json",
    /// The arguments are too long or too deep.
    TooLarge = "too_large",
    /// A result reference that leads nowhere.
    BadResultRef = "bad_result_ref",
    /// The arguments break the tool's schema.
    InvalidArguments = "invalid_arguments",
    /// The right type and a wrong value, by the tool's own rules.
    InvalidValue = "invalid_value",
    /// A rule or a person said no.
    Denied = "denied",
    /// A path outside the roots.
    OutsideRoots = "outside_roots",
    /// One of our own files, or one that nothing may touch.
    ProtectedPath = "protected_path",
    /// A hook stopped it, or a gate hook failed.
    BlockedByHook = "blocked_by_hook",
    /// Hooks kept rewriting it.
    RewriteLimit = "rewrite_limit",
    /// The breaker of the tool, its capability or its route is open.
    CircuitOpen = "circuit_open",
    /// The run's budget is used up.
    BudgetExhausted = "budget_exhausted",
    /// The same call, turn after turn.
    Repetition = "repetition",
    /// Needs a person and none is there.
    RequiresInteraction = "requires_interaction",
    /// Needs a yes that nobody gave.
    ApprovalRequired = "approval_required",
    /// The tool insists on an idempotency key of the caller's.
    MissingIdempotencyKey = "missing_idempotency_key",
    /// The key was used for other arguments.
    IdempotencyConflict = "idempotency_conflict",
    /// The sandbox the tool needs cannot be had.
    SandboxUnavailable = "sandbox_unavailable",
    /// Stopped before it started.
    Cancelled = "cancelled",
    /// A fault of ours.
    Internal = "internal",
}

impl Refusal {
    /// A refusal with a code and a reason.
    // Cold: what comes to this is not what a quick call does, and its code lies apart from what is.
    #[cold]
    pub fn new(code: RefusalCode, reason: impl Into<String>) -> Self {
        Self(Box::new(RefusalDetails {
            code,
            reason: reason.into(),
            hint: None,
            violations: Vec::new(),
            rule: None,
            retry_after_ms: None,
            digest: None,
            would_allow: Vec::new(),
        }))
    }

    /// For a tool's own `check`: the right type, a wrong value.
    pub fn invalid_value(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        let violation = Violation { pointer: pointer.into(), message: message.into(), did_you_mean: None };
        let place = if violation.pointer.is_empty() { "the arguments" } else { &violation.pointer };
        let reason =
            format!("The arguments have the right form but {place} cannot be used: {}", violation.message);
        Self::new(RefusalCode::InvalidValue, reason).with_violations(vec![violation])
    }

    /// For a tool's own `check` or `authorize`: not allowed.
    pub fn denied(reason: impl Into<String>) -> Self {
        Self::new(RefusalCode::Denied, reason)
    }

    /// The same with each place that is wrong.
    #[must_use]
    pub fn with_violations(mut self, violations: Vec<Violation>) -> Self {
        self.violations = violations;
        self
    }

    /// The same with the rule that decided.
    #[must_use]
    pub fn with_rule(mut self, rule: Option<RuleRef>) -> Self {
        self.rule = rule;
        self
    }

    /// The same with what a person's yes would be bound to.
    #[must_use]
    pub(crate) fn with_digest(mut self, digest: Digest) -> Self {
        self.digest = Some(digest);
        self
    }

    /// The same with the rules that would let it run.
    #[must_use]
    pub(crate) fn with_rules_that_allow(mut self, rules: Vec<String>) -> Self {
        self.would_allow = rules;
        self
    }

    /// The same with what would be acceptable.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Deref for Refusal {
    type Target = RefusalDetails;

    fn deref(&self) -> &RefusalDetails {
        &self.0
    }
}

impl DerefMut for Refusal {
    fn deref_mut(&mut self) -> &mut RefusalDetails {
        &mut self.0
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
