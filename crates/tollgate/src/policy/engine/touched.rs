//! Rules over paths, hosts and commands, found by what a call touches.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::{
    policy::{
        Query, Rule,
        index::GlobIndex,
        rule::{Anchor, Located, Touch, host_name},
    },
    tool::Resource,
};

type Map<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub(super) struct Touched {
    top: GlobIndex,
    working: GlobIndex,
    paths: bool,
    /// By the name each host that is meant is or ends with.
    hosts: Map<Box<str>, Vec<u32>>,
    host_globs: Vec<u32>,
    programs: Map<Box<str>, Program>,
    any_program: Vec<u32>,
    /// Rules over commands that tighten.
    guarding: Vec<u32>,
}

/// Rules over one program, by a word that is written out in them.
#[derive(Debug, Default)]
struct Program {
    by_word: Map<Box<str>, Vec<u32>>,
    rest: Vec<u32>,
}

impl Touched {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let all = || (0_u32..).zip(rules);
        let paths = |at: &'static Anchor| {
            all().filter_map(move |(id, rule)| match &rule.touch {
                Some(Touch::Path { pattern, .. }) if pattern.anchored_at() == at => {
                    Some((pattern.glob(), id))
                }
                _ => None,
            })
        };
        let mut touched = Self {
            top: GlobIndex::new(paths(&Anchor::Top)),
            working: GlobIndex::new(paths(&Anchor::Working)),
            paths: rules.iter().any(|rule| matches!(rule.touch, Some(Touch::Path { .. }))),
            ..Self::default()
        };
        for (id, rule) in all() {
            if matches!(rule.touch, Some(Touch::Command(_))) && !rule.stance.widens() {
                touched.guarding.push(id);
            }
            match &rule.touch {
                Some(Touch::Host(pattern)) => match pattern.key() {
                    Some(name) => touched.hosts.entry(name.into()).or_default().push(id),
                    None => touched.host_globs.push(id),
                },
                Some(Touch::Command(pattern)) => match pattern.program() {
                    Some(program) => {
                        let program = touched.programs.entry(program.into()).or_default();
                        match pattern.subcommand() {
                            Some(word) => program.by_word.entry(word.into()).or_default().push(id),
                            None => program.rest.push(id),
                        }
                    }
                    None => touched.any_program.push(id),
                },
                _ => {}
            }
        }
        touched
    }

    pub(super) fn guarding(&self) -> impl Iterator<Item = u32> {
        self.guarding.iter().copied()
    }

    pub(super) fn candidates(&self, resource: &Resource, query: &Query<'_>, found: &mut Vec<u32>) {
        match resource {
            Resource::Path { path, .. } if self.paths => {
                if let Some(path) = Located::new(query.scope.cwd(), path) {
                    self.top.candidates(&path.absolute, found);
                    if let Some(relative) = &path.relative {
                        self.working.candidates(relative, found);
                    }
                }
            }
            Resource::Host { host } => {
                found.extend(&self.host_globs);
                let host = host_name(host);
                let mut name = Some(host.as_str());
                while let Some(now) = name {
                    found.extend(self.hosts.get(now).into_iter().flatten());
                    name = now.split_once('.').map(|(_, rest)| rest);
                }
            }
            Resource::Command { command } => {
                found.extend(&self.any_program);
                let Some((program, words)) = command.split_first() else { return };
                let name = program.rsplit('/').next().unwrap_or(program);
                if let Some(program) = self.programs.get(name) {
                    found.extend(&program.rest);
                    if !program.by_word.is_empty() {
                        found.extend(
                            words.iter().filter_map(|word| program.by_word.get(word.as_str())).flatten(),
                        );
                    }
                }
            }
            Resource::Path { .. } | Resource::Key { .. } | Resource::Unclear { .. } => {}
        }
        found.sort_unstable();
        found.dedup();
    }
}
