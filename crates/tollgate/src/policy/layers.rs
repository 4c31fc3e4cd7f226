//! The policy of files, flags and answers: all layers in one, and grants that change it while it runs.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use tokio::sync::watch;

use super::{
    BadRule, Policy, Query, Rule, RuleRef, Verdict,
    engine::Engine,
    rule::{Layer, Stance},
};
use crate::tool::ToolSpec;

/// Rules of all layers. Clones are the same policy.
#[derive(Clone)]
pub struct Layers {
    inner: Arc<Inner>,
}

/// What people say while a policy runs. Clones are the same; every decision from then on knows it.
#[derive(Clone)]
pub struct Grants {
    inner: Arc<Inner>,
}

struct Inner {
    fixed: Vec<Rule>,
    home: Option<PathBuf>,
    keeper: Option<Box<dyn Keeper>>,
    now: RwLock<Now>,
    changes: watch::Sender<u64>,
}

struct Now {
    given: Vec<Rule>,
    engine: Engine,
}

/// How long an Always or a Never lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifetime {
    /// Until the program ends.
    Session,
    /// In this project: written to its file.
    Project,
    /// Everywhere: written to the person's own file.
    User,
}

/// What a person says beyond one call: these rules, for so long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The rules as they were shown, without a stance: `shell(cargo test *)`.
    pub rules: Vec<String>,
    /// For how long.
    pub lifetime: Lifetime,
}

/// Writes what outlives the session to where it belongs.
pub trait Keeper: Send + Sync + 'static {
    /// Keeps one rule, and says where it stands now and what `./` means there.
    fn keep(&self, lifetime: Lifetime, stance: Stance, rule: &str) -> Result<Kept, String>;
}

/// Where a rule was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// As `tollgate.toml:14`.
    pub source: String,
    /// The folder that `./` stands for there; the working folder where there is none.
    pub folder: Option<PathBuf>,
    /// The rule as it is written there.
    pub rule: String,
}

/// Why a grant was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotGranted {
    /// The text is no rule.
    #[error("{text:?} is no rule: {why}")]
    BadRule {
        /// What was written.
        text: String,
        /// Why not.
        why: BadRule,
    },
    /// It holds for this session, but could not be written down.
    #[error("it holds for this session only: {0}")]
    NotKept(String),
    /// The policy takes no grants.
    #[error("this policy does not change while it runs")]
    Fixed,
}

impl Layers {
    /// A policy of these rules, each in its layer.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self::with(rules, None, None)
    }

    /// The same with somebody who writes grants down, and the folder `~/` stands for in them.
    pub fn with(rules: Vec<Rule>, home: Option<PathBuf>, keeper: Option<Box<dyn Keeper>>) -> Self {
        let engine = Engine::new(rules.clone());
        let now = RwLock::new(Now { given: Vec::new(), engine });
        Self { inner: Arc::new(Inner { fixed: rules, home, keeper, now, changes: watch::Sender::new(0) }) }
    }

    /// What people say while it runs.
    pub fn grants(&self) -> Grants {
        Grants { inner: self.inner.clone() }
    }

    /// Every rule in force, from the layer that binds most.
    pub fn rules(&self) -> Vec<Rule> {
        let mut rules = self.inner.look(|engine| engine.rules().to_vec());
        rules.sort_by_key(Rule::layer);
        rules
    }

    /// True where a rule, of whatever layer and for whomever, denies reading some path now.
    pub fn denies_reading(&self) -> bool {
        self.denies(Rule::is_about_reading)
    }

    /// True where a rule, of whatever layer and for whomever, denies changing some path now.
    pub fn denies_writing(&self) -> bool {
        self.denies(Rule::is_about_writing)
    }

    fn denies(&self, about: impl Fn(&Rule) -> bool) -> bool {
        let denies = |rule: &Rule| rule.stance() == Stance::Deny && about(rule);
        self.inner.look(|engine| engine.rules().iter().any(denies))
    }
}

