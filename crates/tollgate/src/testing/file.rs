//! Finds the tools in any of the forms they come in, and loads each by itself.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Map, Value};

use super::{BadMocks, SetAside, Why, fields::Fields, fields::kind, tool::mock};
use crate::{
    catalog::{Registry, label, lint::Declared},
    json::shorten,
    tool::{DynTool, Route},
};

/// The tools and routes of one file.
#[derive(Debug, Default)]
pub struct Mocks {
    tools: Vec<DynTool>,
    routes: Vec<(Route, Vec<String>)>,
    set_aside: Vec<SetAside>,
    declared: HashMap<Arc<str>, Declared>,
}

impl Mocks {
    /// Loads the text of a file: a mocks file, a `tools/list` reply, or the `tools` array of a provider.
    ///
    /// Fails only where there is no list of tools at all. Schemas are compiled when the tools are registered.
    pub fn parse(text: &str) -> Result<Self, BadMocks> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let file = serde_json::from_str(text).map_err(|error| BadMocks::NotJson(error.to_string()))?;
        let (tools, routes) = lists(file).ok_or(BadMocks::NoTools)?;
        let mut mocks = Self::default();
        for (index, definition) in tools.into_iter().enumerate() {
            mocks.take_tool(index, definition);
        }
        mocks.take_routes(routes);
        Ok(mocks)
    }

    /// How many tools have loaded.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// True when no tool has loaded.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The routes the file defines.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.routes.iter().map(|(route, _)| route)
    }

    /// What each definition says beyond the metadata, by the name its tool goes by.
    pub fn declared(&self) -> &HashMap<Arc<str>, Declared> {
        &self.declared
    }

    /// What did not load so far.
    pub fn set_aside(&self) -> &[SetAside] {
        &self.set_aside
    }

    /// True when a tool of the file answers to this name.
    pub fn answers_to(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| goes_by(tool, name))
    }

    /// The same with only the tools that answer to this name, so that no other schema is compiled.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        self.tools.retain(|tool| goes_by(tool, name));
        self
    }

    /// Registers the tools and routes, in the file's order. Gives back everything that was set aside, now or
    /// while loading.
    pub fn register(self, registry: Registry) -> (Registry, Vec<SetAside>) {
        let Self { tools, routes, mut set_aside, .. } = self;
        let (mut registry, errors) = registry.with_each(tools);
        set_aside.extend(errors.into_iter().map(SetAside::from));
        for (route, tools) in routes {
            registry = registry.with_route(route, tools);
        }
        (registry, set_aside)
    }

    fn take_tool(&mut self, index: usize, definition: Value) {
        let definition = match definition {
            Value::Object(map) => unwrapped(map),
            other => {
                let why = Why::NotAnObject(kind(&other));
                return self.set_aside.push(SetAside { what: format!("tools[{index}]"), why });
            }
        };
        let what = match definition.get("name").and_then(Value::as_str) {
            Some(name) if !name.is_empty() => shorten(name, 80),
            _ => format!("tools[{index}]"),
        };
        match mock(definition) {
            Ok((tool, declared)) => {
                self.declared.entry(label(&tool.metadata().id)).or_insert(declared);
                self.tools.push(tool);
            }
            Err(why) => self.set_aside.push(SetAside { what, why }),
        }
    }

    fn take_routes(&mut self, routes: Option<Value>) {
        let map = match routes {
            None | Some(Value::Null) => return,
            Some(Value::Object(map)) => map,
            Some(other) => {
                let why = Why::NotAnObject(kind(&other));
                return self.set_aside.push(SetAside { what: "routes".to_owned(), why });
            }
        };
        // A route that cannot be read exposes nothing, as one that nobody defined.
        let fields = Fields::of_tool(&map);
        for name in map.keys() {
            match fields.texts(name) {
                Ok(tools) => {
                    let tools = tools.into_iter().map(str::to_owned).collect();
                    self.routes.push((Route::new(name), tools));
                }
                Err(why) => {
                    let what = format!("route {}", shorten(name, 80));
                    self.set_aside.push(SetAside { what, why });
                }
            }
        }
    }
}

fn goes_by(tool: &DynTool, name: &str) -> bool {
    let spec = tool.metadata();
    *label(&spec.id) == *name || spec.aliases.iter().any(|alias| alias.as_str() == name)
}

type Lists = (Vec<Value>, Option<Value>);

/// The list of tools and the routes, whatever stands around them.
fn lists(file: Value) -> Option<Lists> {
    match file {
        Value::Array(tools) => Some((tools, None)),
        Value::Object(mut map) => match (map.remove("tools"), map.remove("result")) {
            (Some(Value::Array(tools)), _) => Some((tools, map.remove("routes"))),
            // A whole JSON-RPC reply.
            (_, Some(Value::Object(mut result))) => match result.remove("tools") {
                Some(Value::Array(tools)) => Some((tools, None)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// The form `{"type": "function", "function": {…}}` of chat completions, without its wrapper.
fn unwrapped(mut map: Map<String, Value>) -> Map<String, Value> {
    match map.remove("function") {
        Some(Value::Object(function)) => map.extend(function),
        Some(other) => {
            map.insert("function".to_owned(), other);
        }
        None => {}
    }
    map
}
