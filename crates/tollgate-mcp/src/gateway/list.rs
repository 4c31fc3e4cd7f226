//! The tools as a client gets them: in the pool's order, the same bytes for the same tools, made once per list.

use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::{Value, json};
use tollgate::{
    Effects, Tollgate, ToolSpec,
    catalog::Snapshot,
    tool::{Route, Visibility},
};

use super::{catalogue, session::lock};

/// The tools of one route, as they are offered.
#[derive(Debug)]
pub(crate) struct Listed {
    snapshot: Arc<Snapshot>,
    route: Option<Route>,
    /// The `tools` array, as text.
    pub(crate) json: Arc<str>,
    /// True when there are too many: they are found by search.
    pub(crate) by_search: bool,
    /// Arguments that stand in headers too, by tool.
    pub(crate) headers: Vec<(Arc<str>, Vec<ParamHeader>)>,
}

/// An argument that HTTP clients repeat in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// Where it stands in the arguments.
    pub(crate) path: Vec<String>,
    /// The header's name, without the prefix.
    pub(crate) header: String,
}

/// The lists that were made, the latest of each route.
#[derive(Debug, Default)]
pub(crate) struct Lists(Mutex<Vec<Arc<Listed>>>);

/// More routes than anyone has in use at the same time.
const MOST_ROUTES: usize = 64;

impl Lists {
    /// The list of this route, made where the tools changed since.
    pub(crate) fn get(&self, gate: &Tollgate, route: Option<&Route>, threshold: usize) -> Arc<Listed> {
        let snapshot = gate.snapshot();
        let mut lists = lock(&self.0);
        let known = lists.iter().position(|list| list.route.as_ref() == route);
        if let Some(at) = known
            && Arc::ptr_eq(&lists[at].snapshot, &snapshot)
        {
            return lists[at].clone();
        }
        let made = Arc::new(Listed::make(snapshot, route, threshold));
        match known {
            Some(at) => lists[at] = made.clone(),
            None => {
                if lists.len() >= MOST_ROUTES {
                    lists.remove(0);
                }
                lists.push(made.clone());
            }
        }
        made
    }
}

impl Listed {
    /// Makes the list anew.
    pub(crate) fn make(snapshot: Arc<Snapshot>, route: Option<&Route>, threshold: usize) -> Self {
        let reachable: Vec<_> = snapshot.reachable(route).collect();
        let by_search = reachable.len() > threshold;
        let always =
            |spec: &ToolSpec| spec.visibility == Visibility::AlwaysLoad || spec.name() == "result_read";
        let mut tools: Vec<Value> = if by_search { catalogue::tools() } else { Vec::new() };
        let shown = reachable.iter().filter(|(_, spec)| !by_search || always(spec));
        tools.extend(shown.map(|(label, spec)| told(label, spec)));
        let headers = reachable
            .iter()
            .filter_map(|(label, spec)| Some(((*label).clone(), param_headers(&spec.input_schema)?)))
            .collect();
        let json = serde_json::to_string(&tools).unwrap_or_else(|_| "[]".to_owned()).into();
        drop(reachable);
        Self { route: route.cloned(), json, by_search, headers, snapshot }
    }

    /// The tools of this list.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// One tool, as `tools/list` has it.
pub(crate) fn told(label: &str, spec: &ToolSpec) -> Value {
    let mut tool = json!({
        "name": label,
        "description": &*spec.description,
        "inputSchema": &*spec.input_schema,
        "annotations": annotations(&spec.at_worst),
    });
    // Revisions before the last one know structured results that are objects alone.
    if let Some(schema) = spec.output_schema.as_ref().filter(|schema| schema["type"] == "object") {
        tool["outputSchema"] = schema.clone();
    }
    tool
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the protocol's own shape")]
struct Annotations {
    read_only_hint: bool,
    destructive_hint: bool,
    idempotent_hint: bool,
    open_world_hint: bool,
}

fn annotations(worst: &Effects) -> impl Serialize + use<> {
    Annotations {
        read_only_hint: worst.read_only,
        destructive_hint: worst.destructive,
        idempotent_hint: worst.idempotent,
        open_world_hint: worst.open_world,
    }
}

/// The arguments a schema marks with `x-mcp-header`; `None` where it marks none.
fn param_headers(schema: &Value) -> Option<Vec<ParamHeader>> {
    fn walk(schema: &Value, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
        let Some(Value::Object(properties)) = schema.get("properties") else { return };
        for (name, property) in properties {
            path.push(name.clone());
            if let Some(Value::String(header)) = property.get("x-mcp-header") {
                found.push(ParamHeader { path: path.clone(), header: header.clone() });
            }
            walk(property, path, found);
            path.pop();
        }
    }
    let mut found = Vec::new();
    walk(schema, &mut Vec::new(), &mut found);
    (!found.is_empty()).then_some(found)
}
