//! Contents that git prints although nobody named a file: of the folder it runs in, and of what the repository holds.

use std::path::{Component, Path, PathBuf};

use crate::shell::Leaf;

/// What a git command prints of the files a repository holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown<'l> {
    /// Those at these places, but for those at the others, as words of the command.
    Of { within: Vec<&'l str>, without: Vec<&'l str> },
    /// Exactly these, each as `revision:path` names it.
    Named(Vec<&'l str>),
}

/// What a command prints of them; `None` for one that prints no contents.
pub(super) fn shown(leaf: &Leaf) -> Option<Shown<'_>> {
    let (sub, words, whole) = git(leaf)?;
    let ended = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (before, specs) = (&words[..ended], words.get(ended + 1..).unwrap_or_default());
    let plain: Vec<&str> = before.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    if sub == "config" {
        return blob(before, &plain);
    }
    let named: Option<Vec<&str>> = plain.iter().map(|word| of_a_revision(word)).collect();
    if matches!(sub, "show" | "cat-file") && !plain.is_empty() && specs.is_empty() {
        let asks = sub == "cat-file" && !prints(sub, words);
        // Whatever the options say of differences, a file is printed as it is.
        if let Some(named) = named.filter(|_| !asks) {
            return Some(Shown::Named(named));
        }
    }
    let file = sub == "show" && plain.iter().any(|word| word.contains(':'));
    if !prints(sub, words) && !file {
        return None;
    }
    let trees = plain.iter().any(|word| of_a_revision(word).is_some());
    if whole || trees || before.iter().any(|word| word == "--full-diff") {
        // Where the words begin, or whether they count, is another matter then.
        return Some(Shown::everything());
    }
    let mut specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    if matches!(sub, "blame" | "annotate") && specs.is_empty() {
        // One of its words is the file.
        specs = plain;
    }
    let left_out = |word: &str| {
        let path = [":!", ":^", ":(exclude)"].iter().find_map(|sign| word.strip_prefix(sign));
        path.filter(|path| is_plain(path)).map(str::len).map(|length| word.len() - length)
    };
    let without = specs.iter().filter_map(|word| left_out(word).map(|at| &word[at..])).collect();
    specs.retain(|word| left_out(word).is_none());
    // A pattern, or a sign of git's own, may mean any of them.
    if !specs.iter().all(|word| is_plain(word)) {
        specs.clear();
    }
    Some(Shown::Of { within: specs, without })
}

/// What `git config --blob revision:path` prints; without that option it prints settings.
fn blob<'l>(options: &'l [String], plain: &[&'l str]) -> Option<Shown<'l>> {
    let given = options.iter().find_map(|word| word.strip_prefix("--blob"))?;
    let value = given.strip_prefix('=').or_else(|| plain.first().copied());
    let named = value.and_then(of_a_revision);
    Some(named.map_or_else(Shown::everything, |path| Shown::Named(vec![path])))
}

/// The path in `revision:path`; `None` for what names no file.
fn of_a_revision(word: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let at = word.find(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ':' && depth == 0
    })?;
    let (revision, path) = (&word[..at], &word[at + 1..]);
    match path.split_once(':') {
        // `:2:path` is one side of a conflict, `:/words` a search for a commit.
        Some((stage, path)) if revision.is_empty() && stage.len() == 1 => Some(path),
        _ if revision.is_empty() && path.starts_with(['/', '!', '^', '(']) => None,
        _ => Some(path),
    }
}

/// True where git reads the files of the folder it runs in, or of the whole repository.
pub(super) fn reads_the_folder(leaf: &Leaf) -> bool {
    git(leaf).is_some_and(|(sub, words, _)| {
        let now =
            matches!(sub, "diff" | "grep" | "blame" | "annotate" | "status" | "diff-files" | "diff-index");
        now && prints(sub, words)
    })
}

impl Shown<'_> {
    const fn everything() -> Self {
        Self::Of { within: Vec::new(), without: Vec::new() }
    }

    /// True where this prints the file, which lies at a place below the top of the repository.
    pub(super) fn holds(&self, file: &Path, top: &Path, folder: &Path) -> bool {
        let at = |word: &&str| {
            let below = word.strip_prefix(":/").map(|rest| top.join(rest));
            file.starts_with(plainly(&below.unwrap_or_else(|| folder.join(word))))
        };
        match self {
            Self::Of { within, without } => {
                (within.is_empty() || within.iter().any(at)) && !without.iter().any(at)
            }
            Self::Named(paths) => paths.iter().any(|path| file.starts_with(named(path, top, folder))),
        }
    }

    /// The files it names, which the repository may have held once.
    pub(super) fn named(&self, top: &Path, folder: &Path) -> Vec<PathBuf> {
        match self {
            Self::Of { .. } => Vec::new(),
            Self::Named(paths) => paths.iter().map(|path| named(path, top, folder)).collect(),
        }
    }
}

