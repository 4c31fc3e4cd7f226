//! When rules over single things add up to a yes for the whole call.

use std::fmt::Write as _;

use super::{Engine, Hits, hits, rank};
use crate::{
    policy::{Decision, Query, Verdict, inside_roots},
    tool::{Access, Concurrency, Resource},
};

/// So many of the things that no rule allows are named.
const MOST_NAMED: usize = 5;

/// A call and what applies to it and to each thing it touches.
pub(super) struct Case<'a> {
    pub(super) engine: &'a Engine,
    pub(super) query: &'a Query<'a>,
    pub(super) whole: &'a Hits,
    pub(super) touches: &'a [Hits],
}

/// The rule a yes is told by, and how much the weakest of those it takes binds.
struct Covered {
    by: u32,
    weakest: u8,
}

impl Case<'_> {
    /// An ask that no grant beats.
    pub(super) fn unbeaten(&self) -> Option<u32> {
        let rules = self.engine.rules();
        let asked = || std::iter::once(self.whole).chain(self.touches).any(|hits| hits.ask.is_some());
        if !asked() {
            return None;
        }
        let granted = self.covered(|hits| hits.grant);
        let by_whole = |ask: u32| {
            self.whole.grant.is_some_and(|grant| hits::beats(rules, grant, ask))
                || granted.as_ref().is_some_and(|granted| granted.weakest <= rank(&rules[ask as usize]))
        };
        let of_call = self.whole.ask.filter(|ask| !by_whole(*ask));
        let of_things = self.touches.iter().filter_map(|hits| {
            let beaten = |ask: u32| hits.grant.is_some_and(|grant| hits::beats(rules, grant, ask));
            hits.ask.filter(|ask| !beaten(*ask) && !by_whole(*ask))
        });
        hits::best(rules, of_call.into_iter().chain(of_things))
    }

    /// The rule that lets everything the call does.
    pub(super) fn allowed(&self) -> Option<u32> {
        self.covered(|hits| hits.grant.or(hits.allow)).map(|covered| covered.by)
    }

    /// True when a command is started and nobody can say which.
    pub(super) fn unclear(&self) -> bool {
        let mut commands = self.query.effects.touches.iter().filter_map(|resource| match resource {
            Resource::Command { command } => Some(command),
            _ => None,
        });
        let first = commands.next();
        first.is_none_or(Vec::is_empty) || commands.any(Vec::is_empty)
    }

    /// What no rule lets, where some rules let a part of the call. All of it: which part matters is for whoever reads to say.
    pub(super) fn unmet(&self) -> Option<Verdict> {
        let some = self.touches.iter().any(|hits| hits.grant.or(hits.allow).is_some());
        let resources = &self.query.effects.touches;
        let commands = resources.iter().any(|resource| matches!(resource, Resource::Command { .. }));
        if !some && !commands {
            return None;
        }
        let unmet = resources
            .iter()
            .zip(self.touches)
            .filter(|(resource, hits)| hits.grant.or(hits.allow).is_none() && !self.is_said(resource));
        let mut unmet: Vec<_> = unmet.filter_map(|(resource, _)| Self::named(resource)).collect();
        let more = unmet.len().saturating_sub(MOST_NAMED);
        unmet.truncate(MOST_NAMED);
        let (first, rest) = unmet.split_first()?;
        let mut reason = format!("no rule allows {first}");
        for what in rest {
            let _ = write!(reason, ", nor {what}");
        }
        if more > 0 {
            let _ = write!(reason, ", nor {more} more");
        }
        Some(Verdict { decision: Decision::Ask, rule: None, reason: Some(reason.into()), protected: None })
    }

    /// In words, what needs a rule of its own.
    fn named(resource: &Resource) -> Option<String> {
        Some(match resource {
            Resource::Command { command } if command.is_empty() => "a command that cannot be told".to_owned(),
            Resource::Command { command } => format!("the command `{}`", command.join(" ")),
            Resource::Path { path, access: Access::Read } => {
                format!("reading {:?}", path.display().to_string())
            }
            Resource::Path { path, access: Access::Write } => {
                format!("writing {:?}", path.display().to_string())
            }
            Resource::Host { host } => format!("the host {host:?}"),
            Resource::Key { .. } | Resource::Unclear { .. } => return None,
        })
    }

    fn covered(&self, by: impl Fn(&Hits) -> Option<u32>) -> Option<Covered> {
        let effects = self.query.effects;
        let commands = effects.touches.iter().any(|resource| matches!(resource, Resource::Command { .. }));
        if !commands && !self.is_access() {
            return None;
        }
        let mut covered: Option<(Covered, bool)> = None;
        for (resource, hits) in effects.touches.iter().zip(self.touches) {
            let Some(id) = by(hits) else {
                if self.goes_along(resource, commands) {
                    continue;
                }
                return None;
            };
            let rank = rank(self.engine.rule(id));
            // A yes is told by the command or the write it is for, not by a read beside it.
            let telling =
                matches!(resource, Resource::Command { .. } | Resource::Path { access: Access::Write, .. });
            covered = Some(match covered {
                Some((known, told)) if told || !telling => {
                    (Covered { weakest: known.weakest.max(rank), ..known }, told)
                }
                Some((known, _)) => (Covered { by: id, weakest: known.weakest.max(rank) }, telling),
                None => (Covered { by: id, weakest: rank }, telling),
            });
        }
        covered.map(|(covered, _)| covered)
    }

    /// True when the call does nothing but reach the paths and hosts it names.
    fn is_access(&self) -> bool {
        let effects = self.query.effects;
        let touches = |wanted: fn(&Resource) -> bool| effects.touches.iter().any(wanted);
        effects.concurrency != Concurrency::Unsafe
            && (!effects.open_world || touches(|resource| matches!(resource, Resource::Host { .. })))
            && (effects.read_only
                || touches(|resource| matches!(resource, Resource::Path { access: Access::Write, .. })))
    }

    /// What needs no rule of its own.
    fn goes_along(&self, resource: &Resource, commands: bool) -> bool {
        match resource {
            Resource::Command { .. } => false,
            // The command as it is written stands beside it.
            Resource::Unclear { .. } => true,
            Resource::Key { .. } => commands || self.query.effects.read_only,
            Resource::Path { path, access: Access::Read } if commands => {
                self.is_said(resource) || inside_roots(path, self.query.scope)
            }
            Resource::Path { .. } | Resource::Host { .. } => commands && self.is_said(resource),
        }
    }

    /// True when the thing is a word of a command: the rule that lets the command has seen it.
    fn is_said(&self, resource: &Resource) -> bool {
        let words = self.query.effects.touches.iter().filter_map(|resource| match resource {
            Resource::Command { command } => Some(command.iter().skip(1)),
            _ => None,
        });
        let mut words = words.flatten();
        match resource {
            Resource::Path { path, .. } => words.any(|word| {
                let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
                path.as_os_str() == word.as_str() || path.as_os_str() == value
            }),
            Resource::Host { host } => words.any(|word| word.contains(host.as_str())),
            Resource::Command { .. } | Resource::Unclear { .. } | Resource::Key { .. } => false,
        }
    }
}
