//! `read`: several looks in one call: numbered lines of files, folders, pictures.

use std::{fmt::Write as _, sync::Arc};

use serde::Deserialize;
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec,
    outcome::Item,
    tool::{Access, Interrupt},
};

use super::{
    Files,
    lines::{Lines, Window},
    listing, picture,
    read_file::{USUAL_LINES, absent, good_window, more, span, text},
};
use crate::{
    beneath::{Asked, Held, Kind, failure, shown},
    blocking::{Stop, off_thread},
    builtin::builtin,
};

pub(super) const NAMES: &[&str] = &["read", "fs_read", "fsRead"];

/// The tool `read`.
#[derive(Debug)]
pub struct Read(pub(super) Arc<Files>);

const MOST_LOOKS: usize = 50;

/// The looks, in order.
#[derive(Debug, Deserialize)]
pub struct Args {
    operations: Vec<Operation>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase")]
enum Operation {
    Line { path: Asked, offset: Option<u64>, limit: Option<u64> },
    Directory { path: Asked, depth: Option<u32> },
    Image { path: Asked },
}

impl Operation {
    fn path(&self) -> &Asked {
        match self {
            Self::Line { path, .. } | Self::Directory { path, .. } | Self::Image { path } => path,
        }
    }

    fn wants(&self) -> Kind {
        match self {
            Self::Line { .. } | Self::Image { .. } => Kind::File,
            Self::Directory { .. } => Kind::Folder,
        }
    }

    fn look(&self) -> Look {
        match self {
            Self::Line { offset, limit, .. } => {
                Look::Lines(Window { from: offset.unwrap_or(1), count: limit.unwrap_or(USUAL_LINES) })
            }
            Self::Directory { depth, .. } => Look::Folder(depth.unwrap_or(1)),
            Self::Image { .. } => Look::Picture,
        }
    }
}

/// An operation without its path.
#[derive(Debug, Clone, Copy)]
enum Look {
    Lines(Window),
    Folder(u32),
    Picture,
}

impl Tool for Read {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let path = json!({"type": "string", "description": "From the working folder."});
        let mode = |name: &str| json!({"const": name});
        let schema = json!({
            "type": "object",
            "properties": {"operations": {
                "type": "array",
                "minItems": 1,
                "description": "The looks, at most 50, in the order of their answers.",
                "items": {"oneOf": [
                    {
                        "type": "object",
                        "description": "Numbered lines of a text file.",
                        "properties": {
                            "mode": mode("line"),
                            "path": path,
                            "offset": {"type": "integer", "description": "The first line, counted from 1."},
                            "limit": {"type": "integer", "description": "How many lines; 2000 unless given."},
                        },
                        "required": ["mode", "path"],
                        "additionalProperties": false,
                    },
                    {
                        "type": "object",
                        "description": "The entries of a folder.",
                        "properties": {
                            "mode": mode("directory"),
                            "path": path,
                            "depth": {"type": "integer", "description": format!("How many levels, at most {}; 1 unless given.", listing::DEEPEST)},
                        },
                        "required": ["mode", "path"],
                        "additionalProperties": false,
                    },
                    {
                        "type": "object",
                        "description": "A PNG, JPEG, GIF or WebP picture.",
                        "properties": {"mode": mode("image"), "path": path},
                        "required": ["mode", "path"],
                        "additionalProperties": false,
                    },
                ]},
            }},
            "required": ["operations"],
            "additionalProperties": false,
        });
        let description = "Looks at files: numbered lines of text files, the entries of folders, pictures; several in \
                           one call. Each file comes with the hash of its content.";
        builtin(NAMES, description, schema, |spec| {
            spec.capability = Some("files.read".into());
            spec.requires_permission = false;
            spec.interrupt = Interrupt::Cancel;
        })
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.operations.iter().fold(Effects::reading(), |effects, operation| {
            operation.path().touched(scope, effects, Access::Read)
        })
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        if args.operations.len() > MOST_LOOKS {
            return Err(Refusal::invalid_value(
                "/operations",
                format!("at most {MOST_LOOKS} looks in one call"),
            ));
        }
        for (at, operation) in args.operations.iter().enumerate() {
            if let Operation::Line { offset, limit, .. } = operation {
                good_window(&format!("/operations/{at}"), *offset, *limit)?;
            }
            operation.path().hold(scope, &format!("/operations/{at}/path"), &[operation.wants()])?;
        }
        Ok(())
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let (mut output, mut failed) = (Output::default(), Vec::new());
        for operation in &args.operations {
            let (held, path, look) =
                (operation.path().held()?, operation.path().text().to_owned(), operation.look());
            let real = held.path();
            match off_thread(move |stop| seen(&held, &path, look, stop)).await {
                Ok((item, hash)) => {
                    if let Some(hash) = hash {
                        self.0.seen.note(cx, &real, &hash);
                    }
                    output.items.push(item);
                }
                Err(failure) => {
                    let hint = failure.hint.as_deref().unwrap_or_default();
                    output.items.push(Item::Text { text: format!("error: {} {hint}", failure.message) });
                    failed.push(failure);
                }
            }
        }
        // Where nothing could be looked at, the call has failed; otherwise what was seen is worth having.
        if failed.len() == args.operations.len()
            && let Some(failure) = failed.into_iter().next()
        {
            return Err(failure);
        }
        Ok(output.untrusted())
    }
}