/// `revision:path` begins at the top, `revision:./path` at the folder.
fn named(path: &str, top: &Path, folder: &Path) -> PathBuf {
    let from = if path.starts_with("./") || path.starts_with("../") { folder } else { top };
    plainly(&from.join(path))
}

/// Without `.` and `..`.
fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// A path that git takes as it is written.
fn is_plain(word: &str) -> bool {
    let rest = word.strip_prefix(":/").unwrap_or(word);
    !rest.starts_with(':') && !rest.contains(['*', '?', '[', '\\', '$', '`'])
}

/// The command of git's own, its words, and whether what it is told before it changes what paths mean.
fn git(leaf: &Leaf) -> Option<(&str, &[String], bool)> {
    let (program, words) = leaf.words.split_first()?;
    let own = program.rsplit('/').next().unwrap_or(program);
    if let Some(sub) = own.strip_prefix("git-") {
        return Some((sub, words, false));
    }
    if own != "git" {
        return None;
    }
    let (mut at, mut whole) = (0, false);
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        whole |=
            word.ends_with("-pathspecs") || word.starts_with("--work-tree") || word.starts_with("--git-dir");
        at += if VALUED.contains(&word.as_str()) { 2 } else { 1 };
    }
    words.get(at).map(|sub| (sub.as_str(), &words[at + 1..], whole))
}

/// Options of git itself whose value is the next word.
const VALUED: [&str; 9] = [
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--attr-source",
    "--config-env",
    "--super-prefix",
];

/// Commands that print names, numbers and messages, or change the repository, and no contents.
const QUIET: &str = "add am apply bisect branch check-attr check-ignore check-mailmap checkout cherry cherry-pick clean \
    column commit-graph config count-objects describe fetch for-each-ref fsck gc hash-object help init interpret-trailers ls-files \
    ls-remote ls-tree maintenance merge merge-base mv name-rev notes pack-refs prune pull push read-tree rebase remote repack replace \
    rerere reset restore rev-list rev-parse revert rm send-pack shortlog show-branch show-ref sparse-checkout stripspace submodule switch \
    symbolic-ref tag update-index update-ref var verify-commit verify-pack verify-tag version write-tree";

/// True for a command that prints what is in files, with these words.
fn prints(sub: &str, words: &[String]) -> bool {
    let ended = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let options = || words[..ended].iter().map(String::as_str).filter(|word| word.starts_with('-'));
    let long = |names: &[&str]| options().any(|word| names.iter().any(|name| word.starts_with(name)));
    let short = |letters: &str| {
        options().any(|word| !word.starts_with("--") && word.contains(|c| letters.contains(c)))
    };
    let patch = || {
        let names = [
            "--patch",
            "--unified",
            "--word-diff",
            "--color-words",
            "--cc",
            "--binary",
            "--function-context",
        ];
        short("puUWcmL") || long(&names) || long(&["--remerge-diff", "--dd", "--diff-merges", "--check"])
    };
    let less = || {
        let names = ["--stat", "--name-", "--numstat", "--shortstat", "--dirstat", "--summary", "--no-patch"];
        short("s") || long(&names) || long(&["--raw", "--quiet", "--compact-summary"])
    };
    match sub {
        "show" | "diff" => patch() || !less(),
        "log" | "whatchanged" | "reflog" | "diff-tree" | "diff-index" | "diff-files" => patch(),
        "stash" => patch() && !words.iter().any(|word| word == "push" || word == "save"),
        "status" | "commit" => short("v") || long(&["--verbose"]),
        "cat-file" => !long(&["--batch-check"]) && !short("tse"),
        "worktree" => !words.iter().any(|word| matches!(word.as_str(), "list" | "remove" | "prune")),
        // What nobody lists may print anything.
        sub => !QUIET.split_ascii_whitespace().any(|quiet| quiet == sub),
    }
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
