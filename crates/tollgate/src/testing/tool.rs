//! One definition becomes one tool, with the same fail-closed defaults as every other tool.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Why, answer::Answers, check::Checks, declared::declare, effects::DeclaredEffects, fields::Fields,
};
use crate::{
    catalog::lint::{Declared, Hints},
    json::shorten,
    schema::BadSchema,
    tool::{DynTool, ToolBuilder, ToolSpec},
};

/// Where the schema of the arguments may stand: ours and Anthropic's, MCP's, `OpenAI`'s.
const SCHEMA_KEYS: [&str; 3] = ["input_schema", "inputSchema", "parameters"];

/// Makes the tool. Keys it does not know are ignored: real catalogues carry many.
pub(super) fn mock(mut definition: Map<String, Value>) -> Result<(DynTool, Declared), Why> {
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

    let declared = declared(&fields);
    let refusing = answers.clone();
    let tool = ToolBuilder::from_spec(spec)
        .effects(move |_, args| effects.of(args))
        .check(move |_, args| checks.hold(args).and_then(|()| refusing.refusal(args)))
        .enabled(move || enabled)
        .run(move |cx, args| {
            let answers = answers.clone();
            Box::pin(async move { answers.give(cx, args).await })
        });
    Ok((tool, declared))
}

/// What a lint may know: which declarations are there at all, and what a server hints at.
fn declared(fields: &Fields<'_>) -> Declared {
    let flag = |object: &str, key: &str, otherwise| {
        fields.get(object).and_then(|value| value.get(key)).and_then(Value::as_bool).unwrap_or(otherwise)
    };
    let hints = |object: &str, [read_only, destructive, idempotent, open_world]: [&str; 4]| {
        fields.get(object).filter(|value| value.is_object()).map(|_| Hints {
            read_only: flag(object, read_only, false),
            destructive: flag(object, destructive, true),
            idempotent: flag(object, idempotent, false),
            open_world: flag(object, open_world, true),
        })
    };
    let annotated = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
    Declared {
        hints: hints("effects", ["read_only", "destructive", "idempotent", "open_world"])
            .or_else(|| hints("annotations", annotated)),
        check: fields.get("check").is_some(),
        result_limit: fields.get("max_result_chars").is_some(),
        interrupt: fields.get("interrupt").is_some(),
        timeouts: fields.get("timeouts").is_some(),
    }
}
