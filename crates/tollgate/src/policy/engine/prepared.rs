//! What the rules say of a tool before any call of it, and which of them then look at arguments.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde_json::Value;

use super::Hits;
use crate::{
    catalog::label,
    policy::{
        Pattern, Query, Rule,
        index::GlobIndex,
        rule::{Anchor, Located, Matcher, Test, number, unnamed},
    },
    tool::{ToolName, ToolSpec},
};

type Map<K, V> = HashMap<K, V, RandomState>;

/// Rules over whole calls, by the name they speak of.
#[derive(Debug, Default)]
pub(super) struct Named {
    by_name: Map<Box<str>, Vec<u32>>,
    wild: Vec<u32>,
    /// A rule that tightens looks at commands.
    guards_commands: bool,
}

/// What is known of one tool.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What applies to every call of it.
    pub(super) whole: Hits,
    /// The rule that denies every call of it.
    pub(super) outright: Option<u32>,
    pub(super) conditional: Conditional,
    /// It starts commands, and rules look at commands.
    pub(super) shellish: bool,
}

/// Rules that depend on arguments or scope, filed by what they want of an argument.
#[derive(Debug, Default)]
pub(super) struct Conditional {
    arguments: Vec<Argument>,
    rest: Vec<u32>,
}

/// The rules over one argument.
#[derive(Debug, Default)]
struct Argument {
    name: String,
    exact: Map<Box<str>, Vec<u32>>,
    globs: GlobIndex,
    top: GlobIndex,
    working: GlobIndex,
    /// Those over paths, and all of them: for what cannot be looked up.
    paths: Vec<u32>,
    all: Vec<u32>,
}

impl Named {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut named = Self::default();
        for (id, rule) in (0_u32..).zip(rules) {
            if rule.touch.is_some() {
                named.guards_commands |=
                    matches!(rule.touch, Some(super::Touch::Command(_))) && !rule.stance.widens();
                continue;
            }
            match rule.tool.as_ref().and_then(Pattern::exact_name) {
                Some(name) => named.by_name.entry(name.into()).or_default().push(id),
                None => named.wild.push(id),
            }
        }
        named
    }

    fn candidates(&self, tool: &ToolSpec) -> Vec<u32> {
        let label = label(&tool.id);
        let names = tool.aliases.iter().map(ToolName::as_str).chain([tool.name(), &*label]);
        let mut found: Vec<u32> =
            names.filter_map(|name| self.by_name.get(name)).flatten().copied().collect();
        found.extend(&self.wild);
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl Prepared {
    pub(super) fn new(rules: &[Rule], named: &Named, tool: &ToolSpec) -> Self {
        let mut found = named.candidates(tool);
        found.retain(|id| rules[*id as usize].speaks_of(tool));
        let (outright, conditional): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|id| rules[*id as usize].is_outright());
        let mut whole = Hits::default();
        outright.iter().for_each(|id| whole.note(rules, *id));
        let shell = |name: &str| matches!(name, "shell" | "bash");
        let names = std::iter::once(tool.name()).chain(tool.aliases.iter().map(ToolName::as_str));
        Self {
            outright: whole.deny,
            whole,
            conditional: Conditional::new(rules, &conditional),
            shellish: named.guards_commands && names.into_iter().any(shell),
        }
    }

    /// True when nothing but what is touched could still change what the rules say.
    pub(super) fn is_settled(&self) -> bool {
        !self.shellish && self.conditional.is_empty()
    }
}

impl Conditional {
    fn new(rules: &[Rule], ids: &[u32]) -> Self {
        let mut filed: Map<&str, Vec<(u32, &Test)>> = Map::default();
        let mut rest = Vec::new();
        for id in ids {
            let rule = &rules[*id as usize];
            let place = rule
                .args
                .iter()
                .find_map(|arg| Some((arg.pointer.top()?, &arg.test)).filter(|_| can_file(&arg.test)));
            match place {
                Some((name, test)) => filed.entry(name).or_default().push((*id, test)),
                None => rest.push(*id),
            }
        }
        let arguments = filed.into_iter().map(|(name, tests)| Argument::new(name, &tests)).collect();
        Self { arguments, rest }
    }

