//! Tools whose schemas stay out of the prompt until they are looked for: `tool_search` finds and loads them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{search::SearchIndex, snapshot::Snapshot};
use crate::{
    outcome::{Failure, Output},
    tool::{Cx, Effects, Scope, Tool, ToolSpec},
};

/// The labels of deferred tools that were found or called. They are offered from the next turn on.
#[derive(Debug, Clone, Default)]
pub struct Loaded(Arc<Mutex<BTreeSet<Arc<str>>>>);

impl Loaded {
    /// Loads a tool from the next turn on.
    #[cold]
    pub fn load(&self, label: &Arc<str>) {
        let mut labels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !labels.contains(label) {
            labels.insert(label.clone());
        }
    }

    pub(crate) fn labels(&self) -> BTreeSet<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tool that finds other tools. It sees what its own turn's snapshot offers and nothing else.
#[derive(Debug, Default, Clone)]
pub struct ToolSearch {
    state: Arc<SearchState>,
}

#[derive(Debug, Default)]
struct SearchState {
    snapshot: Mutex<Weak<Snapshot>>,
    loaded: OnceLock<Loaded>,
}

/// What `tool_search` asks for.
#[derive(Debug, Deserialize)]
pub struct ToolSearchArgs {
    query: String,
    #[serde(default = "usual")]
    limit: usize,
}

fn usual() -> usize {
    5
}

const MOST: usize = 20;

impl ToolSearch {
    /// The name models know it by.
    pub const NAME: &'static str = "tool_search";

    pub(crate) fn attach(&self, snapshot: &Arc<Snapshot>, loaded: &Loaded) {
        *self.state.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(snapshot);
        let _ = self.state.loaded.set(loaded.clone());
    }

    fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state.snapshot.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

impl Tool for ToolSearch {
    type Args = ToolSearchArgs;

    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "A tool's name, or words for what it should do."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many tools to return at most; 5 when left out."},
            },
            "required": ["query"],
            "additionalProperties": false,
        });
        let description = "Finds tools that are not in your list yet, by name or by what they do. \
                           What it finds can be called from your next message on.";
        let spec = ToolSpec::new(Self::NAME, description, schema);
        #[expect(clippy::expect_used, reason = "a constant name that a test registers")]
        let mut spec = spec.expect("a legal name");
        spec.requires_permission = false;
        spec.inline = true;
        spec
    }

    fn effects(&self, _: &Scope, _: &ToolSearchArgs) -> Effects {
        Effects::reading()
    }

    async fn run(&self, cx: &Cx, args: &ToolSearchArgs) -> Result<Output, Failure> {
        let Some(snapshot) = self.snapshot() else {
            return Err(Failure::retryable("The list of tools is being renewed."));
        };
        let found = snapshot.search(&args.query, args.limit.min(MOST), cx.route.as_ref());
        let tools: Vec<Value> = found
            .iter()
            .map(|(label, spec)| {
                if let Some(loaded) = self.state.loaded.get() {
                    loaded.load(label);
                }
                json!({"name": &**label, "description": &*spec.description, "input_schema": spec.input_schema})
            })
            .collect();
        Ok(Output::json(json!({ "tools": tools })))
    }
}

/// The index of a snapshot, built when it is first searched.
#[derive(Debug, Default)]
pub(super) struct LazyIndex(OnceLock<SearchIndex>);

impl LazyIndex {
    pub(super) fn get<'a>(&self, tools: impl Iterator<Item = (&'a str, &'a ToolSpec)>) -> &SearchIndex {
        self.0.get_or_init(|| SearchIndex::build(tools))
    }
}
