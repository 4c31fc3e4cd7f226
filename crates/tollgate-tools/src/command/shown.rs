//! Contents that git prints although nobody named a file: of the folder it runs in, and of what the repository holds.

use std::path::{Path, PathBuf};

use super::reach::lexical;
use crate::shell::Leaf;

/// What a git command prints of the files a repository holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shown<'l> {
    /// Those at these places, but for those at the others, as words of the command.
    Of { within: Vec<&'l str>, without: Vec<&'l str> },
    /// Exactly these, each as `revision:path` names it.
    Named(Vec<&'l str>),
}

/// True for a command of git's, whatever it is asked for.
pub(super) fn is_git(leaf: &Leaf) -> bool {
    let own = leaf.words.first().map(|program| program.rsplit('/').next().unwrap_or(program));
    own.is_some_and(|own| own == "git" || own.starts_with("git-"))
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
    // What is no commit is printed as it is.
    let commit = |word: &&str| word.starts_with("HEAD") || word.starts_with('@') || word.contains("..");
    let file = sub == "show" && plain.iter().any(|word| word.contains(':') || !commit(word));
    if !prints(sub, words) && !file && !whole {
        return None;
    }
    let trees = plain.iter().any(|word| of_a_revision(word).is_some());
    if whole || trees || before.iter().any(|word| word == "--full-diff") {
        // Where the words begin, or whether they count, is another matter then.
        return Some(Shown::everything());
    }
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    // One of the words of `git blame` is the file.
    let blames = matches!(sub, "blame" | "annotate") && specs.is_empty();
    Some(limited(if blames { plain } else { specs }))
}

/// The files that git would record as gone where they are hidden from it; `None` for a command that records none.
pub(super) fn records(leaf: &Leaf) -> Option<Shown<'_>> {
    let (sub, words, _) = git(leaf)?;
    let plain: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    let cluster =
        |word: &String, letter| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
    match sub {
        "add" | "rm" | "stage" => Some(limited(plain)),
        "commit" => words.iter().any(|word| word == "--all" || cluster(word, 'a')).then(Shown::everything),
        "stash" => matches!(plain.first(), None | Some(&("push" | "save"))).then(Shown::everything),
        _ => None,
    }
}

/// The files at these places, but for those that are left out.
fn limited(mut specs: Vec<&str>) -> Shown<'_> {
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
    Shown::Of { within: specs, without }
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

/// Without `.` and `..`; git's folders are whole paths, and so are these.
fn plainly(path: &Path) -> PathBuf {
    lexical(path).unwrap_or_else(|| path.to_owned())
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
        let set = words.get(at + 1).filter(|_| word == "-c").is_some_and(|set| {
            ["stash.", "log.", "diff.", "commit.", "status."]
                .iter()
                .any(|start| set.to_lowercase().starts_with(start))
        });
        let elsewhere = word.starts_with("--work-tree") || word.starts_with("--git-dir");
        whole |= set || elsewhere || word.ends_with("-pathspecs");
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
    column commit-graph config count-objects describe fetch fsck gc hash-object help init interpret-trailers ls-files \
    ls-remote ls-tree maintenance merge merge-base mv name-rev pack-refs prune push rebase remote repack \
    rerere reset restore rev-list rev-parse revert rm send-pack shortlog show-branch show-ref sparse-checkout stripspace submodule switch \
    symbolic-ref tag update-ref var verify-commit verify-pack verify-tag version write-tree";

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
    let interacts = || short("pei") || long(&["--patch", "--interactive", "--edit"]);
    let first = words.iter().map(String::as_str).find(|word| !word.starts_with('-'));
    let formats = |signs: &[&str]| words.iter().any(|word| signs.iter().any(|sign| word.contains(sign)));
    match sub {
        "show" | "diff" => patch() || !says_less(&words[..ended]),
        "log" | "whatchanged" | "reflog" | "diff-tree" | "diff-index" | "diff-files" => patch(),
        "stash" => (patch() && !matches!(first, Some("push" | "save"))) || interacts(),
        "status" => short("v") || long(&["--verbose"]),
        "commit" => short("v") || long(&["--verbose"]) || interacts(),
        "add" | "checkout" | "reset" | "restore" => interacts(),
        "cat-file" => {
            let asks = words.first().is_some_and(|word| matches!(word.as_str(), "-t" | "-s" | "-e"));
            !asks && !long(&["--batch-check"])
        }
        "worktree" => !matches!(first, Some("list" | "remove" | "prune" | "lock" | "unlock" | "repair")),
        "notes" => first.is_some_and(|first| first != "list"),
        "for-each-ref" => formats(&["raw", "contents"]),
        // From a folder here, or from where they come anyway.
        "pull" => words.iter().any(|word| word.starts_with(['.', '/', '~', '$']) || word.contains("file:")),
        // What nobody lists may print anything.
        sub => !QUIET.split_ascii_whitespace().any(|quiet| quiet == sub),
    }
}

/// True where an option says that no differences are printed; not where it is the value of another.
fn says_less(words: &[String]) -> bool {
    let less = |word: &str| {
        let names = "--stat --name-only --name-status --numstat --shortstat --dirstat --summary --no-patch --raw --quiet --compact-summary -s";
        names
            .split(' ')
            .any(|name| word == name || word.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')))
    };
    let flag = |word: &str| {
        matches!(
            word,
            "--oneline" | "--no-color" | "--cached" | "--staged" | "--graph" | "--all" | "-M" | "-w" | "-z"
        )
    };
    let value = |at: usize| {
        at > 0 && words[at - 1].starts_with('-') && !less(&words[at - 1]) && !flag(&words[at - 1])
    };
    (0..words.len()).any(|at| less(&words[at]) && !value(at))
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
