//! Sessions in a folder: one file each, one line of JSON a fact, written by a thread of its own.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _},
    path::PathBuf,
    sync::mpsc,
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tollgate::{BoxFuture, tool::RunId};

use super::{Header, Saved, SessionFault, SessionLog, SessionStore, Summary, id::now_ms};
use crate::{history::Part, machine::Fact};

/// A folder of sessions. Made when the first one is written.
#[derive(Debug, Clone)]
pub struct SessionFolder {
    folder: PathBuf,
}

/// The words every session file begins with.
#[derive(Debug, Serialize, Deserialize)]
struct FirstLine {
    tollgate_session: u32,
    #[serde(flatten)]
    header: Header,
}

#[derive(Serialize)]
struct Line<'a> {
    at_ms: u64,
    #[serde(flatten)]
    fact: &'a Fact,
}

/// The form of the file. Another one is not read.
const VERSION: u32 = 1;

impl SessionFolder {
    /// Sessions in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    fn path(&self, id: &RunId) -> Result<PathBuf, SessionFault> {
        let id = id.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let good = !id.is_empty() && id.len() <= 200 && id.chars().all(plain) && !id.starts_with('.');
        if good {
            Ok(self.folder.join(format!("{id}.jsonl")))
        } else {
            Err(SessionFault::BadId(id.to_owned()))
        }
    }

    /// Takes a session away that nobody has open. One that is not there is gone already.
    pub fn remove(&self, id: &RunId) -> Result<(), SessionFault> {
        let path = self.path(id)?;
        match File::open(&path) {
            Ok(file) => lock(&file, id)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        Ok(std::fs::remove_file(path)?)
    }

    /// `None` for what is no session, and for one in which nobody has said anything.
    fn summary(path: &std::path::Path) -> Option<Summary> {
        let file = File::open(path).ok()?;
        let changed =
            file.metadata().and_then(|data| data.modified()).ok()?.duration_since(UNIX_EPOCH).ok()?;
        let mut lines = BufReader::new(file).lines().map_while(Result::ok);
        let FirstLine { header, tollgate_session } = serde_json::from_str(&lines.next()?).ok()?;
        if tollgate_session != VERSION || header.parent.is_some() {
            return None;
        }
        let (mut title, mut turns) = (String::new(), 0);
        for line in lines {
            if title.is_empty() && line.contains("\"fact\":\"said\"") {
                title = serde_json::from_str(&line).ok().map(|fact| first_words(&fact)).unwrap_or_default();
            }
            turns += u32::from(line.contains("\"fact\":\"answered\""));
        }
        if title.is_empty() && turns == 0 {
            return None;
        }
        let changed_ms = u64::try_from(changed.as_millis()).ok()?;
        Some(Summary { header, changed_ms, title, turns })
    }
}

fn first_words(fact: &Fact) -> String {
    let Fact::Said { parts } = fact else { return String::new() };
    let text = parts.iter().find_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Image { .. } => None,
    });
    let line = text.unwrap_or("(a picture)").trim().lines().next().unwrap_or_default();
    tollgate::json::shorten(line, 80)
}

impl SessionStore for SessionFolder {
    fn begin(&self, header: &Header) -> Result<Box<dyn SessionLog>, SessionFault> {
        let path = self.path(&header.id)?;
        std::fs::create_dir_all(&self.folder)?;
        let mut options = OpenOptions::new();
        options.create_new(true).read(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => SessionFault::Exists(header.id.to_string()),
            _ => error.into(),
        })?;
        lock(&file, &header.id)?;
        let first = FirstLine { tollgate_session: VERSION, header: header.clone() };
        let mut log = FileLog::new(file);
        log.unsaid = Some(path);
        log.line(serde_json::to_string(&first).map_err(|error| SessionFault::Io(error.to_string()))?);
        Ok(Box::new(log))
    }

    fn open(&self, id: &RunId) -> Result<(Saved, Box<dyn SessionLog>), SessionFault> {
        let path = self.path(id)?;
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(|error| unknown(error, id))?;
        lock(&file, id)?;
        let (saved, whole) = read(&file, &path)?;
        // What a crash tore is taken off, so that the next line begins one.
        file.set_len(whole)?;
        file.seek(SeekFrom::End(0))?;
        Ok((saved, Box::new(FileLog::new(file))))
    }

    fn read(&self, id: &RunId) -> Result<Saved, SessionFault> {
        let path = self.path(id)?;
        let file = File::open(&path).map_err(|error| unknown(error, id))?;
        Ok(read(&file, &path)?.0)
    }

    fn list(&self) -> Result<Vec<Summary>, SessionFault> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        let sessions = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
        let mut list: Vec<Summary> = sessions.filter_map(|path| Self::summary(&path)).collect();
        list.sort_by(|a, b| b.changed_ms.cmp(&a.changed_ms).then_with(|| b.header.id.cmp(&a.header.id)));
        Ok(list)
    }
}

