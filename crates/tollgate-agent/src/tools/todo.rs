//! `todo`: the list of things to do, as the person sees it.

use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tollgate::{
    Effects, Failure, Output,
    tool::{BadName, DynTool, ToolBuilder},
};

use super::Desk;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    /// What.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Done,
}

#[derive(Deserialize)]
struct Args {
    items: Vec<TodoItem>,
}

pub(super) fn tool(desk: &Desk) -> Result<DynTool, BadName> {
    let desk = desk.clone();
    let schema = json!({
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "maxItems": 50,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "description": "What is to be done, in a few words."},
                        "state": {"type": "string", "enum": ["pending", "in_progress", "done"]},
                    },
                    "required": ["text", "state"],
                },
            },
        },
        "required": ["items"],
    });
    let about = "Shows the person your list of things to do. Give the whole list each time; use it for work of \
                 several steps, and keep it up to date.";
    Ok(ToolBuilder::new("todo", about, schema)?
        .spec(|spec| {
            spec.requires_permission = false;
            spec.inline = true;
        })
        .effects(|_, _| Effects::reading())
        .run(move |cx, args| {
            let shown = show(&desk, cx, args);
            async move { shown }.boxed()
        }))
}

fn show(desk: &Desk, cx: &tollgate::Cx, args: &serde_json::Value) -> Result<Output, Failure> {
    let Args { items } = serde_json::from_value(args.clone())
        .map_err(|error| Failure::fatal("the list could not be read").caused_by(error))?;
    let done = items.iter().filter(|item| item.state == TodoState::Done).count();
    let words = format!("{done} of {} done.", items.len());
    desk.sitter(cx.run.id())?.tell_todo(items);
    Ok(Output::text(words))
}
