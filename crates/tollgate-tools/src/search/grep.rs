//! `grep`: lines that match a pattern, in a file or everywhere below a folder.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::WalkState;
use rustix::fs::{Mode, fstat};
use serde::Deserialize;
use serde_json::json;
use tollgate::{Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec, tool::Access};

use super::{
    Search,
    hits::{Collect, FileHits, Hits},
    searching,
    walk::Filter,
};
use crate::{
    beneath::{Asked, Held, Kind, READ, failure, inside, kind_of, shown},
    blocking::{Stop, off_thread, stopped},
};

pub(super) const NAMES: &[&str] = &["grep"];

/// The tool `grep`.
#[derive(Debug)]
pub struct Grep(pub(super) Search);

/// What is looked for, where, and how it is shown.
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
#[expect(clippy::struct_excessive_bools, reason = "independent switches, as the call names them")]
struct Query {
    pattern: String,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    word: bool,
    #[serde(default)]
    multiline: bool,
    #[serde(default)]
    output: Shown,
    #[serde(default)]
    before: usize,
    #[serde(default)]
    after: usize,
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shown {
    #[default]
    Content,
    Files,
    Count,
}

/// As many lines or files as are shown where the call does not say.
const USUAL_LIMIT: usize = 250;
const LARGEST_LIMIT: usize = 10_000;

const MOST_CONTEXT: usize = 100;

/// Nothing at all is no wish.
pub(super) fn good_limit(limit: Option<usize>) -> Result<(), Refusal> {
    if limit == Some(0) {
        Err(Refusal::invalid_value("/limit", "at least one is to be shown"))
    } else {
        Ok(())
    }
}

pub(super) fn here() -> Asked {
    ".".to_owned().into()
}

impl Tool for Grep {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let flag = |what: &str| json!({"type": "boolean", "description": what});
        let list = |what: &str| json!({"type": "array", "items": {"type": "string"}, "description": what});
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression, as ripgrep takes it."},
                "path": {"type": "string", "description": "A file or folder; the working folder unless given."},
                "output": {"enum": ["content", "files", "count"], "description": "Matching lines (unless given), only the files, or how many lines match in each."},
                "before": {"type": "integer", "description": "Lines of context before each match."},
                "after": {"type": "integer", "description": "Lines of context after each match."},
                "literal": flag("The pattern is plain text."),
                "ignore_case": flag("Capital or small does not matter."),
                "word": flag("Whole words only."),
                "multiline": flag("A match may span lines, and `.` matches line breaks too."),
                "globs": list("Only paths these match, as `*.rs`; with `!` in front, all but those."),
                "types": list("Only these types of files, as `rust`, `py`, `js`."),
                "hidden": flag("Hidden files too."),
                "no_ignore": flag("What .gitignore and the like leave out too."),
                "limit": {"type": "integer", "description": "How many lines or files at most; 250 unless given."},
            },
            "required": ["pattern"],
            "additionalProperties": false,
        });
        let description = "Searches file contents for a regular expression, in the order of paths. Ignore files are \
                           respected; binary files, links and secrets are left out. Everything is counted, and what is \
                           not shown is said.";
        searching(NAMES, description, schema)
    }

    fn effects(&self, scope: &Scope, args: &Args) -> Effects {
        args.path.touched(scope, Effects::reading(), Access::Read)
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        args.query.matcher()?;
        good_limit(args.query.limit)?;
        if args.query.before > MOST_CONTEXT || args.query.after > MOST_CONTEXT {
            let message = format!("at most {MOST_CONTEXT} lines of context");
            return Err(Refusal::invalid_value("/before", message));
        }
        args.filter.walk(Path::new("."))?;
        args.path.hold(scope, "/path", &[Kind::File, Kind::Folder])
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let scope = Scope::clone(cx);
        let (search, held, text) = (self.0.clone(), args.path.held()?, args.path.text().to_owned());
        let (query, filter) = (args.query.clone(), args.filter.clone());
        let output = off_thread(move |stop| {
            let matcher = query.matcher().map_err(|refusal| Failure::fatal(refusal.to_string()))?;
            let looking = Looking { search: &search, scope: &scope, query: &query, matcher, stop };
            let hits = looking.look(&held, &filter)?;
            Ok(answer(&text, &query, hits))
        });
        Ok(output.await?.untrusted())
    }
}

impl Query {
    fn matcher(&self) -> Result<RegexMatcher, Refusal> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(self.ignore_case)
            .word(self.word)
            .fixed_strings(self.literal)
            .dot_matches_new_line(self.multiline);
        if !self.multiline {
            builder.line_terminator(Some(b'\n')).ban_byte(Some(b'\0'));
        }
        builder.build(&self.pattern).map_err(|error| {
            Refusal::invalid_value("/pattern", format!("the pattern cannot be compiled: {error}")).with_hint(
                "Write a regular expression as ripgrep takes it, set `literal` for plain text, or `multiline` for line breaks.",
            )
        })
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_number(self.output == Shown::Content)
            .multi_line(self.multiline)
            .before_context(if self.output == Shown::Content { self.before } else { 0 })
            .after_context(if self.output == Shown::Content { self.after } else { 0 })
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(USUAL_LIMIT).min(LARGEST_LIMIT)
    }
}

