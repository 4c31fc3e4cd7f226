//! A rule: which calls are meant, and what is done about them.

use std::{path::Path, sync::Arc};

use super::{Decision, Pattern, Query, RuleRef};
use crate::tool::{Access, Resource, ToolSpec};

mod words;
mod command;
mod unclear;
mod path;
mod host;
mod args;
mod parse;
mod wider;
#[cfg(test)]
mod wider_tests;

pub(crate) use args::{ArgMatcher, Matcher, Pointer, Test, number, unnamed};
pub(crate) use command::CommandPattern;
pub(crate) use host::{HostPattern, normal as host_name};
pub use parse::BadRule;
pub(crate) use path::{Anchor, Located, PathPattern};
pub(crate) use words::quoted;
#[cfg(feature = "config")]
pub(crate) use {
    parse::{folder as folder_of, hosted, value_of},
    words::split,
};

/// What a rule does about the calls it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stance {
    /// They may not run. Nothing beats it.
    Deny,
    /// A person says each time, whatever was granted.
    AskAlways,
    /// They run: a person said so. Beats a plain ask.
    Grant,
    /// A person says, unless it was granted.
    Ask,
    /// They run, where nothing asks or denies.
    Allow,
}

/// Where a rule comes from, from the one that binds most to the one that binds least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Whoever runs the machine.
    Managed,
    /// The person's own file.
    User,
    /// The project's file.
    Project,
    /// Flags of this run, and what was granted in it.
    Session,
}

/// Reads rules narrowly or widely: what widens must mean exactly what it says, what tightens all it could mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Narrow,
    Wide,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    pub(crate) stance: Stance,
    /// The tools it speaks of; `None` for all of them.
    pub(crate) tool: Option<Pattern>,
    pub(crate) args: Vec<ArgMatcher>,
    /// No arguments but those that are named.
    pub(crate) only: bool,
    /// Exactly the arguments with this hash.
    pub(crate) exactly: Option<Arc<str>>,
    /// What of a call it speaks of; `None` for the whole call.
    pub(crate) touch: Option<Touch>,
    pub(crate) caller: Option<Arc<str>>,
    pub(crate) route: Option<Arc<str>>,
    pub(crate) agent: Option<Arc<str>>,
    pub(crate) reason: Option<Arc<str>>,
    pub(crate) layer: Layer,
    /// A person said it while the policy ran.
    pub(crate) answered: bool,
    /// Written without the stance, as `shell(git push *)`.
    pub(crate) text: Arc<str>,
    pub(crate) source: Arc<str>,
}

/// A thing a rule speaks of, whichever tool touches it.
#[derive(Debug, Clone)]
pub(crate) enum Touch {
    Path { access: Option<Access>, pattern: PathPattern },
    Host(HostPattern),
    Command(CommandPattern),
}

impl Rule {
    /// What it does.
    pub fn stance(&self) -> Stance {
        self.stance
    }

    /// True for a rule about reading paths, by whatever tool.
    pub fn is_about_reading(&self) -> bool {
        matches!(&self.touch, Some(Touch::Path { access, .. }) if *access != Some(Access::Write))
    }

    /// True for a rule about changing paths, by whatever tool.
    pub fn is_about_writing(&self) -> bool {
        matches!(&self.touch, Some(Touch::Path { access, .. }) if *access != Some(Access::Read))
    }

    /// Which layer it stands in.
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// The rule without its stance, as `shell(git push *)`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it is written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Why it is there, where its author says.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// The rule with its stance and its place.
    pub fn reference(&self) -> RuleRef {
        let text = format!("{} {}", self.stance.verb(), self.text);
        RuleRef::new(text.into(), self.source.clone(), Some(self.layer))
    }

    /// The same rule in this layer, written at this place.
    #[must_use]
    pub fn placed(mut self, layer: Layer, source: impl Into<Arc<str>>) -> Self {
        self.layer = layer;
        self.source = source.into();
        self
    }

    /// The same rule with the folder that `./` and the one that `~/` stand for. Without a folder, `./` is the
    /// working folder of each call; without a home, a `~/` pattern means nothing.
    #[must_use]
    pub fn anchored(mut self, folder: Option<&Path>, home: Option<&Path>) -> Self {
        if let Some(Touch::Path { pattern, .. }) = &mut self.touch {
            pattern.anchor(folder, home);
        }
        self.args.iter_mut().for_each(|matcher| matcher.anchor(folder, home));
        self
    }

    /// True when it could mean a call of this tool.
    pub fn speaks_of(&self, tool: &ToolSpec) -> bool {
        match (&self.tool, self.reading()) {
            // A tool that wants to be named is allowed by no rule that does not name it.
            (None, Reading::Narrow) => !tool.explicit_only,
            (None, Reading::Wide) => true,
            (Some(pattern), Reading::Narrow) => pattern.matches(tool),
            (Some(pattern), Reading::Wide) => pattern.covers(tool),
        }
    }

