//! Rules of all layers, indexed once, and the one order in which they decide.

use std::{
    path::Path,
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::fast::RandomState;

use super::{
    Decision, Protected, Query, Rule, RuleRef, Verdict, default_verdict, lexical_path,
    rule::{Layer, Located, Stance, Touch},
};
use crate::tool::{Owner, Resource, ToolId, ToolSpec};

mod hits;
mod prepared;
mod touched;
mod cover;

use hits::Hits;
use prepared::{Named, Prepared};
use touched::Touched;

/// The rules, and what is needed to find those that speak of a call.
///
/// In this order: a deny; an ask marked always; a grant, as far as the layers above let it; an ask; what is
/// protected; an allow; the defaults.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    rules: Vec<Rule>,
    refs: Vec<RuleRef>,
    named: Named,
    touched: Touched,
    denies: bool,
    // What the rules say of a tool before its arguments are known, looked up once per tool. It is kept with the tool,
    // and here where the tool keeps another engine's.
    owner: Owner,
    prepared: RwLock<std::collections::HashMap<ToolId, Arc<Prepared>, RandomState>>,
}

impl Engine {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        Self {
            refs: rules.iter().map(Rule::reference).collect(),
            named: Named::new(&rules),
            touched: Touched::new(&rules),
            denies: rules.iter().any(|rule| rule.stance == Stance::Deny),
            owner: Owner::new(),
            prepared: RwLock::default(),
            rules,
        }
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What may not run whatever else is said.
    pub(crate) fn forbids(&self, query: &Query<'_>) -> Option<Verdict> {
        if let Some(verdict) = own_files(query) {
            return Some(verdict);
        }
        if !self.denies {
            return None;
        }
        self.with_prepared(query.tool, |prepared| {
            let mut found = Vec::new();
            let whole = self.whole(prepared, query, &mut found);
            let touched =
                query.effects.touches.iter().map(|resource| self.touch(resource, query, &mut found).deny);
            hits::best(&self.rules, std::iter::once(whole.deny).chain(touched).flatten())
                .map(|id| self.verdict(id))
        })
    }

    /// The whole decision.
    pub(crate) fn decide(&self, query: &Query<'_>) -> Verdict {
        self.with_prepared(query.tool, |prepared| {
            if query.effects.touches.is_empty() && prepared.is_settled() {
                return self.by_tool(&prepared.whole, query);
            }
            own_files(query).unwrap_or_else(|| self.by_call(prepared, query))
        })
    }

    /// False when a rule denies every call of the tool.
    pub(crate) fn offers(&self, tool: &ToolSpec) -> bool {
        !self.denies || self.with_prepared(tool, |prepared| prepared.outright.is_none())
    }

    fn by_tool(&self, whole: &Hits, query: &Query<'_>) -> Verdict {
        match whole.decided(&self.rules) {
            Some(id) => self.verdict(id),
            None => default_verdict(query),
        }
    }

    fn by_call(&self, prepared: &Prepared, query: &Query<'_>) -> Verdict {
        let (mut found, mut widening) = (Vec::new(), Vec::new());
        let whole = self.whole(prepared, query, &mut found);
        widening.extend(found.iter().filter(|id| self.rule(**id).stance.widens()));
        let touches: Vec<Hits> = query
            .effects
            .touches
            .iter()
            .map(|resource| {
                let hits = self.touch(resource, query, &mut found);
                widening.extend(found.iter().filter(|id| self.rule(**id).stance.widens()));
                hits
            })
            .collect();
        let all = || std::iter::once(&whole).chain(&touches);
        if let Some(deny) = hits::best(&self.rules, all().filter_map(|hits| hits.deny)) {
            return self.verdict(deny);
        }
        if let Some(always) = hits::best(&self.rules, all().filter_map(|hits| hits.always)) {
            return self.verdict(always);
        }
        let case = cover::Case { engine: self, query, whole: &whole, touches: &touches };
        if let Some(ask) = case.unbeaten() {
            return self.verdict(ask);
        }
        if let Some(verdict) = self.protected(query, &widening) {
            return verdict;
        }
        if prepared.shellish && (case.unclear() || self.could_be_guarded(query)) {
            return Verdict::by_default(Decision::Ask, "what it would run cannot be told from the call");
        }
        match whole.grant.or(whole.allow).or_else(|| case.allowed()) {
            Some(id) => self.verdict(id),
            // What only reads inside the roots needs no rule; for anything else, the part that lacks one is named.
            None => match default_verdict(query) {
                allowed if allowed.decision == Decision::Allow => allowed,
                default => case.unmet().unwrap_or(default),
            },
        }
    }

    /// True when a command that is only known when it runs could be one that a rule asks about or denies.
    fn could_be_guarded(&self, query: &Query<'_>) -> bool {
        query.effects.touches.iter().any(|resource| {
            let Resource::Unclear { unclear } = resource else { return false };
            self.touched.guarding().any(|id| {
                let rule = self.rule(id);
                let could =
                    matches!(&rule.touch, Some(Touch::Command(pattern)) if pattern.could_mean(unclear));
                could && rule.speaks_of(query.tool) && rule.holds(query)
            })
        })
    }

