//! The public JSON-Schema-Test-Suite against `tollgate schema flatten`: what is flattened judges every instance as
//! the original does and as the suite says, with no reference left; what is not is refused with its code.
//!
//! The suite is not part of this project: it is fetched, or `TOLLGATE_SCHEMA_SUITE` names a folder that holds its `tests/`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and finds the suite through the environment"
)]

#[path = "../../tollgate-mcp/tests/gateway/installed.rs"]
#[expect(dead_code, reason = "other tests use the rest of it")]
mod installed;
#[path = "../../tollgate/tests/skipped/mod.rs"]
mod skipped;

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use jsonschema::Validator;
use serde_json::{Value, json};

const DRAFTS: [(&str, &str); 2] = [
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
];

#[derive(Default)]
struct Count {
    groups: usize,
    flattened: usize,
    instances: usize,
    disputed: usize,
    unjudged: Vec<String>,
    refused: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

#[test]
fn every_group_of_the_public_suite_is_flattened_without_change_of_meaning_or_refused_by_its_code() {
    let named = std::env::var_os("TOLLGATE_SCHEMA_SUITE").map(PathBuf::from);
    let Some(suite) = named.or_else(installed::schema_suite) else { return };
    let mut wrong = Vec::new();
    for (draft, dialect) in DRAFTS {
        let mut count = Count::default();
        for file in files(&suite.join("tests").join(draft)) {
            let groups: Vec<Value> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            for group in &groups {
                judge(&file, group, dialect, &mut count);
            }
        }
        println!(
            "{draft}: {} groups, {} flattened, {} instances",
            count.groups, count.flattened, count.instances
        );
        println!("  wrong: {}; judge and suite disagree: {}", count.wrong.len(), count.disputed);
        println!("  written against a metaschema from outside, unchanged: {}", count.unjudged.len());
        for (code, names) in &count.refused {
            println!("  {code}: {}", names.len());
            names.iter().for_each(|name| println!("    {name}"));
        }
        assert!(count.groups > 100, "{draft}: is this the suite?");
        wrong.extend(count.wrong);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn judge(file: &Path, group: &Value, dialect: &str, count: &mut Count) {
    let name = format!("{}: {}", file.file_stem().unwrap().display(), group["description"].as_str().unwrap());
    count.groups += 1;
    let schema = dated(&group["schema"], dialect);
    let flat = match flattened(&schema) {
        Ok(flat) => flat,
        Err(code) => {
            if !may_refuse(&code, &schema) {
                count.wrong.push(format!("{name}: refused {code}: {schema}"));
            }
            count.refused.entry(code).or_default().push(name);
            return;
        }
    };
    count.flattened += 1;
    if refers(&flat) {
        count.wrong.push(format!("{name}: a reference is left: {flat}"));
    }
    let (Some(before), Some(after)) = (validator(&schema, file), validator(&flat, file)) else {
        // Written against a metaschema from outside, which nobody here fetches: then only the name may be gone.
        let mut nameless = schema.clone();
        nameless.as_object_mut().unwrap().shift_remove("$id");
        if flat == nameless {
            count.unjudged.push(name);
        } else {
            count.wrong.push(format!("{name}: {schema} became {flat}, and cannot be judged"));
        }
        return;
    };
    for test in group["tests"].as_array().unwrap() {
        count.instances += 1;
        let (value, expected) = (&test["data"], test["valid"].as_bool().unwrap());
        let (original, verdict) = (before.is_valid(value), after.is_valid(value));
        if verdict != original {
            count.wrong.push(format!("{name}: {}: {schema} became {flat}", test["description"]));
        } else if verdict != expected {
            // The judge itself sees it otherwise than the suite, with or without references.
            count.disputed += 1;
        }
    }
}

/// The schema with its draft named: in the older part of the suite the folder says it.
fn dated(schema: &Value, dialect: &str) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut map = map.clone();
    map.entry("$schema").or_insert_with(|| json!(dialect));
    Value::Object(map)
}

/// What the program makes of a schema: another one, or a code.
fn flattened(schema: &Value) -> Result<Value, String> {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["schema", "flatten"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    program.stdin.take().unwrap().write_all(schema.to_string().as_bytes()).unwrap();
    let output = program.wait_with_output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{schema}: {error}: {}", String::from_utf8_lossy(&output.stdout)));
    if output.status.success() { Ok(said) } else { Err(said["code"].as_str().unwrap().to_owned()) }
}

/// A refusal needs its reason in the document: a keyword of that kind, or for what leads out a name that does.
fn may_refuse(code: &str, schema: &Value) -> bool {
    let references = references(schema);
    match code {
        "recursive_ref" => references.iter().any(|(keyword, _)| keyword == "$ref"),
        "dynamic_ref" => references.iter().any(|(keyword, _)| keyword == "$dynamicRef"),
        "external_ref" => references.iter().any(|(_, to)| !to.starts_with('#')),
        _ => false,
    }
}

/// Words that only make sense with references.
const NAMES: [&str; 8] =
    ["$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "$id", "$anchor", "$dynamicAnchor"];

fn refers(schema: &Value) -> bool {
    subschemas(schema).iter().any(|schema| NAMES.iter().any(|name| schema.get(*name).is_some()))
}

/// Every schema in a flattened one, itself included.
fn subschemas(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
                Value::Object(map),
            ) => {
                found.extend(map.values().flat_map(subschemas));
            }
            ("enum" | "const" | "default" | "examples", _) => {}
            (_, Value::Object(_)) => found.extend(subschemas(value)),
            (_, Value::Array(items)) => found.extend(items.iter().flat_map(subschemas)),
            _ => {}
        }
    }
    found
}

/// Everything in a document that looks like a reference.
fn references(schema: &Value) -> Vec<(String, String)> {
    match schema {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value {
                Value::String(to) if key == "$ref" || key == "$dynamicRef" => vec![(key.clone(), to.clone())],
                other => references(other),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

/// A judge for the schema, with formats as the folder of the suite means them.
fn validator(schema: &Value, file: &Path) -> Option<Validator> {
    let formats = file.parent().is_some_and(|folder| folder.ends_with("format"));
    let mut options = jsonschema::options();
    if formats {
        options = options.should_validate_formats(true);
    }
    options.build(schema).ok()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
    found.sort();
    found
}
