//! `read_file`: the text of one file, or a range of its lines, as it is.

use std::{path::Path, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec,
    outcome::Item,
    tool::{Access, Interrupt},
};

use super::{
    Files,
    lines::{self, Lines, Ranged, Window},
    listing::names,
};
use crate::{
    beneath::{Asked, Held, Kind, Trouble, failure, not_found, shown},
    blocking::{Stop, off_thread},
    builtin::builtin,
};

pub(super) const NAMES: &[&str] = &["read_file"];

/// The tool `read_file`.
#[derive(Debug)]
pub struct ReadFile(pub(super) Arc<Files>);

/// Which file, and which lines of it.
#[derive(Debug, Deserialize)]
pub struct Args {
    path: Asked,
    offset: Option<u64>,
    limit: Option<u64>,
}

/// As many lines as are read where the call does not say.
pub(super) const USUAL_LINES: u64 = 2_000;

impl Tool for ReadFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The file, from the working folder."},
                "offset": {"type": "integer", "description": "The first line, counted from 1."},
                "limit": {"type": "integer", "description": "How many lines; 2000 unless given."},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        let description = "Reads a text file, whole or a range of its lines, and gives its text as it is, with the \
                           hash of its content. Use `read` for numbered lines, several files, folders or pictures.";
        builtin(NAMES, description, schema, |spec| {
            spec.capability = Some("files.read".into());
            spec.requires_permission = false;
            spec.interrupt = Interrupt::Cancel;
            spec.traced = vec!["path".into()];
        })
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.path.touched(scope, Effects::reading(), Access::Read)
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        good_window("", args.offset, args.limit)?;
        args.path.hold(scope, "/path", &[Kind::File])
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let held = args.path.held()?;
        let window = Window { from: args.offset.unwrap_or(1), count: args.limit.unwrap_or(USUAL_LINES) };
        let path = held.path();
        let lines = off_thread(move |stop| text(&held, window, stop)).await?;
        if let Some(hash) = &lines.hash {
            self.0.seen.note(cx, &path, hash);
        }
        let meta = meta(args.path.text(), &lines);
        let output = if lines.text.is_empty() {
            Output::json(meta)
        } else {
            Output::text(lines.text).and(Item::Json { json: meta })
        };
        Ok(output.untrusted())
    }
}

/// Lines are counted from 1, and none is no wish. Bounds in the schema would keep providers from being strict.
pub(super) fn good_window(pointer: &str, offset: Option<u64>, limit: Option<u64>) -> Result<(), Refusal> {
    match (offset, limit) {
        (Some(0), _) => Err(Refusal::invalid_value(format!("{pointer}/offset"), "lines are counted from 1")),
        (_, Some(0)) => {
            Err(Refusal::invalid_value(format!("{pointer}/limit"), "at least one line is to be read"))
        }
        _ => Ok(()),
    }
}

/// The lines of a file, or why it has none to show.
pub(super) fn text(held: &Held, window: Window, stop: &Stop) -> Result<Lines, Failure> {
    let path = held.path();
    let mut opened = held.open().map_err(|trouble| absent(held, trouble))?;
    let bytes = opened.len();
    let ranged = lines::read(&mut opened.file, bytes, window, stop);
    match ranged.map_err(|error| failure(&path, error.into()))? {
        Ranged::Lines(lines) => past_the_end(&path, window, lines),
        Ranged::Binary { looks_like, bytes } => {
            let what = looks_like.map_or("binary data".to_owned(), |what| format!("binary data, {what}"));
            Err(Failure::fatal(format!("{}: {what}, {bytes} bytes; not shown as text.", shown(path.as_os_str())))
                .with_hint("Show pictures with `read` in mode `image`; look into other files with a program that knows them."))
        }
        Ranged::TooWide { bytes } => Err(Failure::fatal(format!(
            "{}: UTF-16 text of {bytes} bytes, too large to be read by lines.",
            shown(path.as_os_str())
        ))
        .with_hint("Convert it to UTF-8 first.")),
    }
}

fn past_the_end(path: &Path, window: Window, lines: Lines) -> Result<Lines, Failure> {
    match lines.total {
        Some(total) if window.from > total && window.from > 1 => Err(Failure::fatal(format!(
            "{} has {total} lines; there is no line {}.",
            shown(path.as_os_str()),
            window.from
        ))
        .with_hint("Ask for lines that are there.")),
        _ => Ok(lines),
    }
}

/// A file that is not there is answered with the names that are.
pub(super) fn absent(held: &Held, trouble: Trouble) -> Failure {
    match &trouble {
        Trouble::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            not_found(&held.path(), &near(held))
        }
        _ => failure(&held.path(), trouble),
    }
}

/// How different a name may be to be offered instead.
const FAR: usize = 3;

fn near(held: &Held) -> Vec<String> {
    let Some(folder) = held.existing_parent() else { return Vec::new() };
    let wanted = shown(held.name()).to_lowercase();
    let mut near: Vec<(usize, String)> = names(folder)
        .unwrap_or_default()
        .iter()
        .take(10_000)
        .map(|name| shown(name))
        .map(|name| (distance(&name.to_lowercase(), &wanted), name))
        .filter(|(far, _)| *far <= FAR)
        .collect();
    near.sort();
    near.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect()
}

/// How many letters must change, as far as [`FAR`].
fn distance(one: &str, other: &str) -> usize {
    if one.len().abs_diff(other.len()) > FAR {
        return usize::MAX;
    }
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to, d) in other.iter().enumerate() {
            let change = before + usize::from(c != *d);
            before = row[to + 1];
            row[to + 1] = change.min(row[to] + 1).min(before + 1);
        }
    }
    row[other.len()]
}

/// What is to be known about the lines besides their text.
fn meta(path: &str, lines: &Lines) -> Value {
    let mut meta = json!({"path": path, "lines": span(lines), "bytes": lines.bytes});
    let optional = [
        ("total_lines", lines.total.map(Value::from)),
        ("hash", lines.hash.clone().map(Value::from)),
        ("encoding", lines.encoding.name().map(Value::from)),
        ("more", more(lines).then_some(Value::Bool(true))),
    ];
    if let Value::Object(map) = &mut meta {
        map.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    }
    meta
}

/// The range in words: `1-20`, or `none`.
pub(super) fn span(lines: &Lines) -> String {
    match lines.count {
        0 => "none".to_owned(),
        1 => lines.from.to_string(),
        count => format!("{}-{}", lines.from, lines.from + count - 1),
    }
}

/// True where the file goes on after these lines.
pub(super) fn more(lines: &Lines) -> bool {
    lines.cut || lines.total.is_none_or(|total| lines.from + lines.count <= total)
}
