//! `glob`: the files below a folder whose path matches a pattern.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkState};
use serde::Deserialize;
use serde_json::json;
use tollgate::{Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec, tool::Access};

use super::{
    grep::{good_limit, here, named},
    searching,
    walk::Filter,
};
use crate::{
    beneath::{Asked, Held, Kind, failure},
    blocking::{Stop, off_thread, stopped},
};

pub(super) const NAMES: &[&str] = &["glob"];

/// The tool `glob`.
#[derive(Debug)]
pub struct Glob;

/// What is looked for, and where.
#[derive(Debug, Deserialize)]
pub struct Args {
    #[serde(default = "here")]
    path: Asked,
    #[serde(flatten)]
    query: Query,
    #[serde(flatten)]
    filter: Filter,
}

#[derive(Debug, Clone, Deserialize)]
struct Query {
    pattern: String,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    kind: Wanted,
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    #[default]
    File,
    Folder,
    Any,
}

const USUAL_LIMIT: usize = 500;
const LARGEST_LIMIT: usize = 50_000;

impl Tool for Glob {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let flag = |what: &str| json!({"type": "boolean", "description": what});
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "As `*.rs` for a name anywhere below, or `src/**/*.ts` for a path from the folder."},
                "path": {"type": "string", "description": "The folder; the working folder unless given."},
                "kind": {"enum": ["file", "folder", "any"], "description": "Files unless given."},
                "ignore_case": flag("Capital or small does not matter."),
                "hidden": flag("Hidden files too."),
                "no_ignore": flag("What .gitignore and the like leave out too."),
                "limit": {"type": "integer", "description": "How many at most; 500 unless given."},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let description = "Finds files by their path, in order. Ignore files are respected, links are not followed. \
                           Everything is counted, and what is not shown is said.";
        searching(NAMES, description, schema)
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.path.touched(scope, Effects::reading(), Access::Read)
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        args.query.matcher()?;
        good_limit(args.query.limit)?;
        args.path.hold(scope, "/path", &[Kind::Folder])
    }

    async fn run(&self, _: &Cx, args: &Args) -> Result<Output, Failure> {
        let (held, text) = (args.path.held()?, args.path.text().to_owned());
        let (query, filter) = (args.query.clone(), args.filter.clone());
        let output = off_thread(move |stop| find(&held, &text, &query, &filter, stop));
        Ok(output.await?.untrusted())
    }
}

impl Query {
    fn matcher(&self) -> Result<GlobMatcher, Refusal> {
        let pattern = self.pattern.strip_prefix("./").unwrap_or(&self.pattern);
        if pattern.is_empty() || pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(Refusal::invalid_value(
                "/pattern",
                "a pattern starts at the folder and stays below it",
            )
            .with_hint("Give the folder as `path` and a pattern from there."));
        }
        let glob =
            GlobBuilder::new(pattern).literal_separator(true).case_insensitive(self.ignore_case).build();
        glob.map(|glob| glob.compile_matcher()).map_err(|error| {
            Refusal::invalid_value("/pattern", format!("the pattern cannot be compiled: {error}"))
                .with_hint("Write a glob like `*.rs` or `src/**/*.ts`.")
        })
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(USUAL_LIMIT).min(LARGEST_LIMIT)
    }
}

fn find(held: &Held, path: &str, query: &Query, filter: &Filter, stop: &Stop) -> Result<Output, Failure> {
    let base = held.path();
    held.folder().map_err(|trouble| failure(&base, trouble))?;
    let refused = |refusal: Refusal| Failure::fatal(refusal.to_string());
    let (matcher, walk) = (query.matcher().map_err(refused)?, filter.walk(&base).map_err(refused)?);
    let by_name = !query.pattern.contains('/');
    let limit = query.limit();
    let found = Mutex::new(Found::default());
    walk.run(|| {
        let (matcher, base) = (&matcher, &base);
        let mut mine = Mine { found: Found::default(), all: &found, limit };
        Box::new(move |entry| {
            if stop.is_set() {
                return WalkState::Quit;
            }
            let Ok(entry) = entry else { return WalkState::Continue };
            if entry.depth() == 0 || !query.wants(&entry) {
                return WalkState::Continue;
            }
            let Ok(rel) = entry.path().strip_prefix(base) else { return WalkState::Continue };
            let matches = if by_name { matcher.is_match(entry.file_name()) } else { matcher.is_match(rel) };
            if matches {
                mine.found.add(rel, limit);
            }
            WalkState::Continue
        })
    });
    if stop.is_set() {
        return Err(stopped());
    }
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Output::text(list(found, path, limit)))
}

impl Query {
    fn wants(&self, entry: &DirEntry) -> bool {
        match self.kind {
            Wanted::Any => true,
            Wanted::File => entry.file_type().is_some_and(|kind| !kind.is_dir()),
            Wanted::Folder => entry.file_type().is_some_and(|kind| kind.is_dir()),
        }
    }
}

/// The first paths in order, and how many there are.
#[derive(Debug, Default)]
struct Found {
    paths: Vec<PathBuf>,
    total: u64,
}

impl Found {
    fn add(&mut self, rel: &Path, limit: usize) {
        self.total += 1;
        self.paths.push(rel.to_owned());
        if self.paths.len() >= 4 * limit {
            self.shorten(limit);
        }
    }

    fn shorten(&mut self, limit: usize) {
        if self.paths.len() > limit {
            self.paths.select_nth_unstable(limit);
            self.paths.truncate(limit);
        }
    }
}

/// What one thread found; handed over when it is done.
struct Mine<'a> {
    found: Found,
    all: &'a Mutex<Found>,
    limit: usize,
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.total += self.found.total;
        all.paths.append(&mut self.found.paths);
        all.shorten(self.limit);
    }
}

fn list(mut found: Found, path: &str, limit: usize) -> String {
    found.paths.sort_unstable();
    let mut text = String::new();
    for rel in found.paths.iter().take(limit) {
        text.push_str(&named(path, rel));
        text.push('\n');
    }
    let shown = found.paths.len().min(limit) as u64;
    let _ = match found.total {
        0 => writeln!(text, "[nothing matches]"),
        total if total > shown => {
            writeln!(
                text,
                "[{total} match; shown are the first {shown} in order, raise `limit` or narrow the pattern]"
            )
        }
        total => writeln!(text, "[{total} match]"),
    };
    text
}
