//! One definition becomes one tool, with the same fail-closed defaults as every other tool.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Why, answer::Answers, check::Checks, declared::declare, effects::DeclaredEffects, fields::Fields,
};
use crate::{
    json::shorten,
    schema::BadSchema,
    tool::{DynTool, ToolBuilder, ToolSpec},
};

/// Where the schema of the arguments may stand: ours and Anthropic's, MCP's, `OpenAI`'s.
const SCHEMA_KEYS: [&str; 3] = ["input_schema", "inputSchema", "parameters"];

/// Makes the tool. Keys it does not know are ignored: real catalogues carry many.
pub(super) fn mock(mut definition: Map<String, Value>) -> Result<DynTool, Why> {
    let schema = SCHEMA_KEYS.iter().find_map(|key| definition.shift_remove(*key));
    let fields = Fields::of_tool(&definition);
    let name = fields.text("name")?.ok_or(Why::NoName)?;
    let schema = match schema {
        // `OpenAI` lets a function without arguments leave its schema out.
        None | Some(Value::Null) if fields.get("type") == Some(&json!("function")) => {
            json!({"type": "object", "properties": {}})
        }
        None => return Err(Why::NoSchema),
        Some(schema @ Value::Object(_)) => schema,
        // The registry would say so too, but only once this schema is compiled.
        Some(other) => return Err(BadSchema::NotAnObject(shorten(&other.to_string(), 60)).into()),
    };
    let description = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut spec = ToolSpec::new(name, description, schema)?;
    declare(&mut spec, &fields)?;

    let checks = Checks::read(&fields)?;
    let answers = Arc::new(Answers::read(&fields)?);
    // `annotations` are hints of a server nobody vouches for. They could only tighten, and where nothing is
    // declared there is nothing left to tighten: such a tool is the worst case already.
    let effects = DeclaredEffects::read(&fields)?;
    let enabled = fields.flag("enabled")?.unwrap_or(true) && fields.flag("is_enabled")?.unwrap_or(true);

    let refusing = answers.clone();
    Ok(ToolBuilder::from_spec(spec)
        .effects(move |_, args| effects.of(args))
        .check(move |_, args| checks.hold(args).and_then(|()| refusing.refusal(args)))
        .enabled(move || enabled)
        .run(move |cx, args| {
            let answers = answers.clone();
            Box::pin(async move { answers.give(cx, args).await })
        }))
}
