//! The policy of this run: files where they are looked for, and the flags of the command line.

use std::path::{Path, PathBuf};

use tollgate::policy::{
    Decision, Layer, Layers, Policy as _, Protection, Query, Rule, RuleRef,
    config::{BadConfig, FILE_NAME, Loaded, LoadedFile, Sources},
};

use crate::{
    args::{Environment, Shared},
    exit::Fault,
    hooks,
    run::settings::{SECTIONS, Settings},
    sandbox, servers,
    world::given_rules,
};

/// The file of whoever runs the machine.
const MANAGED: &str = "/etc/tollgate/tollgate.toml";

/// The policy and where it comes from.
pub(crate) struct Config {
    pub(crate) policy: Layers,
    pub(crate) loaded: Loaded,
    own: Vec<PathBuf>,
}

impl Config {
    /// Reads every file, all of it, and every flag, or says which one is wrong. A section this command does not use is
    /// read as strictly: whoever has mistyped it hears of it now, and not once it should have held.
    pub(crate) fn load(shared: &Shared, environment: &Environment, working: &Path) -> Result<Self, Fault> {
        let config = Self::rules(shared, environment, working)?;
        for LoadedFile { path, file, .. } in &config.loaded.files {
            hooks::of_file(path, file)?;
            sandbox::of_file(path, file, environment.home.as_deref())?;
            Settings::of_file(path, file)?;
            servers::of_file(path, file, environment)?;
        }
        Ok(config)
    }

    /// The same without a look at the other sections, for whoever reads each by itself.
    pub(crate) fn rules(shared: &Shared, environment: &Environment, working: &Path) -> Result<Self, Fault> {
        let sources = sources(shared, environment, working);
        let loaded = sources.load().map_err(unusable)?;
        let rules = loaded.rules.iter().cloned().chain(flags(shared, environment)?).collect();
        let policy = Layers::with(rules, environment.home.clone(), Some(Box::new(sources.keeper())));
        Ok(Self { policy, own: own_places(environment), loaded })
    }

    /// The rule of a project's file that would let this call run, were its file trusted. It may take several: then one that
    /// it cannot do without.
    pub(crate) fn inert_rule(&self, query: &Query<'_>) -> Option<RuleRef> {
        let inert = &self.loaded.inert;
        let with = |inert: &[&Rule]| {
            let rules = self.policy.rules().into_iter().chain(inert.iter().copied().cloned()).collect();
            let verdict = Layers::new(rules).decide(query);
            (verdict.decision == Decision::Allow).then_some(verdict.rule)
        };
        let all: Vec<_> = inert.iter().collect();
        // Where the rules in force let it run, it was somebody else who asked.
        if all.is_empty() || with(&[]).is_some() {
            return None;
        }
        let told = with(&all)?.filter(|told| all.iter().any(|rule| rule.reference() == *told));
        let needed = |rule: &&Rule| {
            let others: Vec<_> = inert.iter().filter(|other| !std::ptr::eq(*other, *rule)).collect();
            with(&others).is_none()
        };
        told.or_else(|| all.into_iter().find(needed).map(Rule::reference))
    }

    /// What no tool may touch here.
    pub(crate) fn protection(&self) -> Protection {
        Protection::with_own(self.own())
    }

    /// Every place of ours, as it is written and as what it really is.
    pub(crate) fn own(&self) -> impl Iterator<Item = PathBuf> {
        let real = self.own.iter().filter_map(|place| place.canonicalize().ok());
        self.own.iter().cloned().chain(real)
    }
}

/// The rules of the command line, each with the option it came by.
pub(crate) fn flags(shared: &Shared, environment: &Environment) -> Result<Vec<Rule>, Fault> {
    let rule = |(option, stance, text): (&'static str, _, &str)| {
        let rule = Rule::parse(stance, text).map_err(|error| {
            let hint = error.hint.clone().unwrap_or_else(|| {
                "a rule is a tool's name, a glob as `rea*`, `@server/get_*`, `read(./**)`, `write(…)`, `host(…)`, \
                 `shell(git status *)` or `tool(argument=value)`."
                    .to_owned()
            });
            Fault::usage(format!("{option} {text:?} is no rule: {error}"), hint)
        })?;
        Ok(rule.anchored(None, environment.home.as_deref()).placed(Layer::Session, option))
    };
    given_rules(shared).map(rule).collect()
}

/// Where files are looked for.
pub(crate) fn sources(shared: &Shared, environment: &Environment, working: &Path) -> Sources {
    let read = !shared.no_config;
    Sources {
        managed: Some(PathBuf::from(MANAGED)),
        user: config_folder(environment).map(|folder| folder.join(FILE_NAME)).filter(|_| read),
        working: read.then(|| working.to_owned()),
        trust: data_folder(environment).map(|folder| folder.join("trust.json")),
        home: environment.home.clone(),
        sections: ["hook", "sandbox", tollgate_mcp::config::SECTION].into_iter().chain(SECTIONS).collect(),
    }
}

/// Where a person's own policy is.
pub(crate) fn config_folder(environment: &Environment) -> Option<PathBuf> {
    ours(environment, environment.config_home.as_ref(), ".config")
}

/// Where a person's data of ours is.
pub(crate) fn data_folder(environment: &Environment) -> Option<PathBuf> {
    ours(environment, environment.data_home.as_ref(), ".local/share")
}

fn ours(environment: &Environment, named: Option<&PathBuf>, usual: &str) -> Option<PathBuf> {
    if let Some(home) = &environment.tollgate_home {
        return Some(home.clone());
    }
    // The specification says that a relative one is to be ignored.
    let folder = named.filter(|named| named.is_absolute()).cloned();
    let folder = folder.or_else(|| environment.home.as_ref().map(|home| home.join(usual)));
    folder.map(|folder| folder.join("tollgate"))
}

/// Every place of ours, whether it exists yet or not.
fn own_places(environment: &Environment) -> Vec<PathBuf> {
    let folders = [
        config_folder(environment),
        data_folder(environment),
        Path::new(MANAGED).parent().map(Path::to_owned),
    ];
    folders.into_iter().flatten().collect()
}

/// A file that cannot be used is for the person to put right.
pub(crate) fn unusable(bad: BadConfig) -> Fault {
    Fault::usage(bad.to_string(), bad.hint)
}
