//! Tokens in files of the person's own, one for each server, readable by nobody else.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::config::ServerName;

/// A login that worked: the tokens, whom they are for and who issued them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The address they are for. They are sent nowhere else.
    pub(super) server: String,
    pub(super) resource: String,
    /// Who issued them. They are renewed nowhere else.
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client: Registered,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970; `None` where nobody said.
    pub(super) expires_at: Option<u64>,
    pub(super) scope: Option<String>,
}

/// What an issuer knows this program by.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Registered {
    pub(super) client_id: String,
    pub(super) client_secret: Option<String>,
    /// The secret goes in the header, not in the body.
    pub(super) basic: bool,
}

/// A token is renewed so long before its end.
const EARLY: Duration = Duration::from_secs(30);

impl Kept {
    /// True when the access token is good for a while.
    pub(super) fn is_fresh(&self) -> bool {
        self.expires_at.is_none_or(|end| now() + EARLY.as_secs() < end)
    }
}

pub(super) fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs()
}

/// Where the login of one server is kept.
pub(super) fn file(folder: &Path, server: &ServerName) -> PathBuf {
    folder.join(format!("{server}.json"))
}

/// What is kept there, if it is for this address: tokens of another one are none.
pub(super) fn read(file: &Path, server: &str) -> Option<Kept> {
    let text = std::fs::read_to_string(file).ok()?;
    serde_json::from_str(&text).ok().filter(|kept: &Kept| kept.server == server)
}

pub(super) fn write(file: &Path, kept: &Kept) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let beside = file.with_extension(format!("{:x}.new", std::process::id()));
    let written = (|| {
        let mut open =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        open.write_all(&serde_json::to_vec_pretty(kept).map_err(std::io::Error::other)?)?;
        open.sync_all()?;
        std::fs::rename(&beside, file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

// Tokens are shown to nobody.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kept")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
