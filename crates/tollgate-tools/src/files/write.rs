//! `write`: a whole file, or lines at the end of one.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tollgate::{Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec, tool::Access};

use super::{
    Files,
    alter::{Wanted, alter},
    change::Edit,
    edit::{good_hash, hash_schema, writing},
};
use crate::{
    beneath::{Asked, Kind},
    builtin::builtin,
};

pub(super) const NAMES: &[&str] = &["write", "fs_write", "fsWrite"];

/// The tool `write`.
#[derive(Debug)]
pub struct Write(pub(super) Arc<Files>);

/// What goes where.
#[derive(Debug, Deserialize)]
pub struct Args {
    path: Asked,
    content: String,
    #[serde(default)]
    mode: Mode,
    hash: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Create,
    #[default]
    Overwrite,
    Append,
}

impl Tool for Write {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, from the working folder. Folders are made as needed."},
                "content": {"type": "string", "description": "The whole text, or the lines to append."},
                "mode": {
                    "enum": ["create", "overwrite", "append"],
                    "description": "`create` fails if the file exists; `overwrite`, unless given, replaces it; `append` adds lines at its end.",
                },
                "hash": hash_schema(),
            },
            "required": ["path", "content"],
            "additionalProperties": false,
        });
        let description = "Writes a file, all or nothing. A file that changed since you last saw it is not \
                           overwritten. The answer says how many lines changed and the new hash. Use `edit` for parts.";
        builtin(NAMES, description, schema, |spec| {
            spec.capability = Some("files.write".into());
            spec.traced = vec!["path".into(), "mode".into()];
        })
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.path.touched(scope, writing(&self.0), Access::Write)
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        good_hash(args.hash.as_deref())?;
        args.path.hold(scope, "/path", &[Kind::File])
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let text = args.content.clone();
        let edit = match args.mode {
            Mode::Create => Edit::Create { text },
            Mode::Overwrite => Edit::Overwrite { text },
            Mode::Append => Edit::Append { text },
        };
        let (path, held, hash) = (args.path.text().to_owned(), args.path.held()?, args.hash.clone());
        alter(&self.0, cx, Wanted { tool: "write", path, held, hash, edits: vec![edit] }).await
    }
}
