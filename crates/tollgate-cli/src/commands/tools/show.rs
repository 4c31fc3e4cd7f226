//! `tools show NAME`: everything about one tool and, for a provider, what becomes of its schema.

use serde_json::{Value, json};
use tollgate::{
    ToolSpec,
    catalog::lint::estimated_tokens,
    schema::{Target, project},
    tool::{Interrupt, ResultLimit},
};

use super::{
    Catalogue, USUAL,
    list::{origin, visibility},
};
use crate::{
    commands::schema::report_lines,
    exit::{Exit, Fault},
    words,
};

pub(super) fn run(catalogue: &Catalogue, name: &str, target: Option<Target>) -> Result<Exit, Fault> {
    let mut tools = catalogue.snapshot.reachable(catalogue.route.as_ref());
    let goes_by = |label: &str, spec: &ToolSpec| {
        label == name
            || spec.id.to_string() == name
            || spec.aliases.iter().any(|alias| alias.as_str() == name)
    };
    let Some((label, spec)) = tools.find(|(label, spec)| goes_by(label, spec)) else {
        let shown: String = words::visible(name).chars().take(80).collect();
        let known = catalogue.snapshot.reachable(catalogue.route.as_ref());
        let known: Vec<&str> = known.map(|(label, _)| &**label).collect();
        let hint = words::did_you_mean(name, &known, "");
        return Err(Fault::usage(format!("there is no tool `{shown}` here"), hint));
    };
    let mut shown = described(label, spec, target.unwrap_or(USUAL));
    if let Some(declared) = catalogue.loaded.declared.get(label) {
        shown["checked"] = json!(declared.check);
        shown["effects"] = json!(declared.hints.map(|hints| json!({
            "read_only": hints.read_only, "destructive": hints.destructive,
            "idempotent": hints.idempotent, "open_world": hints.open_world,
        })));
    }
    let mut report = Vec::new();
    if let Some(target) = target {
        match project(&spec.input_schema, target) {
            Ok(projection) => {
                report = report_lines(&projection.report);
                shown["projection"] = json!({
                    "provider": target.provider, "strict": projection.strict,
                    "schema": projection.schema, "report": projection.report,
                });
            }
            Err(error) => {
                report.push(words::entry::<10>("error", &error.to_string()));
                shown["projection"] = json!({"provider": target.provider, "error": error.to_string()});
            }
        }
    }
    words::data(&if catalogue.json { words::json(&shown) } else { told(&shown, &report) })?;
    Ok(Exit::Done)
}

fn described(label: &str, spec: &ToolSpec, target: Target) -> Value {
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "name": label,
        "id": spec.id.to_string(),
        "origin": origin(&spec.id.origin),
        "aliases": spec.aliases,
        "description": &*spec.description,
        "owner": spec.owner.as_deref(),
        "capability": spec.capability.as_deref(),
        "visibility": visibility(spec.visibility),
        "tokens": estimated_tokens(label, spec, target),
        "max_result_chars": match spec.max_result {
            ResultLimit::Chars(chars) => json!(chars),
            ResultLimit::Unlimited => json!("unlimited"),
        },
        "timeouts": {
            "connect_ms": spec.timeouts.connect.map(millis),
            "idle_ms": spec.timeouts.idle.map(millis),
            "total_ms": millis(spec.timeouts.total),
        },
        "interrupt": match spec.interrupt { Interrupt::Cancel => "cancel", Interrupt::Block => "block" },
        "requires_permission": spec.requires_permission,
        "requires_interaction": spec.requires_interaction,
        "requires_idempotency_key": spec.requires_idempotency_key,
        "explicit_only": spec.explicit_only,
        "input_schema": spec.input_schema,
        "output_schema": spec.output_schema,
    })
}

/// One line for each thing there is to say; schemas below each other.
fn told(shown: &Value, report: &[String]) -> String {
    let mut lines = Vec::new();
    for (key, value) in shown.as_object().into_iter().flatten() {
        let text = match value {
            Value::Null => continue,
            Value::Array(items) if items.is_empty() => continue,
            Value::String(text) => text.clone(),
            Value::Object(_) if key.ends_with("schema") || key == "projection" => continue,
            other => other.to_string(),
        };
        lines.push(words::entry::<24>(key, &text));
    }
    for (title, schema) in [
        ("input_schema", shown.get("input_schema")),
        ("output_schema", shown.get("output_schema")),
        ("projection", shown.pointer("/projection/schema")),
    ] {
        if let Some(schema) = schema.filter(|schema| !schema.is_null()) {
            lines.push(words::entry::<24>(title, &serde_json::to_string_pretty(schema).unwrap_or_default()));
        }
    }
    lines.extend(report.iter().cloned());
    lines.join("\n")
}
