//! A small policy: allow, ask and deny by tool pattern. The strictest rule that matches decides.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{BadPattern, Decision, Pattern, Policy, Query, RuleRef, Verdict, default_verdict};
use crate::tool::{ToolId, ToolSpec};

/// Rules by tool pattern. Their order does not matter: deny beats ask, ask beats allow.
#[derive(Debug, Default)]
pub struct Rules {
    list: Vec<Rule>,
    denies: bool,
    // What the rules say of a tool does not depend on the call, so it is looked up once per tool.
    verdicts: RwLock<HashMap<ToolId, Option<Verdict>, foldhash::fast::RandomState>>,
}

#[derive(Debug)]
struct Rule {
    decision: Decision,
    pattern: Pattern,
    source: Arc<str>,
}

impl Rules {
    /// No rules: the defaults decide.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule that lets calls run.
    pub fn allow(self, pattern: &str) -> Result<Self, BadPattern> {
        self.rule(Decision::Allow, pattern, "code")
    }

    /// Adds a rule that asks a person.
    pub fn ask(self, pattern: &str) -> Result<Self, BadPattern> {
        self.rule(Decision::Ask, pattern, "code")
    }

    /// Adds a rule that forbids.
    pub fn deny(self, pattern: &str) -> Result<Self, BadPattern> {
        self.rule(Decision::Deny, pattern, "code")
    }

    /// Adds a rule, with the place it was written.
    pub fn rule(mut self, decision: Decision, pattern: &str, source: &str) -> Result<Self, BadPattern> {
        self.list.push(Rule { decision, pattern: Pattern::parse(pattern)?, source: source.into() });
        self.denies |= decision == Decision::Deny;
        self.verdicts = RwLock::default();
        Ok(self)
    }

    /// What the rules say of a tool, kept where `wanted` cares for it.
    fn of(&self, tool: &ToolSpec, wanted: impl Fn(&Verdict) -> bool) -> Option<Verdict> {
        if let Some(known) = self.verdicts.read().unwrap_or_else(PoisonError::into_inner).get(&tool.id) {
            return known.as_ref().filter(|verdict| wanted(verdict)).cloned();
        }
        let strictest = self.list.iter().filter(|rule| rule.speaks_of(tool)).max_by_key(|rule| rule.decision);
        let verdict = strictest.map(Rule::verdict);
        let mut verdicts = self.verdicts.write().unwrap_or_else(PoisonError::into_inner);
        verdicts.insert(tool.id.clone(), verdict.clone());
        verdict.filter(wanted)
    }
}

impl Rule {
    /// What widens is read narrowly, what tightens widely.
    fn speaks_of(&self, tool: &ToolSpec) -> bool {
        match self.decision {
            Decision::Allow => self.pattern.matches(tool),
            Decision::Ask | Decision::Deny => self.pattern.covers(tool),
        }
    }

    fn verdict(&self) -> Verdict {
        let word = match self.decision {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        };
        let text = format!("{word} {}", self.pattern).into();
        Verdict {
            decision: self.decision,
            rule: Some(RuleRef { text, source: self.source.clone() }),
            reason: None,
        }
    }
}

impl Policy for Rules {
    fn forbids(&self, query: &Query<'_>) -> Option<Verdict> {
        self.denies.then(|| self.of(query.tool, |verdict| verdict.decision == Decision::Deny)).flatten()
    }

    fn decide(&self, query: &Query<'_>) -> Verdict {
        self.of(query.tool, |_| true).unwrap_or_else(|| default_verdict(query))
    }

    fn offers(&self, tool: &ToolSpec) -> bool {
        self.of(tool, |verdict| verdict.decision == Decision::Deny).is_none()
    }
}