    /// True when it speaks of a home folder that nobody knows.
    #[cfg(feature = "config")]
    pub(crate) fn is_homeless(&self) -> bool {
        let homeless = |pattern: &PathPattern| *pattern.anchored_at() == Anchor::Home;
        matches!(&self.touch, Some(Touch::Path { pattern, .. }) if homeless(pattern))
            || self.args.iter().flat_map(|arg| arg.test.all()).any(|matcher| match matcher {
                Matcher::Path(pattern) => homeless(pattern),
                _ => false,
            })
    }

    /// True when it means every call of the tools it speaks of.
    pub(crate) fn is_outright(&self) -> bool {
        self.touch.is_none() && !self.is_conditional()
    }

    /// True when arguments or the scope of a call decide whether it is meant.
    pub(crate) fn is_conditional(&self) -> bool {
        !self.args.is_empty()
            || self.only
            || self.exactly.is_some()
            || self.caller.is_some()
            || self.route.is_some()
            || self.agent.is_some()
            || self.is_of_the_main_agent()
    }

    /// True for what a person granted while the main agent ran: its sub-agents do not inherit it.
    fn is_of_the_main_agent(&self) -> bool {
        self.answered && self.stance == Stance::Grant && self.layer == Layer::Session && self.agent.is_none()
    }

    /// True when its conditions hold for the call: arguments, caller, route, agent. The tool and what is touched
    /// are looked at elsewhere.
    pub(crate) fn holds(&self, query: &Query<'_>) -> bool {
        let glob = super::pattern::glob;
        let scope = query.scope;
        let named = |wanted: &Option<Arc<str>>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| is.is_some_and(|is| glob(wanted, is)))
        };
        named(&self.caller, Some(scope.caller.as_str()))
            && named(&self.route, scope.route.as_ref().map(crate::tool::Route::as_str))
            && named(&self.agent, scope.agent.as_deref())
            && !(scope.agent.is_some() && self.is_of_the_main_agent())
            && self.args.iter().all(|matcher| matcher.matches(query, self.reading()))
            && (!self.only || self.names_all(query))
            && self.exactly.as_deref().is_none_or(|hash| hash == super::trust::fingerprint(&query.args))
    }

    fn names_all(&self, query: &Query<'_>) -> bool {
        let named = |key: &String| self.args.iter().any(|matcher| matcher.pointer.first() == Some(key));
        query.args.as_object().is_some_and(|map| map.keys().all(named))
    }

    /// True when it means this thing that a call touches.
    pub(crate) fn touches(&self, resource: &Resource, query: &Query<'_>) -> bool {
        let reading = self.reading();
        match (&self.touch, resource) {
            (Some(Touch::Path { access, pattern }), Resource::Path { path, access: done }) => {
                access.is_none_or(|access| access == *done)
                    && Located::new(query.scope.cwd(), path)
                        .is_some_and(|path| pattern.matches(&path, *done, reading))
            }
            (Some(Touch::Host(pattern)), Resource::Host { host }) => pattern.matches(host, reading),
            (Some(Touch::Command(pattern)), Resource::Command { command }) => {
                pattern.matches(command, reading)
            }
            _ => false,
        }
    }

    /// True when the rule means the call or something it touches.
    pub(crate) fn means(&self, query: &Query<'_>) -> bool {
        self.speaks_of(query.tool)
            && self.holds(query)
            && (self.touch.is_none()
                || query.effects.touches.iter().any(|resource| self.touches(resource, query)))
    }

    pub(crate) fn reading(&self) -> Reading {
        match self.stance {
            Stance::Grant | Stance::Allow => Reading::Narrow,
            Stance::Deny | Stance::AskAlways | Stance::Ask => Reading::Wide,
        }
    }
}

impl Stance {
    /// What it comes to.
    pub fn decision(self) -> Decision {
        match self {
            Self::Deny => Decision::Deny,
            Self::AskAlways | Self::Ask => Decision::Ask,
            Self::Grant | Self::Allow => Decision::Allow,
        }
    }

    /// True when it lets something run that would not run without it.
    pub fn widens(self) -> bool {
        matches!(self, Self::Grant | Self::Allow)
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::AskAlways => "ask always",
            Self::Ask => "ask",
            Self::Grant | Self::Allow => "allow",
        }
    }
}

impl From<Decision> for Stance {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Allow,
            Decision::Ask => Self::Ask,
            Decision::Deny => Self::Deny,
        }
    }
}

impl Layer {
    /// From the one that binds most.
    pub const ALL: [Self; 4] = [Self::Managed, Self::User, Self::Project, Self::Session];

    /// The name people know it by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Project => "project",
            Self::Session => "session",
        }
    }
}
