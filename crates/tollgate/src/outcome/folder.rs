//! Kept results as files of one folder: named by their hash, written whole or not at all, checked when read.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fmt,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use super::{Label, Opened, Part, ResultRef, ResultStore, StoreFault, Trust, settled::hex};
use crate::{guard::Spawner, tool::Caller};

/// Results as files in one folder, named by their hash, and beside each a label for everyone it was kept for.
#[derive(Clone)]
pub struct FolderResults {
    folder: Arc<Path>,
    spawner: Arc<dyn Spawner>,
    limits: Limits,
    // Bytes written since room was last made.
    written: Arc<AtomicU64>,
}

/// What a folder of results may take, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all results together; the oldest make room.
    pub quota: u64,
    /// Older ones are gone.
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { quota: 4 << 30, retention: Duration::from_secs(30 * 24 * 3600) }
    }
}

/// What was taken out of a folder of results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Results that were too old, or had to make room.
    pub results: usize,
    /// Files that a process which is gone began and never finished.
    pub unfinished: usize,
    /// Bytes set free.
    pub bytes: u64,
}

impl FolderResults {
    /// Keeps results in `folder`, made on first use. Disk work runs on the spawner's blocking threads.
    pub fn new(folder: impl Into<PathBuf>, spawner: Arc<dyn Spawner>) -> Self {
        Self { folder: Arc::from(folder.into()), spawner, limits: Limits::default(), written: Arc::default() }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Takes out what is too old, beyond the quota, or was never finished. Blocks its thread.
    pub fn tidy(&self) -> Result<Tidied, StoreFault> {
        tidy(&self.folder, self.limits, None)
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreFault> + Send + 'static,
    ) -> Result<T, StoreFault> {
        let (done, answer) = oneshot::channel();
        let this = self.clone();
        self.spawner.blocking(Box::new(move || {
            let _ = done.send(work(&this));
        }));
        answer.await.unwrap_or_else(|_| Err(std::io::Error::other("the disk worker went away").into()))
    }

    fn write(&self, whole: &[u8], label: &Label) -> Result<ResultRef, StoreFault> {
        let Limits { quota, .. } = self.limits;
        let bytes = whole.len() as u64;
        if bytes > quota {
            return Err(StoreFault::Full { bytes, quota });
        }
        let result = ResultRef::of(whole);
        private_folder(&self.folder)?;
        let file = self.file_of(&result);
        // What lies there under the right name and length may still be damaged: reading finds that out.
        if !std::fs::metadata(&file).is_ok_and(|found| found.len() == bytes) || renew(&file).is_err() {
            write_whole(&self.folder, &file, whole)?;
        }
        self.write_label(&result, label)?;
        // Looking through the folder costs: not for every result, only when a tenth of the room was used since.
        if self.written.fetch_add(bytes, Ordering::Relaxed) + bytes > quota / 10 {
            self.written.store(0, Ordering::Relaxed);
            tidy(&self.folder, self.limits, Some(&result))?;
        }
        Ok(result)
    }

    /// Content that came once from a doubtful place stays doubtful, however it comes again.
    fn write_label(&self, result: &ResultRef, label: &Label) -> Result<(), StoreFault> {
        let file = self.label_of(result, &label.caller);
        if read_label(&file).is_some_and(|known| known == label.trust || known == Trust::UntrustedContent) {
            return Ok(());
        }
        let word: &[u8] = match label.trust {
            Trust::TrustedSystem => b"trusted_system",
            Trust::UntrustedContent => b"untrusted_content",
        };
        write_whole(&self.folder, &file, word)
    }

    fn open_file(&self, result: &ResultRef, caller: &Caller) -> Result<(File, Trust, u64), StoreFault> {
        let missing = || StoreFault::Missing(result.as_str().into());
        // One that was kept for somebody else is as good as none.
        let trust = read_label(&self.label_of(result, caller)).ok_or_else(missing)?;
        #[expect(clippy::disallowed_methods, reason = "the one place where the core touches a disk")]
        let mut file = File::open(self.file_of(result)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(),
            _ => error.into(),
        })?;
        let (hash, bytes) = hash_of(&mut file)?;
        if format!("sha256:{hash}") != result.as_str().to_ascii_lowercase() {
            return Err(StoreFault::Changed(result.as_str().into()));
        }
        file.seek(SeekFrom::Start(0))?;
        Ok((file, trust, bytes))
    }

    fn file_of(&self, result: &ResultRef) -> PathBuf {
        self.folder.join(digits(result))
    }

    fn label_of(&self, result: &ResultRef, caller: &Caller) -> PathBuf {
        let who = hex(&Sha256::digest(caller.as_str())[..8]);
        self.folder.join(format!("{}.{who}", digits(result)))
    }
}

