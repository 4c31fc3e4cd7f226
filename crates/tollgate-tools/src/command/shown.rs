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
    let (sub, words) = git(leaf)?;
    if !prints(sub, words) {
        return None;
    }
    let at = words.iter().position(|word| word == "--");
    let plain = || words.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    if matches!(sub, "show" | "cat-file") && at.is_none() {
        let named: Vec<&str> = plain().collect();
        if !named.is_empty() && named.iter().all(|word| word.contains(':')) {
            return Some(Shown::Named(named.iter().filter_map(|word| word.split(':').next_back()).collect()));
        }
    }
    let mut specs: Vec<&str> = at.map_or(&[][..], |at| &words[at + 1..]).iter().map(String::as_str).collect();
    if sub == "blame" || sub == "annotate" {
        // Its last word is the file.
        specs.extend(plain().next_back().filter(|_| specs.is_empty()));
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

/// True where git reads the files of the folder it runs in, or of the whole repository.
pub(super) fn reads_the_folder(leaf: &Leaf) -> bool {
    git(leaf).is_some_and(|(sub, words)| {
        let now =
            matches!(sub, "diff" | "grep" | "blame" | "annotate" | "status" | "diff-files" | "diff-index");
        now && prints(sub, words)
    })
}

impl Shown<'_> {
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
    !rest.starts_with(':') && !rest.contains(['*', '?', '[', '\\'])
}

/// The command of git's own, and its words.
fn git(leaf: &Leaf) -> Option<(&str, &[String])> {
    let (program, words) = leaf.words.split_first()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-')) {
        at += if word == "-C" || word == "-c" { 2 } else { 1 };
    }
    words.get(at).map(|sub| (sub.as_str(), &words[at + 1..]))
}

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
        short("puUWcmL") || long(&names) || long(&["--remerge-diff", "--dd", "--diff-merges"])
    };
    let less = || {
        let names = ["--stat", "--name-", "--numstat", "--shortstat", "--dirstat", "--summary", "--no-patch"];
        short("s") || long(&names) || long(&["--raw", "--quiet", "--compact-summary", "--check"])
    };
    match sub {
        "grep" | "blame" | "annotate" | "range-diff" => true,
        "show" | "diff" => patch() || !less(),
        "log" | "whatchanged" | "reflog" | "stash" | "diff-tree" | "diff-index" | "diff-files" => patch(),
        "status" => short("v") || long(&["--verbose"]),
        "cat-file" => !long(&["--batch-check"]) && !short("tse"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::analyse;

    fn holds(line: &str, file: &str) -> bool {
        let leaves = analyse(line).leaves;
        let (top, folder) = (Path::new("/w"), Path::new("/w/src"));
        leaves.iter().filter_map(shown).any(|shown| shown.holds(&top.join(file), top, folder))
    }

    #[test]
    fn a_command_of_git_prints_what_its_words_reach() {
        for line in [
            "git diff",
            "git diff HEAD~1 --stat -p",
            "git -C x diff",
            "git grep KEY",
            "git grep KEY -- :/",
            "git grep KEY -- :/secret",
            "git grep KEY HEAD -- ../secret",
            "git blame ../secret/key",
            "git log -p",
            "git log --patch -- ../secret",
            "git show",
            "git show HEAD",
            "git show HEAD:secret/key",
            "git show HEAD:./../secret/key",
            "git show HEAD -- '*.key'",
            "git cat-file -p HEAD:secret/key",
            "git cat-file --batch",
            "git stash show -p",
            "git status -vv",
            "git diff-files -p",
            "git diff-index -U3 HEAD",
            "nice git diff",
            "git diff -- . :!other ../secret",
        ] {
            assert!(holds(line, "secret/key"), "{line}");
        }
        for line in [
            "git status",
            "git log --oneline",
            "git log --stat",
            "git show --stat",
            "git show --name-only HEAD",
            "git diff --name-only",
            "git show HEAD:src/a.rs",
            "git show HEAD:./a.rs",
            "git diff -- .",
            "git diff -- :/ :!../secret",
            "git blame a.rs",
            "git grep KEY -- .",
            "git cat-file -t HEAD:secret/key",
            "git branch",
            "cat a",
        ] {
            assert!(!holds(line, "secret/key"), "{line}");
        }
    }
}
