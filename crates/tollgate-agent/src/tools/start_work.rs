//! `start_work`: ends plan mode, once a person has said yes to the plan.

use futures_util::FutureExt as _;
use serde_json::json;
use tollgate::{
    Effects, Opinion, Output,
    tool::{BadName, DynTool, ToolBuilder},
};

use crate::machine::START_WORK;

pub(super) fn tool() -> Result<DynTool, BadName> {
    let schema = json!({
        "type": "object",
        "properties": {
            "plan": {"type": "string", "minLength": 1, "description": "What you will do, step by step."},
        },
        "required": ["plan"],
    });
    let about = "Shows the person your plan and asks to begin. Until it is approved you can only read.";
    Ok(ToolBuilder::new(START_WORK, about, schema)?
        .spec(|spec| {
            // Nothing but its own name means it, and no rule answers for a person.
            spec.explicit_only = true;
            spec.inline = true;
        })
        .effects(|_, _| Effects::reading())
        .authorize(|_, _| Opinion::Ask("a plan needs a person's yes before work begins".to_owned()))
        // What follows from it, follows in the machine: the answer alone ends plan mode.
        .run(|_, _| async { Ok(Output::text("The plan is approved. You may begin.")) }.boxed()))
}