impl ResultStore for FolderResults {
    fn keep(&self, whole: Arc<str>, label: Label) -> BoxFuture<'_, Result<ResultRef, StoreFault>> {
        Box::pin(self.off_thread(move |this| this.write(whole.as_bytes(), &label)))
    }

    fn read<'a>(
        &'a self,
        result: &'a ResultRef,
        caller: &'a Caller,
        part: Part,
    ) -> BoxFuture<'a, Result<String, StoreFault>> {
        let (result, caller) = (result.clone(), caller.clone());
        Box::pin(self.off_thread(move |this| {
            let (file, ..) = this.open_file(&result, &caller)?;
            read_part(file, part)
        }))
    }

    fn open(&self, result: &ResultRef, caller: &Caller) -> Result<Opened, StoreFault> {
        let (file, trust, bytes) = self.open_file(result, caller)?;
        Ok(Opened { content: Box::new(file), bytes, trust })
    }
}

fn hash_of(file: &mut File) -> std::io::Result<(String, u64)> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 128 << 10];
    let mut bytes = 0;
    loop {
        match file.read(&mut block)? {
            0 => return Ok((hex(&hash.finalize()), bytes)),
            read => {
                hash.update(&block[..read]);
                bytes += read as u64;
            }
        }
    }
}

fn digits(result: &ResultRef) -> String {
    result.as_str().trim_start_matches("sha256:").to_ascii_lowercase()
}

#[expect(clippy::disallowed_methods, reason = "the one place where the core touches a disk")]
fn read_label(file: &Path) -> Option<Trust> {
    match std::fs::read(file).ok()?.as_slice() {
        b"trusted_system" => Some(Trust::TrustedSystem),
        // A damaged label is the doubtful one.
        _ => Some(Trust::UntrustedContent),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the core touches a disk")]
fn private_folder(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Temp file, sync, rename, sync: the name either holds the whole or does not exist.
#[expect(clippy::disallowed_methods, reason = "the one place where the core touches a disk")]
fn write_whole(folder: &Path, file: &Path, bytes: &[u8]) -> Result<(), StoreFault> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let part = folder.join(format!(".part-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    let written = (|| {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = options.open(&part)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        std::fs::rename(&part, file)?;
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    Ok(written?)
}

/// A result that is kept again is as young as a new one: its reference was just handed out.
fn renew(file: &Path) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(file)?.set_modified(SystemTime::now())
}

fn read_part(mut file: File, part: Part) -> Result<String, StoreFault> {
    match part {
        Part::Bytes { offset, len } => {
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            file.take(len as u64).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        Part::Lines { from, count } => {
            let mut text = String::new();
            for line in BufReader::new(file).lines().skip(from.saturating_sub(1)).take(count) {
                text.push_str(&line?);
                text.push('\n');
            }
            Ok(text)
        }
    }
}

/// A file that was begun so long ago will not be finished.
const UNFINISHED: Duration = Duration::from_secs(3600);

#[expect(clippy::disallowed_methods, reason = "the one place where the core touches a disk")]
fn tidy(folder: &Path, limits: Limits, keep: Option<&ResultRef>) -> Result<Tidied, StoreFault> {
    let mut tidied = Tidied::default();
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(tidied),
        Err(error) => return Err(error.into()),
    };
    let now = SystemTime::now();
    let mut results = Vec::new();
    let mut labels: HashMap<OsString, Vec<PathBuf>> = HashMap::new();
    for entry in listed.flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let name = entry.file_name().to_string_lossy().into_owned();
        // A clock that was set back makes files look young: they stay.
        let age = found.modified().ok().and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
        if let Some(whose) = name.strip_prefix(".part-") {
            if age > UNFINISHED || is_gone(whose) {
                tidied.unfinished += usize::from(std::fs::remove_file(entry.path()).is_ok());
            }
        } else if name.contains('.') {
            let path = entry.path();
            labels.entry(path.file_stem().unwrap_or_default().to_owned()).or_default().push(path);
        } else {
            results.push((age, found.len(), name, found.modified().ok()));
        }
    }
    let mut room: u64 = results.iter().map(|(_, bytes, ..)| bytes).sum();
    results.sort_unstable_by(|a, b| b.cmp(a));
    for (age, bytes, name, at) in results {
        let wanted = keep.is_some_and(|keep| digits(keep) == name);
        let file = folder.join(&name);
        if wanted || (age <= limits.retention && room <= limits.quota) || kept_again(&file, at) {
            continue;
        }
        if std::fs::remove_file(file).is_ok() {
            room = room.saturating_sub(bytes);
            tidied.results += 1;
            tidied.bytes += bytes;
            for label in labels.remove(OsStr::new(&name)).into_iter().flatten() {
                let _ = std::fs::remove_file(label);
            }
        }
    }
    Ok(tidied)
}

/// True when the result was kept again, by whoever else uses the folder, since it was found to be as old as this.
fn kept_again(file: &Path, listed: Option<SystemTime>) -> bool {
    file.metadata().is_ok_and(|found| found.modified().ok() != listed)
}

/// True when the process that began the file has ended.
fn is_gone(whose: &str) -> bool {
    let process = whose.split('-').next().and_then(|id| id.parse::<u32>().ok());
    cfg!(target_os = "linux") && process.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists())
}

impl fmt::Debug for FolderResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FolderResults").field("folder", &self.folder).finish_non_exhaustive()
    }
}
