//! The tool list as it is for one whole turn: what the model saw is what its calls are judged against.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use foldhash::fast::RandomState;

use super::registry::{Registered, Registry};
use crate::{
    outcome::{Refusal, RefusalCode},
    policy::Policy,
    schema::nearest,
    tool::{Origin, Route, ToolSpec},
};

/// Tools by every name they answer to, pinned.
#[derive(Debug, Default)]
pub struct Snapshot {
    by_name: HashMap<Arc<str>, Entry, RandomState>,
    routes: HashMap<Route, HashSet<Arc<str>>>,
}

#[derive(Debug, Clone)]
struct Entry {
    tool: Arc<Registered>,
    offered: Offered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offered {
    Yes,
    Disabled,
    /// Denied outright: it is answered by the deny rule, and its name is suggested to nobody.
    Hidden,
}

impl Snapshot {
    /// Pins the registry as it is now: which tools are enabled, which the policy offers.
    pub fn take(registry: &Registry, policy: &dyn Policy) -> Self {
        let mut by_name = HashMap::with_capacity_and_hasher(registry.tools().len(), RandomState::default());
        for tool in registry.tools() {
            let offered = if !tool.tool.is_enabled() {
                Offered::Disabled
            } else if policy.offers(&tool.spec) {
                Offered::Yes
            } else {
                Offered::Hidden
            };
            let entry = Entry { tool: tool.clone(), offered };
            if tool.spec.id.origin == Origin::Builtin {
                for alias in &tool.spec.aliases {
                    by_name.insert(alias.as_str().into(), entry.clone());
                }
            }
            by_name.insert(tool.label.clone(), entry);
        }
        let routes = registry.routes().iter().map(|(route, names)| {
            let labels = names
                .iter()
                .filter_map(|name| by_name.get(name.as_str()))
                .map(|entry| entry.tool.label.clone());
            (route.clone(), labels.collect())
        });
        let routes = routes.collect();
        Self { by_name, routes }
    }

    /// The tools a model is offered on a route, sorted by name.
    pub fn offered(&self, route: Option<&Route>) -> Vec<&ToolSpec> {
        let mut tools: Vec<_> = self
            .by_name
            .iter()
            .filter(|(name, entry)| **name == entry.tool.label && entry.offered == Offered::Yes)
            .filter(|(_, entry)| self.disclosed(&entry.tool, route))
            .map(|(_, entry)| &entry.tool.spec)
            .collect();
        tools.sort_by(|a, b| a.id.cmp(&b.id));
        tools
    }

    /// The tool that goes by this name on this route.
    pub(crate) fn find(&self, name: &str, route: Option<&Route>) -> Result<&Arc<Registered>, Refusal> {
        let Some(entry) = self.by_name.get(name) else { return Err(self.unknown(name, route)) };
        if !self.disclosed(&entry.tool, route) {
            let route = route.map_or("", Route::as_str);
            return Err(Refusal::new(
                RefusalCode::NotDisclosed,
                format!("The tool `{}` is not exposed on the route `{route}`.", entry.tool.label),
            )
            .with_hint("Use one of the tools you were given."));
        }
        if entry.offered == Offered::Disabled {
            let reason = format!("The tool `{}` is switched off at the moment.", entry.tool.label);
            return Err(Refusal::new(RefusalCode::NotEnabled, reason)
                .with_hint("Do without it, or try in a later turn."));
        }
        Ok(&entry.tool)
    }

    fn disclosed(&self, tool: &Registered, route: Option<&Route>) -> bool {
        // A route nobody defined exposes nothing.
        route.is_none_or(|route| self.routes.get(route).is_some_and(|tools| tools.contains(&tool.label)))
    }

    fn unknown(&self, name: &str, route: Option<&Route>) -> Refusal {
        let offered = self
            .by_name
            .iter()
            .filter(|(_, entry)| entry.offered == Offered::Yes && self.disclosed(&entry.tool, route));
        let near = nearest(name, offered.map(|(name, _)| &**name));
        let shown = crate::json::shorten(name, 80);
        let refusal = Refusal::new(RefusalCode::UnknownTool, format!("There is no tool {shown:?}."));
        match near {
            Some(near) => refusal.with_hint(format!("Did you mean `{near}`?")),
            None => refusal.with_hint("Use one of the tools you were given, by its exact name."),
        }
    }
}
