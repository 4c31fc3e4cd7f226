//! What a git repository could have git run, and which files it holds: read from its own files, without starting git.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// A repository as git finds it from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The folder its names begin at.
    pub(super) top: PathBuf,
    own: PathBuf,
    /// Where its settings are: its own, and for a worktree the ones all share.
    settings: Vec<PathBuf>,
    index: PathBuf,
}

/// Keys of settings that name a program which reading starts. All others are switched off where git is started, or
/// start nothing without a terminal.
const STARTS: [&str; 7] = ["textconv", "clean", "smudge", "process", "external", "command", "driver"];

/// What an entry of the index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Repository,
}

/// More repositories inside each other than anybody has.
const MOST_INSIDE: usize = 1_000;

impl Repository {
    /// The one that git would use in this folder.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(|top| {
            let dot = top.join(".git");
            if is_own(&dot) {
                return Some(Self::at(top, &dot));
            }
            if let Some(path) =
                fs::read_to_string(&dot).ok().as_deref().and_then(|text| text.strip_prefix("gitdir:"))
            {
                return Some(Self::at(top, &top.join(path.trim())));
            }
            is_own(top).then(|| Self::at(top, top))
        })
    }

    fn at(top: &Path, own: &Path) -> Self {
        let shared = fs::read_to_string(own.join("commondir")).ok().map(|path| own.join(path.trim()));
        let folders = std::iter::once(own.to_owned()).chain(shared);
        let settings = folders.flat_map(|folder| [folder.join("config"), folder.join("config.worktree")]);
        let (top, index) = (top.to_owned(), own.join("index"));
        Self { top, own: own.to_owned(), settings: settings.collect(), index }
    }

    /// The first setting of its own by which git would start a program of the repository's choice, or work elsewhere.
    pub(super) fn starts(&self) -> Option<String> {
        self.found_in_settings(&STARTS)
    }

    /// The same of the repositories in it: git looks into them with nothing switched off.
    pub(super) fn starts_inside(&self) -> Option<String> {
        let mut inside = vec![self.clone()];
        let mut seen = 0;
        while let Some(one) = inside.pop() {
            seen += 1;
            if seen > MOST_INSIDE {
                return Some("so many repositories in it".to_owned());
            }
            let Ok(entries) = one.entries() else {
                return Some("an index that is not understood".to_owned());
            };
            for (path, kind) in entries {
                let Some(other) = (kind == Kind::Repository).then(|| Self::of(&one.top.join(path))).flatten()
                else {
                    continue;
                };
                // One that is not there is looked for above, and found in the one that holds it.
                if other.top == one.top {
                    continue;
                }
                if let Some(found) =
                    other.found_in_settings(&STARTS).or_else(|| other.found_in_settings(&["fsmonitor"]))
                {
                    return Some(format!("{found} of {}", other.top.display()));
                }
                inside.push(other);
            }
        }
        None
    }

    fn found_in_settings(&self, keys: &[&str]) -> Option<String> {
        self.settings.iter().find_map(|file| {
            let text = match fs::read(file) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).to_lowercase(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                Err(_) => return Some("settings that cannot be read".to_owned()),
            };
            text.lines().find_map(|line| starting(line, keys)).or_else(|| self.works_elsewhere(file))
        })
    }

    /// The setting by which its files are not where it was found.
    fn works_elsewhere(&self, settings: &Path) -> Option<String> {
        let text = String::from_utf8_lossy(&fs::read(settings).ok()?).into_owned();
        let mut values = text.lines().filter_map(|line| {
            let at = line.to_ascii_lowercase().find("worktree")? + "worktree".len();
            line[at..].split_once('=').map(|(_, value)| value)
        });
        let top = self.top.canonicalize().ok();
        let elsewhere = |value: &str| {
            let place = self.own.join(value.trim().trim_matches('"'));
            value.trim() != "true" && value.trim() != "false" && place.canonicalize().ok() != top
        };
        values.any(elsewhere).then(|| "the setting `worktree`".to_owned())
    }

    /// The folder of git's own that lies outside these roots, and so out of a command's reach.
    pub(super) fn out_of_reach(&self, roots: &[PathBuf]) -> Option<PathBuf> {
        let folders = self.settings.iter().filter_map(|file| file.parent()?.canonicalize().ok());
        folders.into_iter().find(|folder| !roots.iter().any(|root| folder.starts_with(root)))
    }

    /// Every file it holds now, from its top.
    pub(super) fn files(&self) -> io::Result<Vec<PathBuf>> {
        Ok(self.entries()?.into_iter().map(|(path, _)| path).collect())
    }

    fn entries(&self) -> io::Result<Vec<(PathBuf, Kind)>> {
        match fs::read(&self.index) {
            Ok(bytes) => index(&bytes).ok_or_else(|| io::Error::other("its index is not understood")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// A folder that git takes for one of its own, whatever its `HEAD` leads to. One that it does not, it passes over.
fn is_own(folder: &Path) -> bool {
    folder.join("HEAD").symlink_metadata().is_ok()
        && (folder.join("commondir").exists()
            || (folder.join("objects").is_dir() && folder.join("refs").is_dir()))
}

/// A line of settings, in small letters, that names a program or other settings. A value that goes on over two lines may
/// look like one: rather too many are found.
fn starting(line: &str, keys: &[&str]) -> Option<String> {
    if line.contains("[include") {
        return Some("settings from another file".to_owned());
    }
    // A key may stand behind its section's name, and that may hold a bracket of its own.
    let mut found = line.split(']').map(str::trim_start).filter_map(|part| {
        let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(part.len());
        keys.iter().find(|key| **key == &part[..end])
    });
    found.next().map(|key| format!("the setting `{key}`"))
}

/// The names in git's index, of the versions 2 to 4; `None` for anything else.
fn index(bytes: &[u8]) -> Option<Vec<(PathBuf, Kind)>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = number(4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut names, mut name, mut at) = (Vec::new(), Vec::new(), 12);
    for _ in 0..number(8)? {
        let start = at;
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        at += if version > 2 && flags & 0x4000 != 0 { 64 } else { 62 };
        if version == 4 {
            let dropped = variable(bytes, &mut at)?;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&bytes[at..at + length]);
        at += length + 1;
        if name.ends_with(b"/") {
            // A folder in the place of its files.
            return None;
        }
        if version < 4 {
            // Filled up with zeros to a multiple of eight.
            at = start + (at - start).div_ceil(8) * 8;
        }
        let kind = if number(start + 24)? >> 12 == 0o16 { Kind::Repository } else { Kind::File };
        names.push((PathBuf::from(OsStr::from_bytes(&name)), kind));
    }
    // A split index keeps the rest in another file.
    (!bytes[at.min(bytes.len())..].starts_with(b"link")).then_some(names)
}

/// A number of seven bits a byte, the largest first, each but the last with its top bit set and one added.
fn variable(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

#[cfg(test)]
#[path = "repository_tests.rs"]
mod tests;
