//! The tool list as it is for one whole turn: what the model saw is what its calls are judged against.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use foldhash::fast::RandomState;

use super::{
    Absent,
    deferred::{LazyIndex, Loaded},
    offer::Offers,
    registry::{Registered, Registry},
};
use crate::{
    call::Proposed,
    guard::caught,
    outcome::{Refusal, RefusalCode},
    policy::Policy,
    schema::nearest,
    tool::{Origin, Route, ToolSpec, Visibility},
};

/// Tools by every name they answer to, pinned.
#[derive(Debug, Default)]
pub struct Snapshot {
    // The pool: built-ins first, then bridged tools, each sorted by name.
    pool: Vec<Entry>,
    by_name: HashMap<Arc<str>, u32, RandomState>,
    routes: HashMap<Route, HashSet<Arc<str>>>,
    absent: Vec<Missing>,
    index: LazyIndex,
    loaded: Loaded,
    // What was loaded when the snapshot was taken; what is loaded later shows from the next one on.
    shown: BTreeSet<Arc<str>>,
    offers: Offers,
}

/// A server whose tools are not there, and the routes that name one of them: on others it is not spoken of.
#[derive(Debug)]
struct Missing {
    server: Absent,
    routes: HashSet<Route>,
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
    /// Pins the registry as it is now: which tools are enabled, which the policy offers, which are loaded.
    pub fn take(registry: &Registry, policy: &dyn Policy, loaded: &Loaded) -> Self {
        let mut pool: Vec<Entry> = registry
            .tools()
            .iter()
            .map(|tool| Entry { tool: tool.clone(), offered: offered(tool, policy) })
            .collect();
        pool.sort_by(|a, b| a.tool.spec.id.cmp(&b.tool.spec.id));
        let mut by_name = HashMap::with_capacity_and_hasher(pool.len(), RandomState::default());
        for (at, entry) in (0u32..).zip(&pool) {
            if entry.tool.spec.id.origin == Origin::Builtin {
                for alias in &entry.tool.spec.aliases {
                    by_name.insert(alias.as_str().into(), at);
                }
            }
            by_name.insert(entry.tool.label.clone(), at);
        }
        // By its name on the wire, or as rules write it: `@server/tool`.
        let by_id = |name: &str| {
            let (server, own) = name.strip_prefix('@')?.split_once('/')?;
            let at = by_name.get(format!("{server}__{own}").as_str()).or_else(|| by_name.get(own))?;
            (pool[*at as usize].tool.spec.id.to_string() == name).then_some(at)
        };
        let label_of = |name: &String| {
            let at: &u32 = by_name.get(name.as_str()).or_else(|| by_id(name))?;
            Some(pool[*at as usize].tool.label.clone())
        };
        let routes = registry.routes().iter();
        let routes =
            routes.map(|(route, names)| (route.clone(), names.iter().filter_map(label_of).collect()));
        let routes = routes.collect();
        Self {
            by_name,
            routes,
            absent: registry.absent().iter().map(|server| missing(server, registry)).collect(),
            pool,
            index: LazyIndex::default(),
            shown: loaded.labels(),
            offers: Offers::default(),
            loaded: loaded.clone(),
        }
    }

    /// True when the same registry would be pinned the same way now.
    pub(crate) fn still_holds(&self, registry: &Registry, policy: &dyn Policy, loaded: &Loaded) -> bool {
        let same = |tool: &Arc<Registered>| {
            let entry = self.by_name.get(&tool.label).map(|at| &self.pool[*at as usize]);
            entry
                .is_some_and(|entry| Arc::ptr_eq(&entry.tool, tool) && entry.offered == offered(tool, policy))
        };
        registry.tools().len() == self.pool.len()
            && registry.absent().iter().eq(self.absent.iter().map(|missing| &missing.server))
            && registry.tools().iter().all(same)
            && loaded.labels() == self.shown
    }

    /// The tools a model is offered on a route, in the pool's order. Deferred ones only when they are loaded.
    pub fn offered(&self, route: Option<&Route>) -> impl Iterator<Item = (&Arc<str>, &ToolSpec)> {
        self.reachable(route)
            .filter(|(label, spec)| spec.visibility != Visibility::Deferred || self.shown.contains(*label))
    }

    /// Every tool a call on this route could reach, deferred ones included.
    pub fn reachable(&self, route: Option<&Route>) -> impl Iterator<Item = (&Arc<str>, &ToolSpec)> {
        self.pool
            .iter()
            .filter(move |entry| entry.offered == Offered::Yes && self.disclosed(&entry.tool, route))
            .map(|entry| (&entry.tool.label, &entry.tool.spec))
    }