    fn is_empty(&self) -> bool {
        self.arguments.is_empty() && self.rest.is_empty()
    }

    pub(super) fn candidates(&self, query: &Query<'_>, found: &mut Vec<u32>) {
        found.extend(&self.rest);
        for argument in &self.arguments {
            if let Some(value) = query.args.get(&argument.name) {
                argument.candidates(value, query, found);
                if !argument.paths.is_empty() {
                    unnamed(query).for_each(|path| argument.on_path(&path, found));
                }
            }
        }
        if !self.arguments.is_empty() {
            found.sort_unstable();
            found.dedup();
        }
    }
}

/// True when the values it accepts can be looked up.
fn can_file(test: &Test) -> bool {
    let looked_up =
        |matcher: &Matcher| matches!(matcher, Matcher::Exact(_) | Matcher::Glob(_) | Matcher::Path(_));
    !test.all().is_empty() && test.all().iter().all(looked_up)
}

impl Argument {
    fn new(name: &str, tests: &[(u32, &Test)]) -> Self {
        let matchers =
            || tests.iter().flat_map(|(id, test)| test.all().iter().map(move |matcher| (matcher, *id)));
        let mut exact: Map<Box<str>, Vec<u32>> = Map::default();
        for (matcher, id) in matchers() {
            if let Matcher::Exact(text) = matcher {
                exact.entry((&**text).into()).or_default().push(id);
                if let Some(number) = numbered(text) {
                    exact.entry(number.into()).or_default().push(id);
                }
            }
        }
        let paths = |at: &'static Anchor| {
            matchers().filter_map(move |(matcher, id)| match matcher {
                Matcher::Path(pattern) if pattern.anchored_at() == at => Some((pattern.glob(), id)),
                _ => None,
            })
        };
        let globs = matchers().filter_map(|(matcher, id)| match matcher {
            Matcher::Glob(text) => Some((&**text, id)),
            _ => None,
        });
        Self {
            name: name.to_owned(),
            exact,
            globs: GlobIndex::new(globs),
            top: GlobIndex::new(paths(&Anchor::Top)),
            working: GlobIndex::new(paths(&Anchor::Working)),
            paths: matchers()
                .filter(|(matcher, _)| matches!(matcher, Matcher::Path(_)))
                .map(|(_, id)| id)
                .collect(),
            all: tests.iter().map(|(id, _)| *id).collect(),
        }
    }

    fn candidates(&self, value: &Value, query: &Query<'_>, found: &mut Vec<u32>) {
        let text = match value {
            Value::Array(items) => return items.iter().for_each(|item| self.candidates(item, query, found)),
            Value::String(text) => text.as_str(),
            Value::Number(_) | Value::Bool(_) => &value.to_string(),
            Value::Object(_) => return found.extend(&self.all),
            Value::Null => return,
        };
        found.extend(self.exact.get(text).into_iter().flatten());
        if let Some(number) = numbered(text) {
            found.extend(self.exact.get(number.as_str()).into_iter().flatten());
        }
        self.globs.candidates(text, found);
        match Located::new(query.scope.cwd(), std::path::Path::new(text)) {
            Some(path) if value.is_string() => self.on_path(&path, found),
            _ => found.extend(&self.paths),
        }
    }

    fn on_path(&self, path: &Located, found: &mut Vec<u32>) {
        self.top.candidates(&path.absolute, found);
        if let Some(relative) = &path.relative {
            self.working.candidates(relative, found);
        }
    }
}

/// A number in the one form all its spellings share; `None` for a text that is none.
fn numbered(text: &str) -> Option<String> {
    // Most texts are none, and their first character shows it.
    let first = text.trim_start().bytes().next()?;
    let may = first.is_ascii_digit() || b"+-.".contains(&first);
    may.then(|| number(text)).flatten().map(|number| format!("={}", number + 0.0))
}
