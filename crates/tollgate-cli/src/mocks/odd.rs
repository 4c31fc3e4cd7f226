//! What a mocks file says in vain: no tool is lost to it, and whoever wrote it hears of it.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tollgate::{schema::nearest, testing::Mocks};

use crate::servers;

/// All that `effects` may hold.
const EFFECTS: [&str; 6] = ["concurrency", "read_only", "destructive", "idempotent", "open_world", "touches"];

/// What one file says beside what its tools tell of themselves.
#[derive(Debug, Default)]
pub(crate) struct Said {
    notes: Vec<String>,
    /// Each route with a tool it names, in the file's order.
    routed: Vec<(String, String)>,
}

/// A file whose schemas stay unread: there may be thousands.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Whole<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    result: Option<Box<Whole<'a>>>,
    routes: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tool {
    name: Value,
    description: Value,
    effects: Value,
    function: Option<Box<Self>>,
}

impl Said {
    /// Looks at the text of a file. What is not even of the right kind is said where the tools are made.
    pub(super) fn look(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (tools, routes) = match serde_json::from_str::<Whole<'_>>(text) {
            Ok(Whole { result: Some(reply), tools, .. }) if tools.is_empty() => (reply.tools, Value::Null),
            Ok(Whole { tools, routes, .. }) => (tools, routes),
            Err(_) => (serde_json::from_str(text).unwrap_or_default(), Value::Null),
        };
        let mut said = Self::default();
        for tool in tools {
            if let Ok(tool) = serde_json::from_str::<Tool>(tool.get()) {
                said.tool(tool.function.as_deref().unwrap_or(&tool));
            }
        }
        for (route, tools) in routes.as_object().into_iter().flatten() {
            let tools = tools.as_array().into_iter().flatten().filter_map(Value::as_str);
            said.routed.extend(tools.map(|tool| (route.clone(), tool.to_owned())));
        }
        said
    }

    fn tool(&mut self, tool: &Tool) {
        let Some(name) = tool.name.as_str() else { return };
        if !(tool.description.is_null() || tool.description.is_string()) {
            self.notes.push(format!("{name}: its `description` is no text and counts as none"));
        }
        let effects = tool.effects.as_object().into_iter().flatten();
        for (key, _) in effects.filter(|(key, _)| !EFFECTS.contains(&key.as_str())) {
            let meant = nearest(key, EFFECTS.into_iter());
            let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            self.notes.push(format!("{name}: `effects` has nothing called `{key}`{meant}"));
        }
    }

    /// All of it, once every file is read: a route may name the tool of another one.
    pub(super) fn notes(self, has: impl Fn(&str) -> bool) -> Vec<String> {
        let absent = self.routed.iter().filter(|(_, tool)| !has(tool));
        let absent = absent
            .map(|(route, tool)| format!("the route `{route}` names `{tool}`, which no mocks file has"));
        self.notes.into_iter().chain(absent).collect()
    }
}

/// True when a tool of the file is meant by this name of a route.
pub(super) fn is_named(mocks: &Mocks, tool: &str) -> bool {
    mocks.answers_to(tool) || mocks.answers_to(&servers::label(tool))
}
