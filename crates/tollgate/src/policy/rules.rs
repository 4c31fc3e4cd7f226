//! A small policy written in code: allow, ask and deny. The strictest rule that applies decides.

use std::sync::OnceLock;

use super::{BadRule, Decision, Policy, Query, Rule, Verdict, engine::Engine};
use crate::tool::ToolSpec;

/// Rules of one layer. Their order does not matter: deny beats ask, ask beats allow.
#[derive(Debug, Default)]
pub struct Rules {
    list: Vec<Rule>,
    engine: OnceLock<Engine>,
}

impl Rules {
    /// No rules: the defaults decide.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule that lets calls run.
    pub fn allow(self, rule: &str) -> Result<Self, BadRule> {
        self.rule(Decision::Allow, rule, "code")
    }

    /// Adds a rule that asks a person.
    pub fn ask(self, rule: &str) -> Result<Self, BadRule> {
        self.rule(Decision::Ask, rule, "code")
    }

    /// Adds a rule that forbids.
    pub fn deny(self, rule: &str) -> Result<Self, BadRule> {
        self.rule(Decision::Deny, rule, "code")
    }

    /// Adds a rule, with the place it was written.
    pub fn rule(self, decision: Decision, rule: &str, source: &str) -> Result<Self, BadRule> {
        let rule = Rule::parse(decision.into(), rule)?;
        let layer = rule.layer();
        Ok(self.with(rule.placed(layer, source)))
    }

    /// Adds a rule that was read before.
    #[must_use]
    pub fn with(mut self, rule: Rule) -> Self {
        self.list.push(rule);
        self.engine = OnceLock::new();
        self
    }

    fn engine(&self) -> &Engine {
        self.engine.get_or_init(|| Engine::new(self.list.clone()))
    }
}

impl Policy for Rules {
    fn forbids(&self, query: &Query<'_>) -> Option<Verdict> {
        self.engine().forbids(query)
    }

    fn decide(&self, query: &Query<'_>) -> Verdict {
        self.engine().decide(query)
    }

    fn offers(&self, tool: &ToolSpec) -> bool {
        self.engine().offers(tool)
    }
}
