//! The sessions there are, and the one that is meant.

use std::{path::Path, sync::Arc, time::Duration};

use tollgate::tool::RunId;
use tollgate_agent::session::{SessionFault, SessionFolder, SessionStore as _, Summary};

use super::screen::width;
use crate::{
    args::{Environment, Shared},
    config,
    exit::{Exit, Fault},
    words::{self, visible},
};

/// Where sessions are; `None` where nothing is to be kept, or nothing says where.
pub(crate) fn folder(shared: &Shared, environment: &Environment) -> Option<Arc<SessionFolder>> {
    let folder = config::data_folder(environment).filter(|_| !shared.no_store)?;
    Some(Arc::new(SessionFolder::new(folder.join("sessions"))))
}

/// `tollgate run --list`.
pub(crate) fn list(shared: &Shared) -> Result<Exit, Fault> {
    let Some(folder) = folder(shared, &Environment::read()) else {
        return Err(Fault::usage(
            "nothing says where sessions are",
            "set TOLLGATE_HOME to a folder of yours.",
        ));
    };
    let sessions = main_ones(&folder)?;
    if shared.json {
        let lines: Vec<_> = sessions.iter().map(words::json).collect();
        if !lines.is_empty() {
            words::data(&lines.join("\n"))?;
        }
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        words::talk("note: there is no session yet; `tollgate run PROMPT` begins one.");
        return Ok(Exit::Done);
    }
    let lines: Vec<_> = sessions.iter().map(told).collect();
    words::data(&lines.join("\n"))?;
    Ok(Exit::Done)
}

/// The session that is meant: by its id or how that begins, or the latest one of this folder.
pub(crate) fn find(folder: &SessionFolder, given: &str, working: &Path) -> Result<Summary, Fault> {
    let sessions = main_ones(folder)?;
    let here = working.display().to_string();
    let hint = "`tollgate run --list` shows every session.";
    if given.is_empty() {
        let latest = sessions.into_iter().find(|session| session.header.cwd == here);
        return latest.ok_or_else(|| Fault::usage(format!("no session has worked in {here}"), hint));
    }
    let mut fit = sessions.into_iter().filter(|session| session.header.id.as_str().starts_with(given));
    match (fit.next(), fit.next()) {
        (Some(session), None) if session.header.cwd == here => Ok(session),
        (Some(session), None) => {
            let message = format!("the session {} works in {}", session.header.id, session.header.cwd);
            Err(Fault::usage(message, "go to that folder and resume it there."))
        }
        (Some(_), Some(_)) => Err(Fault::usage(format!("several sessions begin with {given:?}"), hint)),
        (None, _) => Err(Fault::usage(format!("there is no session {given:?}"), hint)),
    }
}

/// Sessions of people; those of sub-agents are part of them.
fn main_ones(folder: &SessionFolder) -> Result<Vec<Summary>, Fault> {
    let mut sessions = folder.list().map_err(|error| fault(&error))?;
    sessions.retain(|session| session.header.parent.is_none());
    Ok(sessions)
}

fn told(session: &Summary) -> String {
    let Summary { header, title, turns, changed_ms } = session;
    let id: &RunId = &header.id;
    let title = width::cut(&visible(&title.split_whitespace().collect::<Vec<_>>().join(" ")), 60);
    let turns = if *turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    let ago = ago(*changed_ms);
    format!("{id}  {ago:>9}  {turns:>9}  {}  {title}", visible(&header.cwd))
}

/// How long ago that was.
fn ago(changed_ms: u64) -> String {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let since = now.saturating_sub(Duration::from_millis(changed_ms)).as_secs();
    match since {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min", since / 60),
        3_600..86_400 => format!("{} h", since / 3_600),
        _ => format!("{} d", since / 86_400),
    }
}

/// A session that cannot be used is for the person to put right.
pub(crate) fn fault(error: &SessionFault) -> Fault {
    Fault::usage(error.to_string(), error.hint())
}
