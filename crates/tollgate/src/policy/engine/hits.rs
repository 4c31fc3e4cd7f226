//! The rules that apply to one thing: of each stance the one that counts.

use super::rank;
use crate::policy::{Rule, rule::Stance};

/// Of each stance the rule that binds most.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Hits {
    pub(crate) deny: Option<u32>,
    pub(crate) always: Option<u32>,
    pub(crate) grant: Option<u32>,
    pub(crate) ask: Option<u32>,
    pub(crate) allow: Option<u32>,
}

impl Hits {
    pub(crate) fn note(&mut self, rules: &[Rule], id: u32) {
        let place = match rules[id as usize].stance {
            Stance::Deny => &mut self.deny,
            Stance::AskAlways => &mut self.always,
            Stance::Grant => &mut self.grant,
            Stance::Ask => &mut self.ask,
            Stance::Allow => &mut self.allow,
        };
        *place = best(rules, place.iter().copied().chain([id]));
    }

    /// What decides where nothing but these rules speaks.
    pub(crate) fn decided(&self, rules: &[Rule]) -> Option<u32> {
        let ask = self.ask.filter(|ask| !self.grant.is_some_and(|grant| beats(rules, grant, *ask)));
        self.deny.or(self.always).or(ask).or(self.grant).or(self.allow)
    }
}

/// The rule of the highest layer; among equals by their text, so that their order does not matter.
pub(crate) fn best(rules: &[Rule], ids: impl Iterator<Item = u32>) -> Option<u32> {
    ids.min_by(|a, b| {
        let key = |id: &u32| {
            let rule = &rules[*id as usize];
            (rank(rule), rule.layer, &rule.text, &rule.source)
        };
        key(a).cmp(&key(b))
    })
}

/// A grant counts against asks that bind no more than it does.
pub(crate) fn beats(rules: &[Rule], grant: u32, ask: u32) -> bool {
    rank(&rules[grant as usize]) <= rank(&rules[ask as usize])
}