type Sight = (Item, Option<String>);

fn seen(held: &Held, path: &str, look: Look, stop: &Stop) -> Result<Sight, Failure> {
    match look {
        Look::Lines(window) => {
            let lines = text(held, window, stop)?;
            let hash = lines.hash.clone();
            Ok((Item::Text { text: numbered(path, &lines) }, hash))
        }
        Look::Folder(depth) => {
            let folder = held.folder().map_err(|trouble| failure(&held.path(), trouble))?;
            let listing =
                listing::list(&folder, depth, stop).map_err(|trouble| failure(&held.path(), trouble))?;
            let mut text =
                format!("{path}/ ({} entries)\n{}", listing.shown + listing.left_out, listing.text);
            if listing.left_out > 0 {
                let _ = writeln!(
                    text,
                    "[{} more entries are not shown; use `glob` to find some]",
                    listing.left_out
                );
            }
            Ok((Item::Text { text }, None))
        }
        Look::Picture => {
            let mut opened = held.open().map_err(|trouble| absent(held, trouble))?;
            let bytes = opened.len();
            let item = picture::read(&mut opened.file, bytes).map_err(|why| {
                Failure::fatal(format!("{}: {why}.", shown(held.path().as_os_str())))
                    .with_hint("Read text files in mode `line`.")
            })?;
            Ok((item, None))
        }
    }
}

/// A line with what is known of the file, then its lines with their numbers.
fn numbered(path: &str, lines: &Lines) -> String {
    let mut text = format!("{path}: ");
    let _ = match (lines.count, lines.total) {
        (0, _) => write!(text, "empty"),
        (_, Some(total)) => write!(text, "lines {} of {total}", span(lines)),
        (_, None) => write!(text, "lines {}", span(lines)),
    };
    for said in [lines.encoding.name(), lines.hash.as_deref()].into_iter().flatten() {
        let _ = write!(text, ", {said}");
    }
    text.push('\n');
    for (at, line) in lines.text.split_inclusive('\n').enumerate() {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let _ = writeln!(text, "{:>6}\t{}", lines.from + at as u64, line.strip_suffix('\r').unwrap_or(line));
    }
    if lines.cut {
        text.push_str("[the text is cut here; ask for fewer lines]\n");
    } else if more(lines) {
        let _ = writeln!(text, "[the file goes on; ask from line {} for more]", lines.from + lines.count);
    }
    text
}