/// A search on its way.
struct Looking<'a> {
    search: &'a Search,
    scope: &'a Scope,
    query: &'a Query,
    matcher: RegexMatcher,
    stop: &'a Stop,
}

impl Looking<'_> {
    fn look(&self, held: &Held, filter: &Filter) -> Result<Hits, Failure> {
        let path = held.path();
        let trouble = |trouble| failure(&path, trouble);
        let mut hits = Hits::new(self.query.limit());
        if held.kind().map_err(trouble)? == Some(Kind::File) {
            let opened = held.open().map_err(trouble)?;
            let found = self.file(&mut self.query.searcher(), opened.file);
            let found = found.map_err(|error| failure(&path, error.into()))?;
            if found.matches > 0 {
                hits.add(Path::new(""), found);
            }
        } else {
            let folder = held.folder().map_err(trouble)?;
            let walk = filter.walk(&path).map_err(|refusal| Failure::fatal(refusal.to_string()))?;
            let shared = Mutex::new(hits);
            walk.run(|| {
                let mut searcher = self.query.searcher();
                let (folder, path, shared) = (&folder, &path, &shared);
                Box::new(move |entry| {
                    if self.stop.is_set() {
                        return WalkState::Quit;
                    }
                    let Ok(entry) = entry else { return WalkState::Continue };
                    if !entry.file_type().is_some_and(|kind| kind.is_file()) {
                        return WalkState::Continue;
                    }
                    let Ok(rel) = entry.path().strip_prefix(path) else { return WalkState::Continue };
                    let keep = || shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if (self.search.withheld)(self.scope, entry.path()) {
                        keep().withheld += 1;
                        return WalkState::Continue;
                    }
                    // A file that went away, may not be read or is not an ordinary one any more is passed over, as
                    // searching a living folder must.
                    let Ok(Some(file)) = open_below(folder, rel) else { return WalkState::Continue };
                    if let Ok(found) = self.file(&mut searcher, file)
                        && found.matches > 0
                    {
                        keep().add(rel, found);
                    }
                    WalkState::Continue
                })
            });
            hits = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        if self.stop.is_set() { Err(stopped()) } else { Ok(hits) }
    }

    fn file(&self, searcher: &mut Searcher, file: File) -> io::Result<FileHits> {
        let first_only = self.query.output == Shown::Files;
        let room = if self.query.output == Shown::Content { self.query.limit() } else { 0 };
        let hits = FileHits::default();
        let mut collect = Collect { matcher: &self.matcher, hits, room, first_only, stop: self.stop };
        searcher.search_reader(&self.matcher, Stoppable { file, stop: self.stop }, &mut collect)?;
        Ok(collect.hits)
    }
}

/// An ordinary file below a folder, through no link; `None` where it has other names, which may lie outside.
fn open_below(folder: &impl std::os::fd::AsFd, rel: &Path) -> rustix::io::Result<Option<File>> {
    let file = inside(folder, rel, READ, Mode::empty())?;
    let stat = fstat(&file)?;
    Ok((kind_of(&stat) == Kind::File && stat.st_nlink == 1).then(|| file.into()))
}

/// A file that stops being read when nobody waits for it any more.
struct Stoppable<'a> {
    file: File,
    stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(into)
    }
}

fn answer(path: &str, query: &Query, hits: Hits) -> Output {
    let (files, matches, withheld, limit) = (hits.files, hits.matches, hits.withheld, query.limit());
    let mut text = String::new();
    let (mut shown_files, mut left) = (0, limit);
    for (rel, found) in hits.into_kept() {
        if left == 0 {
            break;
        }
        shown_files += 1;
        let name = named(path, &rel);
        match query.output {
            Shown::Files => {
                let _ = writeln!(text, "{name}");
                left -= 1;
            }
            Shown::Count => {
                let _ = writeln!(text, "{name}: {}", found.matches);
                left -= 1;
            }
            Shown::Content => {
                let _ = writeln!(text, "{name}");
                for line in found.lines.iter().take(left) {
                    let _ = writeln!(text, "{line}");
                }
                left -= found.lines.len().min(left);
            }
        }
    }
    let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let _ = match (query.output, matches) {
        (_, 0) => write!(text, "[no match"),
        (Shown::Files, _) => write!(text, "[{}", counted(files, "file")),
        _ => write!(text, "[{} in {}", counted(matches, "matching line"), counted(files, "file")),
    };
    if left == 0 || shown_files < files {
        let _ = write!(
            text,
            "; shown are the first {limit} in the order of paths, raise `limit` or narrow the search for more"
        );
    }
    if withheld > 0 {
        let _ = write!(
            text,
            "; {} not searched: secrets, or a rule keeps them from being read",
            counted(withheld, "file")
        );
    }
    text.push_str("]\n");
    Output::text(text)
}

/// A path below the one that was asked for, as the working folder sees it.
pub(super) fn named(path: &str, rel: &Path) -> String {
    let whole: PathBuf = match (path, rel.as_os_str().is_empty()) {
        ("." | "./", _) => rel.to_owned(),
        (path, true) => path.into(),
        (path, false) => Path::new(path).join(rel),
    };
    shown(whole.as_os_str())
}
