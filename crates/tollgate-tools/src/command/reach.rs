//! Which files the words of a command reach, beside those they name.

use std::path::{Component, Path, PathBuf};

use super::shown;
use crate::shell::Leaf;

/// A program that reads the folder it runs in without being told to.
pub(super) fn reads_its_folder(leaf: &Leaf) -> bool {
    let Some((program, words)) = leaf.words.split_first() else { return true };
    let program = program.rsplit('/').next().unwrap_or_default();
    let recursive = |word: &String| match word.strip_prefix("--") {
        Some(long) => long.contains("recursive") || long.starts_with("directories"),
        None => word.starts_with('-') && word.contains(['r', 'R', 'd']),
    };
    match program {
        "rg" | "ag" | "ack" => true,
        "grep" | "egrep" | "fgrep" => words.iter().any(recursive),
        "git" => shown::reads_the_folder(leaf),
        _ => false,
    }
}

/// A program that reads files which a file or a script names.
pub(super) fn reads_anywhere(leaf: &Leaf) -> bool {
    let Some((program, words)) = leaf.words.split_first() else { return true };
    let program = program.rsplit('/').next().unwrap_or_default();
    let checks = |word: &String| {
        word.starts_with("--c") || (word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
    };
    let imports = |word: &String| {
        let from_file = word.starts_with("--f") || (word.starts_with('-') && word.contains('f'));
        from_file || word.contains("import") || word.contains("include")
    };
    match program {
        "jq" | "yq" => words.iter().any(imports),
        "cksum" => words.iter().any(checks),
        _ => program.ends_with("sum") && words.iter().any(checks),
    }
}

pub(super) fn from(read: &str, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (read.strip_prefix('~'), home) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
        _ => folder.join(read),
    }
}

/// The path without `.` and `..`, as it is written.
pub(super) fn lexical(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain.is_absolute().then_some(plain)
}

/// Where reading a path begins, as it really is: the path itself, or the folder before the first part that bash would
/// match against names.
pub(super) fn start(path: &Path) -> Option<PathBuf> {
    path.components().take_while(is_plain).collect::<PathBuf>().canonicalize().ok()
}

/// True where a pattern leads up again, and so to anywhere.
pub(super) fn climbs(path: &Path) -> bool {
    path.components().skip_while(is_plain).any(|part| part == Component::ParentDir)
}

pub(super) fn is_plain(part: &Component<'_>) -> bool {
    !part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[{(".contains(byte))
}