    /// What is guarded even where its folder is allowed, unless a rule that lets it names it.
    fn protected(&self, query: &Query<'_>, widening: &[u32]) -> Option<Verdict> {
        query.effects.touches.iter().find_map(|resource| {
            let Resource::Path { path, access } = resource else { return None };
            let absolute = lexical_path(query.scope.cwd(), path)?;
            let (kind, name) = query.scope.protection.find(&absolute)?;
            if !kind.guards(*access)
                || widening.iter().any(|id| names(self.rule(*id), resource, query, &name))
            {
                return None;
            }
            let reason = format!("{:?}: {}", path.display().to_string(), kind.reason());
            Some(Verdict {
                decision: Decision::Ask,
                rule: None,
                reason: Some(reason.into()),
                protected: Some(kind),
            })
        })
    }

    /// What the rules over whole calls say; `found` holds those that depend on the call and apply.
    fn whole(&self, prepared: &Prepared, query: &Query<'_>, found: &mut Vec<u32>) -> Hits {
        found.clear();
        let mut hits = prepared.whole;
        prepared.conditional.candidates(query, found);
        found.retain(|id| self.rule(*id).holds(query));
        found.iter().for_each(|id| hits.note(&self.rules, *id));
        hits
    }

    /// What the rules over things say of one thing; `found` holds those that apply.
    fn touch(&self, resource: &Resource, query: &Query<'_>, found: &mut Vec<u32>) -> Hits {
        found.clear();
        let mut hits = Hits::default();
        self.touched.candidates(resource, query, found);
        found.retain(|id| {
            let rule = self.rule(*id);
            rule.touches(resource, query) && rule.speaks_of(query.tool) && rule.holds(query)
        });
        found.iter().for_each(|id| hits.note(&self.rules, *id));
        hits
    }

    fn with_prepared<T>(&self, tool: &ToolSpec, look: impl FnOnce(&Prepared) -> T) -> T {
        let prepare = || Arc::new(Prepared::new(&self.rules, &self.named, tool));
        if let Some(known) = tool.judged.of(self.owner, prepare) {
            return look(known);
        }
        let prepared = self.prepared.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = prepared.get(&tool.id) {
            return look(known);
        }
        drop(prepared);
        let made = prepare();
        let mut prepared = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        prepared.insert(tool.id.clone(), made.clone());
        drop(prepared);
        look(&made)
    }

    fn rule(&self, id: u32) -> &Rule {
        &self.rules[id as usize]
    }

    fn verdict(&self, id: u32) -> Verdict {
        let rule = self.rule(id);
        Verdict {
            decision: rule.stance.decision(),
            rule: Some(self.refs[id as usize].clone()),
            reason: rule.reason.clone(),
            protected: None,
        }
    }
}

/// Our own files are refused to every tool, whatever the rules say.
fn own_files(query: &Query<'_>) -> Option<Verdict> {
    query.effects.touches.iter().find_map(|resource| {
        let Resource::Path { path, .. } = resource else { return None };
        let absolute = lexical_path(query.scope.cwd(), path)?;
        let (kind, _) = query.scope.protection.find(&absolute)?;
        (kind == Protected::Own).then(|| Verdict {
            decision: Decision::Deny,
            rule: None,
            reason: Some(format!("{:?}: {}.", path.display().to_string(), kind.reason()).into()),
            protected: Some(kind),
        })
    })
}

/// True when the rule does not just happen to mean a guarded path, but names it.
fn names(rule: &Rule, resource: &Resource, query: &Query<'_>, name: &str) -> bool {
    let Resource::Path { path, .. } = resource else { return false };
    let same = |text: &str| {
        let cwd = query.scope.cwd();
        lexical_path(cwd, Path::new(text)) == lexical_path(cwd, path)
    };
    match &rule.touch {
        Some(Touch::Path { pattern, .. }) => rule.touches(resource, query) && pattern.names(name),
        Some(Touch::Command(pattern)) => pattern.says(same),
        Some(Touch::Host(_)) => false,
        None => rule.args.iter().flat_map(|arg| arg.test.all()).any(|matcher| match matcher {
            super::rule::Matcher::Exact(text) => same(text),
            super::rule::Matcher::Path(pattern) => {
                pattern.names(name)
                    && Located::new(query.scope.cwd(), path).is_some_and(|located| {
                        pattern.matches(&located, crate::tool::Access::Write, rule.reading())
                    })
            }
            _ => false,
        }),
    }
}

/// How much a rule binds, the less the more. Grants and asks are held against each other by it.
///
/// What a person answers beats every ask but the machine's. A flag that asks beats what was granted before.
fn rank(rule: &Rule) -> u8 {
    let grants = rule.stance == Stance::Grant;
    match rule.layer {
        layer if !grants && rule.stance != Stance::Ask => layer as u8,
        Layer::Managed => 0,
        _ if grants && rule.answered => 1,
        Layer::Session if !grants => 2,
        Layer::User | Layer::Session => 3,
        Layer::Project if grants => 3,
        Layer::Project => 4,
    }
}