    /// The reachable tools that fit a query, best first.
    pub fn search(&self, query: &str, limit: usize, route: Option<&Route>) -> Vec<(&Arc<str>, &ToolSpec)> {
        let index = self.index.get(self.pool.iter().map(|entry| (&*entry.tool.label, &entry.tool.spec)));
        let reachable = |at: usize| {
            let entry = &self.pool[at];
            entry.offered == Offered::Yes && self.disclosed(&entry.tool, route)
        };
        let hits = index.search_among(query, limit, reachable);
        hits.iter().map(|hit| &self.pool[hit.document].tool).map(|tool| (&tool.label, &tool.spec)).collect()
    }

    /// The tool that goes by this name on this route. A deferred one that is called by its right name is loaded.
    pub(crate) fn find(&self, name: &str, route: Option<&Route>) -> Result<&Arc<Registered>, Refusal> {
        let Some(entry) = self.by_name.get(name).map(|at| &self.pool[*at as usize]) else {
            return Err(self.unknown(name, route));
        };
        let label = &entry.tool.label;
        if !self.disclosed(&entry.tool, route) {
            let route = route.map_or("", Route::as_str);
            let reason = format!("The tool `{label}` is not exposed on the route `{route}`.");
            return Err(Refusal::new(RefusalCode::NotDisclosed, reason)
                .with_hint("Use one of the tools you were given."));
        }
        if entry.offered == Offered::Disabled {
            let reason = format!("The tool `{label}` is switched off at the moment.");
            return Err(Refusal::new(RefusalCode::NotEnabled, reason)
                .with_hint("Do without it, or try in a later turn."));
        }
        if entry.tool.spec.visibility == Visibility::Deferred {
            self.loaded.load(label);
        }
        Ok(&entry.tool)
    }

    /// True where a call has the form of one: it names a tool that is offered on this route, with arguments its
    /// schema takes. Judges nothing else, and loads, runs and permits nothing.
    pub fn takes(&self, call: &Proposed, route: Option<&Route>) -> bool {
        let entry = self.by_name.get(call.name.as_str()).map(|at| &self.pool[*at as usize]);
        let Some(Entry { tool, offered: Offered::Yes }) = entry else { return false };
        let in_sight = tool.spec.visibility != Visibility::Deferred || self.shown.contains(&tool.label);
        call.fault().is_none()
            && in_sight
            && self.disclosed(tool, route)
            && call.arguments().is_some_and(|args| args.is_object() && tool.input.accepts(&args))
    }

    pub(super) fn is_loaded(&self, label: &Arc<str>) -> bool {
        self.shown.contains(label)
    }

    pub(super) fn offers(&self) -> &Offers {
        &self.offers
    }

    fn disclosed(&self, tool: &Registered, route: Option<&Route>) -> bool {
        // A route nobody defined exposes nothing.
        route.is_none_or(|route| self.routes.get(route).is_some_and(|tools| tools.contains(&tool.label)))
    }

    #[cold]
    fn unknown(&self, name: &str, route: Option<&Route>) -> Refusal {
        let told = |missing: &&Missing| route.is_none_or(|route| missing.routes.contains(route));
        if let Some(missing) = self.absent.iter().filter(told).find(|missing| missing.server.has(name)) {
            return missing.server.refusal(name);
        }
        let near = nearest(name, self.reachable(route).map(|(label, _)| &**label));
        let shown = crate::json::shorten(name, 80);
        let refusal = Refusal::new(RefusalCode::UnknownTool, format!("There is no tool {shown:?}."));
        match near {
            Some(near) => refusal.with_hint(format!("Did you mean `{near}`?")),
            None => refusal.with_hint("Use one of the tools you were given, by its exact name."),
        }
    }
}

fn missing(server: &Absent, registry: &Registry) -> Missing {
    let names_it = |names: &Vec<String>| names.iter().any(|name| server.has(name));
    let routes = registry.routes().iter().filter(|(_, names)| names_it(names));
    Missing { server: server.clone(), routes: routes.map(|(route, _)| route.clone()).collect() }
}

/// A tool that fails when it is asked is not enabled, and a policy that fails offers nothing.
fn offered(tool: &Registered, policy: &dyn Policy) -> Offered {
    if !caught(|| tool.tool.is_enabled()).unwrap_or(false) {
        Offered::Disabled
    } else if caught(|| policy.offers(&tool.spec)).unwrap_or(false) {
        Offered::Yes
    } else {
        Offered::Hidden
    }
}
