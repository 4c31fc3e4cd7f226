//! `edit`: parts of a file, several at once, all or nothing.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Opinion, Output, Refusal, Scope, Tool, ToolSpec, outcome::RefusalCode, tool::Access,
};

use super::{
    Files,
    alter::{SHORTEST_HASH, Wanted, alter},
    change::Edit as Step,
};
use crate::{
    beneath::{Asked, Kind},
    builtin::builtin,
    command::Reading,
};

pub(super) const NAMES: &[&str] = &["edit"];

/// The tool `edit`.
#[derive(Debug)]
pub struct Edit(pub(super) Arc<Files>);

/// What changes where.
#[derive(Debug, Deserialize)]
pub struct Args {
    path: Asked,
    #[serde(default)]
    edits: Vec<Step>,
    diff: Option<String>,
    hash: Option<String>,
}

impl Tool for Edit {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let text = |what: &str| json!({"type": "string", "description": what});
        let op = |name: &str, what: &str, fields: Value, required: &[&str]| {
            let mut properties = json!({"op": {"const": name}});
            if let (Value::Object(all), Value::Object(more)) = (&mut properties, fields) {
                all.extend(more);
            }
            let required: Vec<_> = std::iter::once("op").chain(required.iter().copied()).collect();
            json!({
                "type": "object",
                "description": what,
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        };
        let count =
            json!({"type": "integer", "description": "How often it must be there; once unless given."});
        let line = json!({"type": "integer", "description": "Counted from 1; one past the last is the end."});
        let operations = json!([
            op(
                "replace",
                "Replaces a text that stands in the file exactly so.",
                json!({"old": text("The text, as it stands, with enough around it to be the only one."), "new": text("What takes its place."), "count": count}),
                &["old", "new"]
            ),
            op(
                "insert",
                "Puts lines before a line.",
                json!({"line": line, "text": text("The lines.")}),
                &["line", "text"]
            ),
            op("append", "Puts lines at the end.", json!({"text": text("The lines.")}), &["text"]),
            op(
                "create",
                "Makes the file; fails if it exists.",
                json!({"text": text("The whole text.")}),
                &["text"]
            ),
            op(
                "overwrite",
                "Gives the file a new text.",
                json!({"text": text("The whole text.")}),
                &["text"]
            ),
            op("patch", "Applies a unified diff.", json!({"diff": text("The hunks.")}), &["diff"]),
        ]);
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, from the working folder."},
                "edits": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"oneOf": operations},
                    "description": "Made in order, each on the result of the one before; all of them or none.",
                },
                "diff": text("Instead of `edits`: a unified diff of this one file."),
                "hash": hash_schema(),
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let description = "Changes parts of a file, all or nothing, keeping its line endings and permissions. A file that \
                           changed since you last saw it is not changed; the answer then says who changed it and what \
                           is nearest. Otherwise it says how many lines changed and the new hash.";
        builtin(NAMES, description, schema, |spec| {
            spec.capability = Some("files.write".into());
            spec.traced = vec!["path".into()];
        })
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.path.touched(scope, writing(&self.0), Access::Write)
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        if args.edits.is_empty() == args.diff.is_none() {
            return Err(Refusal::invalid_value("", "give either `edits` or `diff`, one of them"));
        }
        if args.edits.iter().any(|edit| matches!(edit, Step::Replace { count: Some(0), .. })) {
            return Err(Refusal::invalid_value("/edits", "a `count` of 0 replaces nothing"));
        }
        good_hash(args.hash.as_deref())?;
        args.path.hold(scope, "/path", &[Kind::File])
    }

    /// An edit that compares reads: whoever may not read the file could ask it out, a guess at a time.
    fn authorize(&self, scope: &Scope, args: &Args) -> Opinion {
        if args.diff.is_none() && !args.edits.iter().any(Step::compares) {
            return Opinion::Abstain;
        }
        let Ok(held) = args.path.held() else { return Opinion::Abstain };
        match self.0.guard.says(scope, &held.path()) {
            Reading::Allowed => Opinion::Abstain,
            Reading::Asks => Opinion::Ask(
                "the edit tells what stands in the file, and reading that needs a yes".to_owned(),
            ),
            Reading::Denied => {
                let reason = "A rule denies reading this file, and such an edit tells what stands in it.";
                Opinion::Deny(
                    Refusal::new(RefusalCode::Denied, reason).with_hint(
                        "Append, insert or overwrite instead, or ask the person to make the change.",
                    ),
                )
            }
        }
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let edits = match &args.diff {
            Some(diff) => vec![Step::Patch { diff: diff.clone() }],
            None => args.edits.clone(),
        };
        let (path, held, hash) = (args.path.text().to_owned(), args.path.held()?, args.hash.clone());
        alter(&self.0, cx, Wanted { tool: "edit", path, held, hash, edits }).await
    }
}

/// A journaled change can be taken back; another one destroys.
pub(super) fn writing(files: &Files) -> Effects {
    if files.journal.is_some() { Effects::writing() } else { Effects::writing().destructive() }
}

pub(super) fn hash_schema() -> Value {
    json!({
        "type": "string",
        "description": "The hash of the content you mean to change, as the last answer gave it; or its first 12 digits or more. \
                        Left out, what you last saw counts.",
    })
}

/// A hash that could match by accident compares nothing.
pub(super) fn good_hash(hash: Option<&str>) -> Result<(), Refusal> {
    let Some(hash) = hash else { return Ok(()) };
    let digits = hash.trim_start_matches("sha256:");
    if (SHORTEST_HASH..=64).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(());
    }
    let message = format!(
        "a hash is `sha256:` and 64 hexadecimal digits, or the first {SHORTEST_HASH} of them or more"
    );
    Err(Refusal::invalid_value("/hash", message))
}
