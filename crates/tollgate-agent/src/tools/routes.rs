//! Which of the tools an agent is shown: what its role names, `report` for sub-agents alone, `delegate` for none.

use tollgate::{Registry, ToolSpec, catalog::Filter, tool::Route};

use super::{Desk, DeskError};
use crate::machine::{REPORT, START_WORK};

/// Where an agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Post {
    /// Nobody sent it.
    Main,
    /// Another agent did.
    SentOut,
}

/// The tool that sends agents out.
pub(super) const DELEGATE: &str = "delegate";

impl Desk {
    /// The registry with routes for the main agent and for each role, as the main agent's and as one that is sent out.
    /// Each in plan mode too. To be called again
    /// whenever tools come or go; [`Desk::register`] does it the first time.
    pub fn routes(&self, registry: Registry) -> Result<Registry, DeskError> {
        let mut routes = Vec::new();
        for planning in [false, true] {
            let main = names(&registry, |spec| own(spec, Post::Main, planning).unwrap_or(true));
            routes.push((self.route(Post::Main, None, planning), main));
            for (name, role) in self.roles() {
                let filter = Filter::parse(role.tools.iter().map(String::as_str))
                    .map_err(|source| DeskError::Tools { role: name.clone(), source })?;
                let on_route =
                    role.route.as_ref().map(|route| on_route(&registry, name, route)).transpose()?;
                for post in [Post::Main, Post::SentOut] {
                    let tools = names(&registry, |spec| match own(spec, post, planning) {
                        Some(shown) => shown,
                        None => {
                            let named = role.tools.is_empty() || filter.passes(spec);
                            let label = spec.id.to_string();
                            named && on_route.as_ref().is_none_or(|tools| tools.contains(&label))
                        }
                    });
                    routes.push((self.route(post, Some(name), planning), tools));
                }
            }
        }
        Ok(routes.into_iter().fold(registry, |registry, (route, tools)| registry.with_route(route, tools)))
    }

    /// The route an agent is on.
    #[expect(clippy::unused_self, reason = "the routes are those this desk registered")]
    pub(crate) fn route(&self, post: Post, role: Option<&str>, planning: bool) -> Route {
        let post = match post {
            Post::Main => "agent",
            Post::SentOut => "sub-agent",
        };
        let role = role.map_or(String::new(), |role| format!(":{role}"));
        let plan = if planning { "/plan" } else { "" };
        Route::new(format!("{post}{role}{plan}"))
    }
}

fn names(registry: &Registry, shown: impl Fn(&ToolSpec) -> bool) -> Vec<String> {
    registry.specs().filter(|spec| shown(spec)).map(|spec| spec.id.to_string()).collect()
}

fn on_route(registry: &Registry, role: &str, route: &str) -> Result<Vec<String>, DeskError> {
    let tools = registry.route_tools(&Route::new(route)).map(<[String]>::to_vec);
    tools.ok_or_else(|| DeskError::Route { role: role.to_owned(), route: route.to_owned() })
}

/// Whether an agent is shown one of the desk's own tools that no role decides about; `None` for all the others.
fn own(spec: &ToolSpec, post: Post, planning: bool) -> Option<bool> {
    match (spec.id.to_string().as_str(), post) {
        (REPORT, post) => Some(post == Post::SentOut),
        (START_WORK, post) => Some(post == Post::Main && planning),
        (DELEGATE, Post::SentOut) => Some(false),
        _ => None,
    }
}
