//! Who decides: a policy that allows, asks or denies, and the person it may ask.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::watch;

use crate::{
    outcome::Refusal,
    tool::{Effects, Given, Scope, ToolSpec},
};

mod pattern;
mod rule;
mod index;
#[cfg(test)]
mod index_tests;
mod engine;
mod rules;
mod layers;
mod trust;
mod roots;
mod protected;
mod approval;
mod pending;
mod queue;
mod lint;
#[cfg(feature = "config")]
pub mod config;

pub use approval::{APPROVAL_LIFE, Answer, Approvals, Approver, Digest, Nobody, Question};
pub use layers::{Grant, Grants, Keeper, Kept, Layers, Lifetime, NotGranted};
pub use lint::{Oddity, OddityKind, lint};
pub use pattern::{BadPattern, Pattern};
pub use pending::{Desk, NotAnswered, Pending, Reply};
pub use protected::{Protected, Protection, protection_of};
pub use queue::Queue;
pub use roots::lexical_path;
pub(crate) use roots::{inside_roots, outside_roots};
pub use rule::{BadRule, Layer, Rule, Stance};
pub use rules::Rules;
pub use trust::{Confirmed, Reach, Unfit, fits, reaches, rules_that_allow};

/// Decides about calls. It looks; it never runs, waits or asks.
pub trait Policy: Send + Sync + 'static {
    /// The deny rules alone, asked before anything else learns of the call.
    ///
    /// Must agree with [`Policy::decide`]: what is forbidden here is denied there.
    fn forbids(&self, query: &Query<'_>) -> Option<Verdict>;

    /// The whole decision, on the final arguments.
    fn decide(&self, query: &Query<'_>) -> Verdict;

    /// False when every call of the tool would be denied, so that it is not offered at all.
    fn offers(&self, tool: &ToolSpec) -> bool {
        let _ = tool;
        true
    }

    /// A person said Always ([`Stance::Grant`]) or Never ([`Stance::Deny`]). Decisions from then on know it.
    fn remember(&self, stance: Stance, grant: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        let _ = (stance, grant);
        Err(NotGranted::Fixed)
    }

    /// The same, said about a call of this sub-agent: where it holds for the session only, it holds for that agent
    /// alone. What is not overridden holds for all.
    fn remember_for(&self, agent: &str, stance: Stance, grant: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        let _ = agent;
        self.remember(stance, grant)
    }

    /// Tells when a person said something that could decide questions that still wait.
    fn changed(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

/// What a policy looks at.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Query<'a> {
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, validated.
    pub args: Given<'a>,
    /// What the call would do.
    pub effects: &'a Effects,
    /// Who, where, on which route.
    pub scope: &'a Scope,
}

impl<'a> Query<'a> {
    /// A question about one call.
    pub fn new(
        tool: &'a ToolSpec,
        args: impl Into<Given<'a>>,
        effects: &'a Effects,
        scope: &'a Scope,
    ) -> Self {
        Self { tool, args: args.into(), effects, scope }
    }
}

/// Allow, ask or deny; from lax to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// May run.
    Allow,
    /// A person says.
    Ask,
    /// May not run.
    Deny,
}

/// A decision and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What was decided.
    pub decision: Decision,
    /// By which rule; `None` when no rule spoke and the defaults decided.
    pub rule: Option<RuleRef>,
    /// Why, where there is something to say.
    pub reason: Option<Arc<str>>,
    /// What is guarded whatever the rules say, where that decided.
    pub protected: Option<Protected>,
}

/// A rule and the place it is written. One pointer wide and cheap to clone; read through its [`RuleText`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RuleRef(Arc<RuleText>);

/// What a rule says and where.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleText {
    /// The rule, as `deny shell(git push *)`.
    pub text: Arc<str>,
    /// Where it stands, as `tollgate.toml:14` or `--deny`.
    pub source: Arc<str>,
    /// In which layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    #[serde(skip)]
    quotes: bool,
}

impl RuleRef {
    fn new(text: Arc<str>, source: Arc<str>, layer: Option<Layer>) -> Self {
        // A rule about whole tools quotes no arguments.
        let quotes = text.contains('(');
        Self(Arc::new(RuleText { text, source, layer, quotes }))
    }

    /// The words for whatever decided in the place of a rule.
    pub(crate) fn said(words: Arc<str>) -> Self {
        Self(Arc::new(RuleText { text: words, source: "".into(), layer: None, quotes: true }))
    }

    /// True where the text quotes arguments, and so may hold a secret.
    pub(crate) fn quotes(&self) -> bool {
        self.0.quotes
    }
}

impl std::ops::Deref for RuleRef {
    type Target = RuleText;

    fn deref(&self) -> &RuleText {
        &self.0
    }
}

/// What a tool's own `authorize` thinks. It can only tighten what policy decided.
#[derive(Debug, Clone, PartialEq)]
pub enum Opinion {
    /// Nothing to add.
    Abstain,
    /// A person should say, whatever the rules allow.
    Ask(String),
    /// Not this.
    Deny(Refusal),
}

impl Verdict {
    /// A decision of the defaults.
    pub fn by_default(decision: Decision, reason: &'static str) -> Self {
        Self { decision, rule: None, reason: Some(reason.into()), protected: None }
    }
}

/// The decision where no rule speaks.
///
/// A call whose tool has waived permission, that is read-only, not open-world and inside the roots is
/// allowed; everything else asks.
pub fn default_verdict(query: &Query<'_>) -> Verdict {
    let Query { tool, effects, scope, .. } = query;
    let why = if tool.requires_permission {
        "no rule speaks of this tool, and it asks unless a rule allows it"
    } else if !effects.read_only {
        "no rule speaks of this call, and it changes something"
    } else if effects.open_world {
        "no rule speaks of this call, and it talks to the outside"
    } else if outside_roots(effects, scope).is_some() {
        "no rule speaks of this call, and it reaches outside the roots"
    } else {
        return Verdict::by_default(
            Decision::Allow,
            "it only reads, inside the roots, and its tool asks for no permission",
        );
    };
    Verdict::by_default(Decision::Ask, why)
}
