//! The registry: immutable; what is wrong with a tool is an error when it is registered.

use std::{collections::HashMap, fmt, sync::Arc};

use foldhash::fast::RandomState;

use super::{
    Absent,
    bulk::{Open, Ready, compile, compile_all},
};
use crate::{
    schema::{BadSchema, Compiled},
    tool::{BadName, Erased, Origin, Route, Tool, ToolId, ToolName, ToolSpec, erase},
};

/// The tools of a program. Registering returns a new registry; an old one never changes.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<Registered>>,
    taken: HashMap<Arc<str>, ToolId, RandomState>,
    routes: HashMap<Route, Vec<String>>,
    absent: Vec<Absent>,
    open: Open,
}

/// A tool with everything that is computed once.
pub(crate) struct Registered {
    pub(crate) spec: ToolSpec,
    pub(crate) label: Arc<str>,
    pub(crate) input: Compiled,
    pub(crate) output: Option<Compiled>,
    pub(crate) tool: Arc<dyn Erased>,
}

/// Why a tool cannot be registered. Names the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Its name cannot be one.
    #[error("tool {tool:?}: {source}")]
    Name {
        /// The name as given.
        tool: String,
        /// What is wrong with it.
        source: BadName,
    },
    /// Its name or alias is taken.
    #[error("tool `{tool}`: the name `{name}` is already taken by `{by}`")]
    Duplicate {
        /// The tool that came second.
        tool: String,
        /// The name both want.
        name: String,
        /// The tool that has it.
        by: String,
    },
    /// Its schema cannot be used.
    #[error("tool `{tool}`: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        source: BadSchema,
    },
    /// Two built-in or same-server names would be one on the wire.
    #[error("tool `{tool}`: {message}")]
    Other {
        /// The tool.
        tool: String,
        /// What is wrong.
        message: String,
    },
}

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one tool more.
    pub fn with(mut self, tool: impl Tool) -> Result<Self, RegistryError> {
        let tool = erase(tool);
        let spec = tool.spec();
        let ready = compile(&spec, &self.open);
        self.add(tool, spec, ready)?;
        Ok(self)
    }

    /// The same with every tool that can be registered, and why the others cannot. Takes time in proportion to
    /// the tools, where [`Registry::with`] would have to be given a copy for each that may fail; of many, the
    /// schemas are compiled on all cores.
    pub fn with_each<T: Tool>(mut self, tools: impl IntoIterator<Item = T>) -> (Self, Vec<RegistryError>) {
        let tools: Vec<_> = tools.into_iter().map(erase).collect();
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec()).collect();
        let compiled = compile_all(&specs, &self.open);
        self.tools.reserve(tools.len());
        self.taken.reserve(tools.len());
        let added = tools.into_iter().zip(specs).zip(compiled);
        let errors = added.filter_map(|((tool, spec), ready)| self.add(tool, spec, ready).err()).collect();
        (self, errors)
    }

    /// The same, but tools of this origin that are registered from now on take fields their schema says nothing
    /// of. Elsewhere silence means that there are none, so that a mistyped field is an error and no no-op.
    #[must_use]
    pub fn open_where_silent(mut self, origin: Origin) -> Self {
        self.open.insert(origin);
        self
    }

    /// The same with a route: a name under which only these tools are exposed.
    #[must_use]
    pub fn with_route(mut self, route: Route, tools: Vec<String>) -> Self {
        self.routes.insert(route, tools);
        self
    }

    /// The same, knowing of a server whose tools are not here: whoever calls one is told what is the matter with it.
    #[must_use]
    pub fn with_absent(mut self, absent: Absent) -> Self {
        self.absent.push(absent);
        self
    }

    /// The servers whose tools are not here.
    pub fn absent(&self) -> &[Absent] {
        &self.absent
    }

    /// The metadata of every tool, in the order of registration.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.iter().map(|tool| &tool.spec)
    }

    pub(crate) fn tools(&self) -> &[Arc<Registered>] {
        &self.tools
    }

    /// The tools of a route, as they were given; `None` for a route nobody defined.
    pub fn route_tools(&self, route: &Route) -> Option<&[String]> {
        self.routes.get(route).map(Vec::as_slice)
    }

    pub(crate) fn routes(&self) -> &HashMap<Route, Vec<String>> {
        &self.routes
    }

    fn add(
        &mut self,
        tool: Arc<dyn Erased>,
        spec: ToolSpec,
        ready: Result<Ready, BadSchema>,
    ) -> Result<(), RegistryError> {
        let Ready { input, output } =
            ready.map_err(|source| RegistryError::Schema { tool: spec.id.to_string(), source })?;
        let label = label(&spec.id);
        // An alias from outside could take the place of a built-in, so only built-ins have them.
        let aliases = if spec.id.origin == Origin::Builtin { &spec.aliases[..] } else { &[] };
        let wanted = || std::iter::once(&label).chain(aliases.iter().map(ToolName::shared));
        if let Some((name, by)) = wanted().find_map(|name| Some((name, self.taken.get(name)?))) {
            return Err(RegistryError::Duplicate {
                tool: spec.id.to_string(),
                name: name.to_string(),
                by: by.to_string(),
            });
        }
        for name in wanted() {
            self.taken.insert(name.clone(), spec.id.clone());
        }
        self.tools.push(Arc::new(Registered { spec, label, input, output, tool }));
        Ok(())
    }
}

/// The name a tool is called by: its own for built-ins and for bridged tools that carry their server's prefix
/// already, `server__tool` otherwise.
pub(crate) fn label(id: &ToolId) -> Arc<str> {
    match &id.origin {
        Origin::Builtin => id.name.shared().clone(),
        Origin::Server(server) => {
            let own = id.name.as_str();
            if own.starts_with(&format!("mcp__{server}__")) || own.starts_with(&format!("{server}__")) {
                id.name.shared().clone()
            } else {
                format!("{server}__{own}").into()
            }
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec.id)).finish()
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered").field("id", &self.spec.id).finish_non_exhaustive()
    }
}
