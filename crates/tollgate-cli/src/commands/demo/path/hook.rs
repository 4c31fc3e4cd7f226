//! The hook of the demonstration: it takes a limit down to fifty.

use serde_json::{Value, json};
use tollgate::{
    ToolSpec,
    hook::{Before, Hook, HookedCall},
};

/// Searches may ask for fifty hits and no more.
pub(super) struct AtMostFifty;

impl Hook for AtMostFifty {
    fn name(&self) -> &'static str {
        "at_most_fifty"
    }

    fn matches(&self, tool: &ToolSpec) -> bool {
        tool.name() == "search"
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        if call.args.get("limit").and_then(Value::as_u64).is_none_or(|limit| limit <= 50) {
            return Before::Pass;
        }
        let mut args = call.args.clone();
        args["limit"] = json!(50);
        Before::Rewrite(args)
    }
}
