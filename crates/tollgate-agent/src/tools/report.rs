//! `report`: how a sub-agent hands in what it found, and ends.

use futures_util::FutureExt as _;
use serde_json::json;
use tollgate::{
    Effects, Output,
    tool::{BadName, DynTool, ToolBuilder},
};

use super::Desk;
use crate::machine::REPORT;

pub(super) fn tool(desk: &Desk) -> Result<DynTool, BadName> {
    let desk = desk.clone();
    let schema = json!({
        "type": "object",
        "properties": {
            "report": {
                "type": "string",
                "minLength": 1,
                "description": "What you did and found, complete: nothing else of your work is passed on.",
            },
        },
        "required": ["report"],
    });
    let about =
        "Hands in your report to whoever sent you, and ends your task. Call it once, at the end, alone.";
    Ok(ToolBuilder::new(REPORT, about, schema)?
        .spec(|spec| {
            spec.requires_permission = false;
            spec.inline = true;
        })
        .effects(|_, _| Effects::reading())
        .run(move |cx, args| {
            let report = args["report"].as_str().unwrap_or_default().to_owned();
            let handed_in = desk.sitter(cx.run.id()).map(|sitter| sitter.report(report));
            async move { handed_in.map(|()| Output::text("The report is in.")) }.boxed()
        }))
}
