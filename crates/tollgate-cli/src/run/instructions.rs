//! Instruction files: `AGENTS.md` and the like, from the top of the project down to the working folder.
//!
//! They are somebody's wishes, read as context. They allow nothing: what may run is decided by rules alone.

use std::{
    fmt::Write as _,
    fs::File,
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The names, of which the first one found in a folder is read.
const NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];

/// No more than this of one file, and of all.
const MOST: usize = 32 << 10;
const MOST_OF_ALL: usize = 64 << 10;

/// How far up is looked.
const HIGHEST: usize = 16;

/// What was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    /// The text for the model; empty where there is none.
    pub(crate) text: String,
    /// The files, and whether the end of one was left out.
    pub(crate) files: Vec<(PathBuf, Cut)>,
    /// What could not be read, and why.
    pub(crate) unread: Vec<String>,
}

/// Whether the end of a file was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Whole,
    Cut,
}

/// Reads the files of a working folder. Above the project (where `.git` is) and above the home folder nothing is read.
pub(crate) fn read(working: &Path, home: Option<&Path>) -> Instructions {
    let mut folders: Vec<&Path> = Vec::new();
    for folder in working.ancestors().take(HIGHEST) {
        if Some(folder) == home && folder != working {
            break;
        }
        folders.push(folder);
        if folder.join(".git").exists() {
            break;
        }
    }
    // Without a project around it, a folder's own file is all that is meant.
    if folders.last().is_none_or(|top| !top.join(".git").exists()) {
        folders.truncate(1);
    }
    let mut read = Instructions::default();
    let top = folders.last().copied().unwrap_or(working);
    for folder in folders.iter().rev() {
        let found = NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        match found {
            Some(path) if is_what_it_says(&path, top) => read.take(path),
            Some(path) => {
                read.unread.push(format!("{} leads to another file, and is not read", path.display()));
            }
            None => {}
        }
    }
    read
}

/// True for a file of the project that is an instruction file under every name it has. One that leads elsewhere could
/// hand a secret to the model without anybody being asked.
fn is_what_it_says(path: &Path, top: &Path) -> bool {
    let (Ok(real), Ok(top)) = (path.canonicalize(), top.canonicalize()) else { return false };
    let named = NAMES.iter().any(|name| real.ends_with(name));
    real.starts_with(top) && named && real.metadata().is_ok_and(|about| about.nlink() == 1)
}

impl Instructions {
    fn take(&mut self, path: PathBuf) {
        let room = MOST.min(MOST_OF_ALL.saturating_sub(self.text.len()));
        let mut bytes = Vec::new();
        let opened = File::open(&path).and_then(|file| file.take(room as u64 + 1).read_to_end(&mut bytes));
        if let Err(error) = opened {
            self.unread.push(format!("{} cannot be read: {error}", path.display()));
            return;
        }
        let cut = if bytes.len() > room { Cut::Cut } else { Cut::Whole };
        bytes.truncate(room);
        // A character cut in the middle at the end goes with what was left out.
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) if cut == Cut::Cut && error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => {
                self.unread.push(format!("{} is not UTF-8 text", path.display()));
                return;
            }
        };
        if text.trim().is_empty() {
            return;
        }
        let left_out = if cut == Cut::Cut { "\n[the rest of the file was left out]" } else { "" };
        let _ = writeln!(self.text, "# {}\n\n{}{left_out}\n", path.display(), text.trim_end());
        self.files.push((path, cut));
    }

    /// A line for people.
    pub(crate) fn told(&self, working: &Path) -> Option<String> {
        if self.files.is_empty() {
            return None;
        }
        let name = |(path, cut): &(PathBuf, Cut)| {
            let shown = path.strip_prefix(working).unwrap_or(path).display().to_string();
            if *cut == Cut::Cut { format!("{shown} (its beginning)") } else { shown }
        };
        let names: Vec<_> = self.files.iter().map(name).collect();
        Some(format!("read as instructions: {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_from_the_top_of_the_project_down_and_not_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(place("project/.git")).unwrap();
        std::fs::create_dir_all(place("project/part/deep")).unwrap();
        std::fs::write(place("AGENTS.md"), "above").unwrap();
        std::fs::write(place("project/CLAUDE.md"), "top").unwrap();
        std::fs::write(place("project/part/AGENTS.md"), "part").unwrap();
        std::fs::write(place("project/part/CLAUDE.md"), "not this one").unwrap();
        let read = super::read(&place("project/part/deep"), None);
        let names: Vec<_> = read.files.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(names, [place("project/CLAUDE.md"), place("project/part/AGENTS.md")]);
        assert!(read.text.find("top") < read.text.find("part"));
        assert!(!read.text.contains("above") && !read.text.contains("not this one"));
        let alone = super::read(folder.path(), None);
        assert_eq!(alone.files.len(), 1);
    }

    #[test]
    fn a_file_that_leads_to_another_is_not_read_unless_that_is_one_of_its_kind() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(place("project/.git")).unwrap();
        std::fs::write(place("secret"), "the key").unwrap();
        std::fs::write(place("project/.env"), "the other key").unwrap();
        for target in ["../secret", ".env"] {
            std::os::unix::fs::symlink(target, place("project/AGENTS.md")).unwrap();
            let read = super::read(&place("project"), None);
            assert!(read.text.is_empty() && read.unread[0].contains("leads to another file"), "{read:?}");
            std::fs::remove_file(place("project/AGENTS.md")).unwrap();
        }
        std::fs::hard_link(place("secret"), place("project/AGENTS.md")).unwrap();
        assert!(super::read(&place("project"), None).text.is_empty());
        std::fs::remove_file(place("project/AGENTS.md")).unwrap();
        std::fs::write(place("project/AGENTS.md"), "plain words").unwrap();
        std::fs::create_dir(place("project/part")).unwrap();
        std::os::unix::fs::symlink("../AGENTS.md", place("project/part/CLAUDE.md")).unwrap();
        assert_eq!(super::read(&place("project/part"), None).files.len(), 2);
    }

    #[test]
    fn a_long_file_is_cut_where_a_character_ends_and_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("AGENTS.md"), "x".to_owned() + &"é".repeat(MOST)).unwrap();
        let read = super::read(folder.path(), None);
        assert!(read.text.len() < MOST + 200 && read.text.contains("left out"));
        assert_eq!(read.told(folder.path()).unwrap(), "read as instructions: AGENTS.md (its beginning)");
        std::fs::write(folder.path().join("AGENTS.md"), [0xff, 0xfe, 0x00]).unwrap();
        let read = super::read(folder.path(), None);
        assert!(read.files.is_empty() && read.unread[0].contains("not UTF-8"));
    }
}