impl Grants {
    /// A person said Always, or Never where the stance is [`Stance::Deny`].
    ///
    /// It holds from now on, also for questions that still wait. One that cannot be written down holds for the
    /// session, and the error says so.
    pub fn give(&self, stance: Stance, grant: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        self.give_to(None, stance, grant)
    }

    /// The same, about calls of a sub-agent: what holds for the session holds for that agent alone. A Never holds
    /// for all.
    pub fn give_to(
        &self,
        agent: Option<&str>,
        stance: Stance,
        grant: &Grant,
    ) -> Result<Vec<RuleRef>, NotGranted> {
        let parse = |text: &String| {
            Rule::parse(stance, text).map_err(|why| NotGranted::BadRule { text: text.clone(), why })
        };
        // All of them are read before any of them holds.
        let parsed = grant.rules.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        let (mut placed, mut trouble) = (Vec::new(), None);
        for rule in parsed {
            let kept = match (grant.lifetime, &self.inner.keeper) {
                (Lifetime::Session, _) => Ok(None),
                (_, None) => Err("nothing says where rules are kept".to_owned()),
                (lifetime, Some(keeper)) => keeper.keep(lifetime, stance, rule.text()).map(Some),
            };
            let home = self.inner.home.as_deref();
            placed.push(match kept {
                Ok(Some(kept)) => Rule::parse(stance, &kept.rule)
                    .map_err(|why| NotGranted::BadRule { text: kept.rule.clone(), why })?
                    .anchored(kept.folder.as_deref(), home)
                    .placed(grant.lifetime.layer(), kept.source),
                Ok(None) => rule.anchored(None, home).placed(Layer::Session, "a person, this session"),
                Err(why) => {
                    trouble = Some(why);
                    rule.anchored(None, home).placed(Layer::Session, "a person, this session")
                }
            });
        }
        for rule in &mut placed {
            rule.answered = true;
            if rule.layer == Layer::Session && stance == Stance::Grant {
                rule.agent = agent.map(Arc::from);
            }
        }
        let refs = placed.iter().map(Rule::reference).collect();
        self.inner.add(placed);
        trouble.map_or(Ok(refs), |why| Err(NotGranted::NotKept(why)))
    }

    /// What was given so far.
    pub fn list(&self) -> Vec<RuleRef> {
        let now = self.inner.now.read().unwrap_or_else(PoisonError::into_inner);
        now.given.iter().map(Rule::reference).collect()
    }

    /// Tells when something was given; the number grows with each.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }
}

impl Inner {
    fn add(&self, rules: Vec<Rule>) {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        now.given.extend(rules);
        now.engine = Engine::new(self.fixed.iter().chain(&now.given).cloned().collect());
        drop(now);
        self.changes.send_modify(|count| *count += 1);
    }

    fn look<T>(&self, look: impl FnOnce(&Engine) -> T) -> T {
        look(&self.now.read().unwrap_or_else(PoisonError::into_inner).engine)
    }
}

impl Policy for Layers {
    fn forbids(&self, query: &Query<'_>) -> Option<Verdict> {
        self.inner.look(|engine| engine.forbids(query))
    }

    fn decide(&self, query: &Query<'_>) -> Verdict {
        self.inner.look(|engine| engine.decide(query))
    }

    fn offers(&self, tool: &ToolSpec) -> bool {
        self.inner.look(|engine| engine.offers(tool))
    }

    fn remember(&self, stance: Stance, grant: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        self.grants().give(stance, grant)
    }

    fn remember_for(&self, agent: &str, stance: Stance, grant: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        self.grants().give_to(Some(agent), stance, grant)
    }

    fn changed(&self) -> Option<watch::Receiver<u64>> {
        Some(self.grants().changed())
    }
}

impl Lifetime {
    fn layer(self) -> Layer {
        match self {
            Self::Session => Layer::Session,
            Self::Project => Layer::Project,
            Self::User => Layer::User,
        }
    }
}

impl std::fmt::Debug for Layers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layers").field("rules", &self.inner.look(|engine| engine.rules().len())).finish()
    }
}

impl std::fmt::Debug for Grants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grants").field("given", &self.list()).finish()
    }
}
