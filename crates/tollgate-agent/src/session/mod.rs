//! A session is the list of its facts, written down as they happen: applied again, they give the same conversation.

mod file;
mod id;
mod load;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tollgate::{BoxFuture, tool::RunId};

use crate::machine::Fact;

pub use file::SessionFolder;
pub use id::new_session_id;
pub(crate) use id::now_ms;
pub use load::replay;

/// Where sessions are kept.
pub trait SessionStore: Send + Sync + 'static {
    /// Begins a session. There must be none of that id.
    fn begin(&self, header: &Header) -> Result<Box<dyn SessionLog>, SessionFault>;

    /// Opens a session to go on with: what is in it, and where more is written. Nobody else may have it open.
    fn open(&self, id: &RunId) -> Result<(Saved, Box<dyn SessionLog>), SessionFault>;

    /// What a session holds, without going on with it.
    fn read(&self, id: &RunId) -> Result<Saved, SessionFault>;

    /// Every session, the one that was written to last first. One that cannot be read is left out.
    fn list(&self) -> Result<Vec<Summary>, SessionFault>;
}

/// Where the facts of one session are written.
pub trait SessionLog: Send {
    /// Writes a fact after those before it. Waits for nothing; a fault shows in the next [`SessionLog::sync`].
    fn append(&mut self, fact: &Fact);

    /// Waits until everything written so far would survive the machine.
    fn sync(&mut self) -> BoxFuture<'static, Result<(), SessionFault>>;
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Its id, which is the id of its run.
    pub id: RunId,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// The model it began with.
    pub model: Arc<str>,
    /// The folder it works in.
    pub cwd: String,
    /// The role the agent has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The session of whoever sent the agent out, where it is a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// Whether it began in plan mode.
    #[serde(default)]
    pub plan: bool,
}

/// What a session holds.
#[derive(Debug, Clone)]
pub struct Saved {
    /// What it began with.
    pub header: Header,
    /// What happened, in order.
    pub facts: Vec<Fact>,
    /// True where the last line was torn and left out.
    pub torn: bool,
}

/// A session in a list.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// What it began with.
    #[serde(flatten)]
    pub header: Header,
    /// When it was last written to, in milliseconds since 1970.
    pub changed_ms: u64,
    /// The first words of the person.
    pub title: String,
    /// Turns of the model.
    pub turns: u32,
}

/// Why a session could not be read or written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionFault {
    /// There is none of that id.
    #[error("there is no session {0:?}")]
    Unknown(String),
    /// There is one of that id already.
    #[error("there is a session {0:?} already")]
    Exists(String),
    /// Not a name that a session can have.
    #[error("{0:?} is not a session id")]
    BadId(String),
    /// Another process goes on with it.
    #[error("the session {0:?} is open in another process")]
    Busy(String),
    /// A line is not what a session holds.
    #[error("the session file {file} is damaged at line {line}: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The disk said no.
    #[error("the session could not be kept: {0}")]
    Io(String),
}

impl SessionFault {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown(_) | Self::BadId(_) => "list the sessions, and use an id of that list.",
            Self::Exists(_) => "go on with it, or begin one under another id.",
            Self::Busy(_) => "end the other process, or begin a new session.",
            Self::Damaged { .. } => "begin a new session; the lines before the damage can still be read.",
            Self::Io(_) => "check that the folder can be written to and the disk has room.",
        }
    }
}

impl From<std::io::Error> for SessionFault {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error.to_string())
    }
}

/// A session that is kept nowhere.
#[derive(Debug, Default)]
pub(crate) struct Forgotten;

impl SessionLog for Forgotten {
    fn append(&mut self, _: &Fact) {}

    fn sync(&mut self) -> BoxFuture<'static, Result<(), SessionFault>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
