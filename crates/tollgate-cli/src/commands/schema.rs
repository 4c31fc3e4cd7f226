//! `tollgate schema`: a schema comes in, one without references or in a provider's form goes out. Nothing else is
//! loaded.

use std::path::Path;

use serde_json::{Value, json};
use tollgate::schema::{
    FlattenError, ProjectError, Projection, Report, ReportEntry, Target, flatten, project,
};

use crate::{
    args::{Project, Schema},
    exit::{Exit, Fault},
    input, words,
};

/// The longest text of a schema that is read.
const MOST: usize = 64 << 20;

pub(crate) fn run(schema: &Schema) -> Result<Exit, Fault> {
    match schema {
        Schema::Flatten(flatten) => match read(flatten.file.as_deref())? {
            Ok(schema) => flattened(&schema),
            Err(exit) => Ok(exit),
        },
        Schema::Project(project) => match read(project.file.as_deref())? {
            Ok(schema) => projected(&schema, project),
            Err(exit) => Ok(exit),
        },
    }
}

fn flattened(schema: &Value) -> Result<Exit, Fault> {
    match flatten(schema) {
        Ok(flat) => words::data(&flat.to_string()).map(|()| Exit::Done),
        Err(error) => refused(&error),
    }
}

fn refused(error: &FlattenError) -> Result<Exit, Fault> {
    let hint = match error {
        FlattenError::RecursiveRef(_) => "say how deep it may go, or describe the nested part in words.",
        FlattenError::ExternalRef(_) => "put the target into `$defs` and refer to it as `#/$defs/…`.",
        FlattenError::UnresolvableRef(_) => "add the definition, or correct the reference.",
        FlattenError::DynamicRef(_) => "use `$ref`.",
        FlattenError::TooLarge(_) => "refer to fewer schemas from fewer places.",
        _ => "write the schema in draft 2020-12.",
    };
    told(error.code(), &error.to_string(), hint)?;
    Ok(Exit::Refused)
}

fn projected(schema: &Value, asked: &Project) -> Result<Exit, Fault> {
    let target = Target { provider: asked.provider.into(), strict: asked.strict };
    let projection = match project(schema, target) {
        Ok(projection) => projection,
        Err(ProjectError::Flatten(error)) => return refused(&error),
        Err(error) => {
            told(
                "unsupported",
                &error.to_string(),
                "the arguments of a tool are an object: {\"type\": \"object\"}.",
            )?;
            return Ok(Exit::Refused);
        }
    };
    words::talk(&if asked.json {
        words::json(&json!({"strict": projection.strict, "report": projection.report}))
    } else {
        table(&projection, asked.strict)
    });
    words::data(&projection.schema.to_string())?;
    Ok(Exit::Done)
}

/// The report for people: one line for each keyword that is not as it was.
fn table(projection: &Projection, asked_strict: bool) -> String {
    let report = &projection.report;
    let strict = match (projection.strict, asked_strict) {
        (true, _) => "strict",
        (false, true) => "not strict, though asked for",
        (false, false) => "not strict",
    };
    let mut lines = vec![format!("{strict}; {} keywords as they were", report.kept)];
    lines.extend(report_lines(report));
    lines.join("\n")
}

/// What became of each keyword that is not as it was.
pub(crate) fn report_lines(report: &Report) -> Vec<String> {
    let kinds = [
        ("rewritten", &report.rewritten),
        ("moved", &report.moved),
        ("dropped", &report.dropped),
        ("not strict", &report.not_strict),
    ];
    kinds.into_iter().flat_map(|(kind, entries)| entries.iter().map(move |entry| line(kind, entry))).collect()
}

fn line(kind: &str, entry: &ReportEntry) -> String {
    let place = if entry.pointer.is_empty() { "/" } else { &entry.pointer };
    words::entry::<10>(kind, &format!("{place} {}: {}", entry.keyword, entry.why).replace('\n', " "))
}

/// The schema; or, where there is none, the exit code of having said so.
fn read(file: Option<&Path>) -> Result<Result<Value, Exit>, Fault> {
    let bytes = input::read(file, MOST + 1)?;
    if bytes.len() > MOST {
        told(
            "too_large",
            &format!("the schema is larger than {} MiB", MOST >> 20),
            "leave out what is not used.",
        )?;
        return Ok(Err(Exit::Refused));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
    match serde_json::from_slice(bytes) {
        Ok(schema) => Ok(Ok(schema)),
        // The words of serde_json, which has no other sign for it.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => {
            told(
                "too_large",
                "the schema is nested deeper than 127 levels",
                "name the inner parts in `$defs`.",
            )?;
            Ok(Err(Exit::Refused))
        }
        Err(error) => {
            told(
                "unsupported",
                &format!("the schema is not JSON: {error}"),
                "give one JSON Schema, in UTF-8.",
            )?;
            Ok(Err(Exit::Usage))
        }
    }
}

/// For programs on stdout, for people on stderr.
fn told(code: &str, message: &str, hint: &str) -> Result<(), Fault> {
    words::data(&words::json(&json!({"code": code, "message": message})))?;
    words::talk(&format!("error: {code}: {}", words::visible(message)));
    words::talk(&format!("hint: {hint}"));
    Ok(())
}
