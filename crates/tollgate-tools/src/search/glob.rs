//! `glob`: the files below a folder whose path matches a pattern.

use std::{
    ffi::{OsStr, OsString},
    fmt::Write as _,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
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
    /// A pattern without a slash is one of names alone.
    fn is_of_names(&self) -> bool {
        !self.pattern.contains('/')
    }

    fn matcher(&self) -> Result<GlobSet, Refusal> {
        let pattern = self.pattern.strip_prefix("./").unwrap_or(&self.pattern);
        if pattern.is_empty() || pattern.starts_with('/') || pattern.split('/').any(|part| part == "..") {
            return Err(Refusal::invalid_value(
                "/pattern",
                "a pattern starts at the folder and stays below it",
            )
            .with_hint("Give the folder as `path` and a pattern from there."));
        }
        // No name holds a slash, and where none is to be kept out a pattern like `*.rs` is found by the ending alone.
        let glob = GlobBuilder::new(pattern)
            .literal_separator(!self.is_of_names())
            .case_insensitive(self.ignore_case)
            .build();
        glob.and_then(|glob| GlobSetBuilder::new().add(glob).build()).map_err(|error| {
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
    let by_name = query.is_of_names();
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
            let Some(rel) = below(base, entry.path()) else { return WalkState::Continue };
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

/// The path below the folder that is walked, which every path of the walk begins with.
fn below<'p>(base: &Path, path: &'p Path) -> Option<&'p Path> {
    let rest = path.as_os_str().as_bytes().strip_prefix(base.as_os_str().as_bytes())?;
    Some(Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))))
}

/// A path whose bytes are in the order of paths: `/` comes before everything a name can hold.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ordered(Box<[u8]>);

impl Ordered {
    fn of(path: &Path) -> Self {
        let swap = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
        Self(path.as_os_str().as_bytes().iter().map(swap).collect())
    }

    fn path(&self) -> PathBuf {
        let swap = |byte: &u8| if *byte == 0 { b'/' } else { *byte };
        OsString::from_vec(self.0.iter().map(swap).collect()).into()
    }
}

/// The first paths in order, and how many there are.
#[derive(Debug, Default)]
struct Found {
    paths: Vec<Ordered>,
    total: u64,
}

impl Found {
    fn add(&mut self, rel: &Path, limit: usize) {
        self.total += 1;
        self.paths.push(Ordered::of(rel));
        if self.paths.len() >= 4 * limit {
            self.paths.select_nth_unstable(limit);
            self.paths.truncate(limit);
        }
    }
}

/// What one thread found; put in order and handed over when it is done.
struct Mine<'a> {
    found: Found,
    all: &'a Mutex<Found>,
    limit: usize,
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        self.found.paths.sort_unstable();
        self.found.paths.truncate(self.limit);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.total += self.found.total;
        all.paths.append(&mut self.found.paths);
    }
}

fn list(mut found: Found, path: &str, limit: usize) -> String {
    // Not the unstable one: this one sees that each thread's part is in order already.
    found.paths.sort();
    found.paths.truncate(limit);
    let mut text = String::with_capacity(found.paths.iter().map(|path| path.0.len() + 1).sum());
    for rel in &found.paths {
        text.push_str(&named(path, &rel.path()));
        text.push('\n');
    }
    let shown = found.paths.len() as u64;
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
