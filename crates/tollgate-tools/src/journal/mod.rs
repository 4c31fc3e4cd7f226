//! The undo journal: what the tools changed, each with the content that was there before.
//!
//! An entry is written before its change takes effect, and tells by content hashes whether it did. Undoing looks at
//! the hash that stands in the file now: only what the tools wrote is ever taken back. The journal survives a crash of
//! the program; it is not flushed to the disk for each change, so a crash of the machine may lose its last entries.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

use rustix::fs::{FlockOperation, flock};
use tollgate::{Cx, outcome::Evidence};

use crate::beneath::{Place, random_name};

mod entry;
mod compact;
mod undo;

use entry::Line;
pub use entry::{Change, Entry};
pub use undo::{Done, Step, Undo};

/// The journal of a person's own data folder, shared by every process that is given the same one.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

/// A journal that grows past this loses its oldest entries.
const LARGEST: u64 = 16 << 20;

/// As far back as is looked for who wrote a file.
const LOOK_BACK: u64 = 4 << 20;

impl Journal {
    /// The journal in this folder, made on first use and readable by its owner alone.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Keeps what was there and that it is about to be changed.
    pub(crate) fn record(&self, change: Change, before: Option<&[u8]>) -> io::Result<Entry> {
        if let Some(before) = before {
            self.keep(before)?;
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let id = format!("{:x}-{}", now.as_micros(), random_name().trim_matches('.'));
        let entry = Entry { id, time_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX), change };
        self.append(&Line::Changed(Box::new(entry.clone())))?;
        Ok(entry)
    }

    /// Says that a recorded change was taken back, or never happened.
    pub(crate) fn close(&self, entry: &Entry) -> io::Result<()> {
        self.append(&Line::Closed { id: entry.id.clone() })
    }

    /// Who wrote this content to this path, where the tools did.
    pub(crate) fn author(&self, path: &Path, hash: &str) -> Option<Entry> {
        let mut file = File::open(self.file()).ok()?;
        let start = file.metadata().ok()?.len().saturating_sub(LOOK_BACK);
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut bytes = Vec::new();
        file.take(LOOK_BACK).read_to_end(&mut bytes).ok()?;
        let needle = memchr::memmem::Finder::new(hash);
        // The first line may be cut; it then is no JSON, and nobody's.
        bytes.rsplit(|byte| *byte == b'\n').filter(|line| needle.find(line).is_some()).find_map(|line| {
            match serde_json::from_slice(line).ok()? {
                Line::Changed(entry) => {
                    let wrote = entry.change.after.as_deref() == Some(hash);
                    (wrote && entry.change.path() == path).then_some(*entry)
                }
                Line::Closed { .. } => None,
            }
        })
    }

    /// Every change that is not taken back, oldest first.
    pub fn open_entries(&self) -> io::Result<Vec<Entry>> {
        let bytes = match std::fs::read(self.file()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut entries: Vec<Entry> = Vec::new();
        let mut closed = std::collections::HashSet::new();
        for line in bytes.split(|byte| *byte == b'\n') {
            // A line that was cut by a crash stands for a change that had not begun.
            match serde_json::from_slice(line) {
                Ok(Line::Changed(entry)) => entries.push(*entry),
                Ok(Line::Closed { id }) => {
                    closed.insert(id);
                }
                Err(_) => {}
            }
        }
        entries.retain(|entry| !closed.contains(&entry.id));
        Ok(entries)
    }

    /// The kept content with this hash, checked.
    pub(crate) fn kept(&self, hash: &str) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(self.blob(hash))?;
        if Evidence::of(&bytes).as_str() == hash {
            return Ok(bytes);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the kept content is not what was put there"))
    }

    fn keep(&self, bytes: &[u8]) -> io::Result<()> {
        let blob = self.blob(Evidence::of(bytes).as_str());
        // Used again: as young as the entry that is about to name it.
        if let Ok(kept) = OpenOptions::new().append(true).open(&blob) {
            return kept.set_modified(SystemTime::now());
        }
        let folder = self.folder.join("before");
        private_folder(&folder)?;
        let part = folder.join(random_name());
        let written = private(OpenOptions::new().write(true).create_new(true), &part)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| std::fs::rename(&part, &blob));
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        written
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut file = self.locked()?;
        file.write_all(&text)?;
        if file.metadata()?.len() > LARGEST {
            self.compact()?;
        }
        Ok(())
    }

    /// The journal, locked. One that was replaced while its lock was waited for is not the journal any more.
    fn locked(&self) -> io::Result<File> {
        private_folder(&self.folder)?;
        loop {
            let file = private(OpenOptions::new().append(true).create(true), &self.file())?;
            flock(&file, FlockOperation::LockExclusive)?;
            let (held, there) = (file.metadata()?, std::fs::metadata(self.file()));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
                return Ok(file);
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    fn blob(&self, hash: &str) -> PathBuf {
        let digits: String =
            hash.trim_start_matches("sha256:").chars().filter(char::is_ascii_hexdigit).collect();
        self.folder.join("before").join(digits)
    }
}

impl Change {
    /// A change of a tool's call, on its way.
    pub(crate) fn new(cx: &Cx, tool: &str, place: &Place) -> Self {
        Self {
            run: cx.run.id().to_string(),
            caller: cx.caller.to_string(),
            call: cx.call_id().to_string(),
            tool: tool.to_owned(),
            root: place.root().to_owned(),
            rel: place.relative().to_owned(),
            before: None,
            after: None,
            mode: None,
            made: Vec::new(),
        }
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.mode(0o600).open(path)
}
