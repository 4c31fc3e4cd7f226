//! The declarations of a tool that are plain data, as a file writes them.

use std::sync::Arc;

use serde_json::Value;

use super::{Why, fields::Fields};
use crate::{
    guard::RetryPolicy,
    tool::{Interrupt, OnFatal, Origin, ResultLimit, ToolName, ToolSpec, Visibility},
};

/// Fills the spec. What is not declared keeps the safe default.
pub(super) fn declare(spec: &mut ToolSpec, fields: &Fields<'_>) -> Result<(), Why> {
    spec.id.origin = origin(fields.text("origin")?)?;
    // Nobody outside may claim an alias; a bridged tool that lists some is loaded without them.
    if spec.id.origin == Origin::Builtin {
        let aliases = fields.texts("aliases")?.into_iter().map(ToolName::new);
        spec.aliases = aliases.collect::<Result<_, _>>()?;
    }
    spec.owner = fields.text("owner")?.map(Arc::from);
    spec.capability = fields.text("capability")?.map(Arc::from);
    spec.output_schema = fields.get("output_schema").or_else(|| fields.get("outputSchema")).cloned();

    limits(spec, fields)?;
    set(&mut spec.requires_interaction, fields.flag("requires_interaction")?);
    set(&mut spec.requires_permission, fields.flag("requires_permission")?);
    set(&mut spec.requires_idempotency_key, fields.flag("requires_idempotency_key")?);
    set(&mut spec.explicit_only, fields.flag("explicit_only")?);
    let interrupts = [("cancel", Interrupt::Cancel), ("block", Interrupt::Block)];
    set(&mut spec.interrupt, fields.word("interrupt", &interrupts)?);
    let endings = [("isolate", OnFatal::Isolate), ("stop_siblings", OnFatal::StopSiblings)];
    set(&mut spec.on_fatal, fields.word("on_fatal", &endings)?);
    let visibilities = [
        ("normal", Visibility::Normal),
        ("deferred", Visibility::Deferred),
        ("always_load", Visibility::AlwaysLoad),
    ];
    set(&mut spec.visibility, fields.word("visibility", &visibilities)?);
    Ok(())
}

/// How much, how long, how often.
fn limits(spec: &mut ToolSpec, fields: &Fields<'_>) -> Result<(), Why> {
    match fields.get("max_result_chars") {
        None => {}
        Some(Value::String(word)) if word == "unlimited" => spec.max_result = ResultLimit::Unlimited,
        Some(value) => {
            let chars = value.as_u64().and_then(|chars| usize::try_from(chars).ok());
            let wrong = || fields.wrong("max_result_chars", "a whole number or \"unlimited\"", value);
            spec.max_result = ResultLimit::Chars(chars.ok_or_else(wrong)?);
        }
    }
    if let Some(value) = fields.get("timeouts") {
        let timeouts = Fields::inside("timeouts", value)?;
        spec.timeouts.connect = timeouts.millis("connect_ms")?;
        spec.timeouts.idle = timeouts.millis("idle_ms")?;
        set(&mut spec.timeouts.total, timeouts.millis("total_ms")?);
    }
    if let Some(value) = fields.get("retry") {
        let attempts = value.as_u64().and_then(|attempts| u32::try_from(attempts).ok());
        let attempts = attempts.filter(|attempts| *attempts > 0);
        let wrong = || fields.wrong("retry", "how often it is tried in all, from 1 on", value);
        spec.retry = RetryPolicy::up_to(attempts.ok_or_else(wrong)?);
    }
    Ok(())
}

/// `builtin`, `mcp:fs` or just the server's name.
fn origin(text: Option<&str>) -> Result<Origin, Why> {
    let Some(text) = text.filter(|text| *text != "builtin") else { return Ok(Origin::Builtin) };
    let server = text.strip_prefix("mcp:").unwrap_or(text);
    // The server's name becomes part of the tool's, so it is made of the same characters.
    match ToolName::new(server) {
        Ok(name) => Ok(Origin::Server(name.as_str().into())),
        Err(_) => Err(Why::Field(format!(
            "`origin` must be \"builtin\" or the name of a server, as \"mcp:files\", not {:?}",
            crate::json::shorten(text, 60)
        ))),
    }
}

fn set<T>(field: &mut T, declared: Option<T>) {
    if let Some(declared) = declared {
        *field = declared;
    }
}
