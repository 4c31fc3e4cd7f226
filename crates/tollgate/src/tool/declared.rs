//! What `#[tool]` leaves to the library: a spec from types, with the defaults every other tool has.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::{ToolName, ToolSpec};

/// The schema of a tool's arguments, derived from their type and kept small: types inline, no titles.
pub fn input_schema<Args: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        settings.transforms.push(Box::new(RecursiveTransform(plain_numbers)));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Args>();
    schema.remove("title");
    // The tool's own description stands right beside the schema.
    schema.remove("description");
    schema.to_value()
}

/// A format like `int32` says nothing to a validator and little to a model: bounds do.
fn plain_numbers(schema: &mut Schema) {
    let bounds = match schema.get("format").and_then(Value::as_str) {
        Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Some("uint32") => Some((0, i64::from(u32::MAX))),
        Some(
            "int8" | "int16" | "int64" | "int128" | "int" | "uint8" | "uint16" | "uint64" | "uint128"
            | "uint" | "float" | "double",
        ) => None,
        _ => return,
    };
    schema.remove("format");
    if let (Some((least, most)), Some(map)) = (bounds, schema.as_object_mut()) {
        map.entry("minimum").or_insert(least.into());
        map.entry("maximum").or_insert(most.into());
    }
}

/// The spec of a tool that `#[tool]` wrote, before what it declares beyond the defaults.
pub fn spec<Args: JsonSchema>(name: &'static str, doc: &'static str) -> ToolSpec {
    ToolSpec::new(name, description(doc), input_schema::<Args>())
        .unwrap_or_else(|bad| unreachable!("{name:?} passed the attribute: {bad}"))
}

/// Names the attribute has checked already.
pub fn names(names: &[&'static str]) -> Vec<ToolName> {
    names.iter().filter_map(|name| ToolName::new(name).ok()).collect()
}

/// A doc comment as a model reads it: without the blank that follows each `///`.
fn description(doc: &str) -> String {
    let lines: Vec<_> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}
