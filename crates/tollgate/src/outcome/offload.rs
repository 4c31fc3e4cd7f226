//! Oversized results are kept whole, content-addressed, and read back by range.

use std::{
    fmt,
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::settled::Evidence;
use crate::guard::Spawner;

/// Where results are kept that are too long for the model.
pub trait ResultStore: Send + Sync + 'static {
    /// Keeps the whole and says under which reference. Durable when it returns.
    fn keep(&self, whole: Arc<str>) -> BoxFuture<'_, Result<ResultRef, StoreFault>>;

    /// A part of a kept result.
    fn read<'a>(&'a self, result: &'a ResultRef, part: Part) -> BoxFuture<'a, Result<String, StoreFault>>;
}

/// The reference of a kept result: its content hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultRef(Arc<str>);

/// Which part of a kept result to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `count` lines from the one numbered `from`, counted from 1.
    Lines {
        /// The first line.
        from: usize,
        /// How many.
        count: usize,
    },
    /// `len` bytes from `offset`.
    Bytes {
        /// The first byte.
        offset: u64,
        /// How many.
        len: usize,
    },
}

/// That, and where, a result was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offloaded {
    /// The reference to read it by; `None` when it could not be kept.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultRef>,
    /// Characters of the whole.
    pub chars: usize,
    /// Lines of the whole.
    pub lines: usize,
    /// Characters the model did not get.
    pub omitted_chars: usize,
}

/// Why a result could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreFault {
    /// Not a reference of ours.
    #[error("`{0}` is not a result reference")]
    BadRef(String),
    /// Nothing is kept under it.
    #[error("no result is kept as `{0}`")]
    Missing(String),
    /// The disk said no.
    #[error("the result store failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Results as files in one folder, named by their hash.
#[derive(Clone)]
pub struct FolderResults {
    folder: Arc<Path>,
    spawner: Arc<dyn Spawner>,
}

impl ResultRef {
    /// The reference as text: `sha256:` and the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads a reference, refusing anything that could name another file.
    pub fn parse(text: &str) -> Result<Self, StoreFault> {
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                Ok(Self(text.into()))
            }
            _ => Err(StoreFault::BadRef(text.chars().take(100).collect())),
        }
    }
}

impl FolderResults {
    /// Keeps results in `folder`, made on first use. Disk work runs on the spawner's blocking threads.
    pub fn new(folder: impl Into<PathBuf>, spawner: Arc<dyn Spawner>) -> Self {
        Self { folder: Arc::from(folder.into()), spawner }
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let (done, answer) = oneshot::channel();
        let folder = self.folder.clone();
        self.spawner.blocking(Box::new(move || {
            let _ = done.send(work(&folder));
        }));
        answer.await.unwrap_or_else(|_| Err(std::io::Error::other("the disk worker went away").into()))
    }
}

impl ResultStore for FolderResults {
    fn keep(&self, whole: Arc<str>) -> BoxFuture<'_, Result<ResultRef, StoreFault>> {
        Box::pin(self.off_thread(move |folder| {
            let result = ResultRef(Evidence::of(whole.as_bytes()).as_str().into());
            write_once(folder, &file_of(folder, &result), whole.as_bytes())?;
            Ok(result)
        }))
    }

    fn read<'a>(&'a self, result: &'a ResultRef, part: Part) -> BoxFuture<'a, Result<String, StoreFault>> {
        let result = result.clone();
        Box::pin(self.off_thread(move |folder| read_part(&file_of(folder, &result), &result, part)))
    }
}

fn file_of(folder: &Path, result: &ResultRef) -> PathBuf {
    folder.join(result.as_str().trim_start_matches("sha256:"))
}

/// Temp file, sync, rename: the name either holds the whole or does not exist.
#[expect(
    clippy::disallowed_methods,
    reason = "the result folder is the one place where the core touches a disk"
)]
fn write_once(folder: &Path, file: &Path, bytes: &[u8]) -> Result<(), StoreFault> {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if file.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    let part = folder.join(format!(".part-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let written = (|| {
        let mut out = std::fs::File::create_new(&part)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        std::fs::rename(&part, file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    Ok(written?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the result folder is the one place where the core touches a disk"
)]
fn read_part(file: &Path, result: &ResultRef, part: Part) -> Result<String, StoreFault> {
    let mut open = std::fs::File::open(file).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreFault::Missing(result.as_str().into()),
        _ => error.into(),
    })?;
    match part {
        Part::Bytes { offset, len } => {
            open.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            open.take(len as u64).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        Part::Lines { from, count } => {
            let mut text = String::new();
            for line in BufReader::new(open).lines().skip(from.saturating_sub(1)).take(count) {
                text.push_str(&line?);
                text.push('\n');
            }
            Ok(text)
        }
    }
}

impl fmt::Display for ResultRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FolderResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FolderResults").field("folder", &self.folder).finish_non_exhaustive()
    }
}