fn unknown(error: std::io::Error, id: &RunId) -> SessionFault {
    match error.kind() {
        std::io::ErrorKind::NotFound => SessionFault::Unknown(id.to_string()),
        _ => error.into(),
    }
}

/// The kernel lets go of it when the process ends, however it ends.
fn lock(file: &File, id: &RunId) -> Result<(), SessionFault> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => SessionFault::Busy(id.to_string()),
        TryLockError::Error(error) => error.into(),
    })
}

/// What the file holds, and how many of its bytes are whole lines.
fn read(file: &File, path: &std::path::Path) -> Result<(Saved, u64), SessionFault> {
    let damaged =
        |line: usize, why: String| SessionFault::Damaged { file: path.display().to_string(), line, why };
    let mut reader = BufReader::new(file);
    let (mut header, mut facts, mut whole, mut torn) = (None, Vec::new(), 0, false);
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        let length = reader.read_until(b'\n', &mut text)?;
        if length == 0 {
            break;
        }
        if text.last() != Some(&b'\n') {
            torn = true;
            break;
        }
        if number == 1 {
            let first: FirstLine =
                serde_json::from_slice(&text).map_err(|error| damaged(number, error.to_string()))?;
            if first.tollgate_session != VERSION {
                return Err(damaged(number, format!("version {} is not known here", first.tollgate_session)));
            }
            header = Some(first.header);
        } else {
            match serde_json::from_slice::<Fact>(&text) {
                Ok(fact) => facts.push(fact),
                // A crash of the machine can leave anything in the last block, line ends too.
                Err(_) if reader.fill_buf()?.is_empty() => {
                    torn = true;
                    break;
                }
                Err(error) => return Err(damaged(number, error.to_string())),
            }
        }
        whole += length as u64;
    }
    let header = header.ok_or_else(|| damaged(1, "it is empty".to_owned()))?;
    Ok((Saved { header, facts, torn }, whole))
}

/// Lines go to a thread; whoever must know that they are safe waits for it.
struct FileLog {
    to: Option<mpsc::Sender<Job>>,
    writer: Option<std::thread::JoinHandle<()>>,
    /// The file of a session in which nobody has said anything yet: it is none if that stays so.
    unsaid: Option<PathBuf>,
}

/// Whoever opens the session next finds it written and unlocked.
impl Drop for FileLog {
    fn drop(&mut self) {
        self.to = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
        if let Some(path) = self.unsaid.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

enum Job {
    Write(String),
    Sync(oneshot::Sender<Result<(), SessionFault>>),
}

impl FileLog {
    fn new(mut file: File) -> Self {
        let (to, jobs) = mpsc::channel::<Job>();
        let writer = std::thread::spawn(move || {
            let mut fault: Option<SessionFault> = None;
            for job in jobs {
                match job {
                    Job::Write(line) if fault.is_none() => {
                        fault = file.write_all(line.as_bytes()).err().map(SessionFault::from);
                    }
                    Job::Write(_) => {}
                    Job::Sync(tell) => {
                        let synced =
                            fault.clone().map_or_else(|| file.sync_data().map_err(SessionFault::from), Err);
                        let _ = tell.send(synced);
                    }
                }
            }
        });
        Self { to: Some(to), writer: Some(writer), unsaid: None }
    }

    fn send(&self, job: Job) {
        if let Some(to) = &self.to {
            let _ = to.send(job);
        }
    }

    fn line(&mut self, mut line: String) {
        line.push('\n');
        // A thread that is gone shows in the next sync.
        self.send(Job::Write(line));
    }
}

impl SessionLog for FileLog {
    fn append(&mut self, fact: &Fact) {
        if matches!(fact, Fact::Said { .. }) {
            self.unsaid = None;
        }
        match serde_json::to_string(&Line { at_ms: now_ms(), fact }) {
            Ok(line) => self.line(line),
            Err(error) => {
                // Half a session is worse than none: a line that cannot be read stops whoever waits for it.
                self.send(Job::Write(format!("unwritable: {error}\n")));
            }
        }
    }

    fn sync(&mut self) -> BoxFuture<'static, Result<(), SessionFault>> {
        let (tell, told) = oneshot::channel();
        self.send(Job::Sync(tell));
        Box::pin(async move {
            told.await.unwrap_or_else(|_| Err(SessionFault::Io("the writing thread is gone".to_owned())))
        })
    }
}
