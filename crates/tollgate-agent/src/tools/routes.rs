//! Which of the tools an agent is shown: what its role names, `report` for sub-agents alone, `delegate` for none.

use tollgate::{Registry, ToolSpec, catalog::Filter, tool::Route};

use super::{Desk, DeskError};
use crate::{
    machine::{REPORT, START_WORK},
    role::Role,
};

/// The tool that sends agents out.
pub(super) const DELEGATE: &str = "delegate";

impl Desk {
    /// The registry with a route for the main agent and one for each role, each in plan mode too. To be called again
    /// whenever tools come or go; [`Desk::register`] does it the first time.
    pub fn routes(&self, registry: Registry) -> Result<Registry, DeskError> {
        let mut routed = registry.clone();
        for planning in [false, true] {
            let main = names(&registry, |spec| of_main(spec, planning));
            routed = routed.with_route(self.route(None, planning), main);
            for (name, role) in self.roles() {
                let filter = Filter::parse(role.tools.iter().map(String::as_str))
                    .map_err(|source| DeskError::Tools { role: name.clone(), source })?;
                let on_route = role.route.as_ref().map(|route| on_route(&registry, route));
                let tools = names(&registry, |spec| {
                    let routed = on_route.as_ref().is_none_or(|tools| tools.contains(&spec.id.to_string()));
                    of_role(spec, role, &filter, planning) && (routed || is_own(spec))
                });
                routed = routed.with_route(self.route(Some(name), planning), tools);
            }
        }
        Ok(routed)
    }

    /// The route an agent is on.
    #[expect(clippy::unused_self, reason = "the routes are those this desk registered")]
    pub(crate) fn route(&self, role: Option<&str>, planning: bool) -> Route {
        let role = role.unwrap_or("main");
        Route::new(if planning { format!("agent:{role}:plan") } else { format!("agent:{role}") })
    }
}

fn names(registry: &Registry, shown: impl Fn(&ToolSpec) -> bool) -> Vec<String> {
    registry.specs().filter(|spec| shown(spec)).map(|spec| spec.id.to_string()).collect()
}

fn on_route(registry: &Registry, route: &str) -> Vec<String> {
    registry.route_tools(&Route::new(route)).map(<[String]>::to_vec).unwrap_or_default()
}

fn of_main(spec: &ToolSpec, planning: bool) -> bool {
    match spec.id.to_string().as_str() {
        REPORT => false,
        START_WORK => planning,
        _ => true,
    }
}

/// The desk's own tools that every agent has, whatever its role names.
fn is_own(spec: &ToolSpec) -> bool {
    matches!(spec.id.to_string().as_str(), REPORT)
}

fn of_role(spec: &ToolSpec, role: &Role, filter: &Filter, planning: bool) -> bool {
    match spec.id.to_string().as_str() {
        REPORT => true,
        DELEGATE => false,
        // It has to be named, as nothing but its own name means it.
        START_WORK => planning && role.tools.iter().any(|tool| tool == START_WORK),
        _ => role.tools.is_empty() || filter.passes(spec),
    }
}
