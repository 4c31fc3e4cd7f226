//! Search and reading against the programs people use for them, on a tree of at least 500 MB and a file of 1 GB.

#![expect(clippy::disallowed_methods, reason = "a benchmark starts the programs it compares with")]

use std::{
    fs::File,
    hint::black_box,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tollgate::{
    Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    outcome::Item,
    policy::Rules,
};
use tollgate_tools::{files::Files, search::Search};

use crate::table::{Row, best_of, wanted};

const TREE: u64 = 500 << 20;
const ROUNDS: usize = 7;
/// A line in the middle of the large file, and how many are read from it on.
const LINE: u64 = 15_000_000;
const LINES: u64 = 100;

/// The rows about files; what a missing program leaves out is said.
pub(crate) fn rows(runtime: &Runtime) -> Vec<Row> {
    if !wanted("files") {
        return Vec::new();
    }
    let scratch = std::env::temp_dir().join("tollgate-bench-files");
    std::fs::create_dir_all(&scratch).expect("a folder for the tree");
    let mut rows = Vec::new();
    match tree(&scratch) {
        Some(tree) => rows.extend(searches(runtime, &tree)),
        None => println!("skipped: grep and glob, no registry source cache was found to search"),
    }
    rows.extend(range(runtime, &scratch));
    rows
}

fn searches(runtime: &Runtime, tree: &Path) -> Vec<Row> {
    let asking = Asking::new(runtime, tree);
    let mut rows = Vec::new();
    for (name, pattern) in
        [("grep, a rare word", "fn resolve_beneath|BENEATH"), ("grep, a common word", r"\bunsafe fn\b")]
    {
        let rg = ["--no-config", "-n", "--color=never", pattern];
        let Some(lines) = lines_of("rg", &rg, tree) else {
            println!("skipped: {name}, `rg` is not installed (Debian: ripgrep)");
            continue;
        };
        let input = json!({"pattern": pattern, "limit": 10_000});
        let found = asking.ask("grep", &input);
        assert!(
            found.contains(&format!("[{lines} matching line")),
            "rg finds {lines} lines: {}",
            tail(&found)
        );
        let times = best_of(
            ROUNDS,
            || {
                black_box(lines_of("rg", &rg, tree));
            },
            || (),
            |()| {
                black_box(asking.ask("grep", &input));
            },
        );
        rows.push(Row::ratio(name, "rg -n", times.0, times.1, Some(1.1)));
    }
    let fd = ["fdfind", "fd"].into_iter().find(|name| lines_of(name, &["--version"], tree).is_some());
    let Some(fd) = fd else {
        println!("skipped: glob, `fd` is not installed (Debian: fd-find)");
        return rows;
    };
    let words = ["--color=never", "--type=f", "--glob", "*.rs"];
    let count = lines_of(fd, &words, tree).expect("fd ran a moment ago");
    let input = json!({"pattern": "*.rs", "limit": 50_000});
    let found = asking.ask("glob", &input);
    assert!(found.contains(&format!("[{count} match")), "fd finds {count} files: {}", tail(&found));
    let times = best_of(
        ROUNDS,
        || {
            black_box(lines_of(fd, &words, tree));
        },
        || (),
        |()| {
            black_box(asking.ask("glob", &input));
        },
    );
    rows.push(Row::ratio("glob", "fd --glob", times.0, times.1, Some(1.1)));
    rows
}

fn range(runtime: &Runtime, scratch: &Path) -> Option<Row> {
    let file = scratch.join("large.txt");
    if std::fs::metadata(&file).map_or(0, |file| file.len()) < 1 << 30 {
        let mut out = BufWriter::new(File::create(&file).expect("a large file"));
        for line in 0..22_000_000_u32 {
            writeln!(out, "{line:08} the quick brown fox jumps over the lazy dog").expect("room for 1 GB");
        }
        out.flush().expect("room for 1 GB");
    }
    let script = format!("{LINE},{0}p;{0}q", LINE + LINES - 1);
    let words = ["-n", &script, "large.txt"];
    let Some(lines) = lines_of("sed", &words, scratch) else {
        println!("skipped: a range of a large file, `sed` is not installed");
        return None;
    };
    assert_eq!(lines as u64, LINES);
    let asking = Asking::new(runtime, scratch);
    let input = json!({"path": "large.txt", "offset": LINE, "limit": LINES});
    assert!(asking.ask("read_file", &input).starts_with(&format!("{:08} the quick", LINE - 1)));
    let times = best_of(
        3,
        || {
            black_box(lines_of("sed", &words, scratch));
        },
        || (),
        |()| {
            black_box(asking.ask("read_file", &input));
        },
    );
    Some(Row::ratio("100 lines of a 1 GB file", "sed -n 'A,Bp;Bq'", times.0, times.1, Some(2.0)))
}

/// A gate with the tools, on one folder.
struct Asking<'a> {
    runtime: &'a Runtime,
    gate: Tollgate,
    scope: Arc<Scope>,
}

impl<'a> Asking<'a> {
    fn new(runtime: &'a Runtime, root: &Path) -> Self {
        let _inside = runtime.enter();
        let registry = Files::new(None).register(Registry::new(), None).expect("the tools");
        let registry = Search::new().register(registry, None).expect("the tools");
        let rules = Rules::new().allow("*").expect("a rule");
        let gate = Tollgate::builder(registry).policy(rules).build();
        let root = root.canonicalize().expect("the folder");
        Self { runtime, gate, scope: Arc::new(Scope::new(Run::new("bench"), Workspace::new(root))) }
    }

    /// The text of the answer.
    fn ask(&self, tool: &str, input: &Value) -> String {
        let call = Proposed::new("1", tool, input.to_string());
        let settled = self.runtime.block_on(self.gate.call(&self.scope, call));
        let output = settled.output().expect("a call that is allowed and goes well");
        match output.items.first() {
            Some(Item::Text { text }) => text.clone(),
            _ => String::new(),
        }
    }
}

/// How many lines a program prints; `None` where it is not installed.
fn lines_of(program: &str, words: &[&str], folder: &Path) -> Option<usize> {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    command.output().ok().map(|ran| ran.stdout.split(|byte| *byte == b'\n').count() - 1)
}

/// The registry source cache, as often as it takes.
fn tree(scratch: &Path) -> Option<PathBuf> {
    let tree = scratch.join("tree");
    if tree.join("complete").exists() {
        return Some(tree);
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "where cargo keeps its sources is told by the environment only"
    )]
    let (home, user) = (std::env::var_os("CARGO_HOME"), std::env::var_os("HOME"));
    let home = home.map(PathBuf::from).or_else(|| user.map(|user| PathBuf::from(user).join(".cargo")))?;
    let cache = home.join("registry/src");
    let size = size_of(&cache)?;
    let _ = std::fs::remove_dir_all(&tree);
    std::fs::create_dir_all(&tree).ok()?;
    for copy in 0..TREE.div_ceil(size.max(1)) {
        let done = Command::new("cp").arg("-r").arg(&cache).arg(tree.join(format!("copy{copy}"))).status();
        done.ok().filter(std::process::ExitStatus::success)?;
    }
    File::create(tree.join("complete")).ok()?;
    Some(tree)
}

/// The bytes of all files below a folder.
fn size_of(folder: &Path) -> Option<u64> {
    let mut size = 0;
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        let kind = entry.file_type().ok()?;
        size += if kind.is_dir() { size_of(&entry.path())? } else { entry.metadata().ok()?.len() };
    }
    Some(size)
}

fn tail(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}
