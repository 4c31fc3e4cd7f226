//! Questions between processes: a folder only this person can enter, a file per question, a file per answer.
//!
//! The name of a file is the digest of the call, so an answer can be used for no other call. An answer appears whole
//! and once (a hard link that must not exist yet), and is used once (whoever renames it first has it).

use std::{
    fs::{DirBuilder, File, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tollgate::{
    BoxFuture,
    policy::{Desk, Digest, NotAnswered, Pending, Reply},
};

/// The folder.
#[derive(Debug, Clone)]
pub(crate) struct FolderDesk(PathBuf);

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    digest: Digest,
    expires_ms: u64,
    reply: Reply,
}

/// No question is larger than a call's arguments can be, many times over.
const MOST: u64 = 64 << 20;

/// As many digits of the digest as people type.
const SHORT: usize = 12;

impl FolderDesk {
    /// Questions in this folder, which is made with the first of them.
    pub(crate) fn new(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    fn file(&self, digest: &Digest, kind: &str) -> PathBuf {
        self.0.join(format!("{}.{kind}", digest.as_str()))
    }

    /// The folder, made where it is missing; refused where somebody else could write to it.
    fn opened(&self) -> io::Result<bool> {
        match self.0.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
            Ok(about) if !about.is_dir() || about.uid() != rustix::process::geteuid().as_raw() => {
                Err(io::Error::other(format!("{} is not a folder of yours", self.0.display())))
            }
            Ok(about) if open_to_others(&about) => {
                Err(io::Error::other(format!("{} is open to others; chmod 700 it", self.0.display())))
            }
            Ok(_) => Ok(true),
        }
    }

    fn make(&self) -> io::Result<()> {
        if !self.opened()? {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
            std::fs::set_permissions(&self.0, Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// Writes a file of ours beside its place, whole and private.
    fn write(&self, value: &impl Serialize) -> io::Result<PathBuf> {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let new = self.0.join(format!(".new-{:x}-{:x}", std::process::id(), now.as_nanos()));
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        serde_json::to_writer(&mut file, value)?;
        file.flush()?;
        file.sync_all()?;
        Ok(new)
    }

    fn pending(&self) -> io::Result<Vec<Pending>> {
        if !self.opened()? {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_none_or(|kind| kind != "question") {
                continue;
            }
            // One that is gone or torn meanwhile is no question any more.
            let Ok(Some(pending)) = read::<Pending>(&path) else { continue };
            if pending.is_expired() {
                let _ = std::fs::remove_file(&path);
                let _ = std::fs::remove_file(self.file(&pending.digest, "answer"));
            } else if !self.file(&pending.digest, "answer").exists() {
                found.push(pending);
            }
        }
        found.sort_by_key(|pending| pending.asked_ms);
        Ok(found)
    }

    fn find(&self, id: &str) -> Result<Pending, NotAnswered> {
        let unknown = || NotAnswered::Unknown(id.to_owned());
        let exact = |pending: &Pending| pending.id == id || pending.digest.as_str() == id;
        let found = self.pending().map_err(desk)?.into_iter().find(exact);
        found.ok_or_else(unknown)
    }

    fn put_answer(&self, pending: &Pending, reply: &Reply) -> Result<(), NotAnswered> {
        let kept =
            Kept { digest: pending.digest.clone(), expires_ms: pending.expires_ms, reply: reply.clone() };
        let new = self.write(&kept).map_err(desk)?;
        let linked = std::fs::hard_link(&new, self.file(&pending.digest, "answer"));
        let _ = std::fs::remove_file(&new);
        linked.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => NotAnswered::Over(pending.id.clone()),
            _ => desk(error),
        })
    }

    fn use_answer(&self, digest: &Digest) -> io::Result<Option<Reply>> {
        let answer = self.file(digest, "answer");
        if !self.opened()? || !answer.exists() {
            return Ok(None);
        }
        let mine = self.file(digest, &format!("used-{:x}", std::process::id()));
        match std::fs::rename(&answer, &mine) {
            // Somebody was quicker, and it was good once.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            renamed => renamed?,
        }
        let kept = read::<Kept>(&mine);
        let _ = std::fs::remove_file(&mine);
        let _ = std::fs::remove_file(self.file(digest, "question"));
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let good = |kept: &Kept| kept.digest == *digest && now.as_millis() < u128::from(kept.expires_ms);
        Ok(kept?.filter(good).map(|kept| kept.reply))
    }
}

/// The id people type for a digest.
pub(crate) fn id_of(digest: &Digest) -> String {
    digest.as_str().chars().take(SHORT).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` asks for")]
fn desk(error: io::Error) -> NotAnswered {
    NotAnswered::Desk(error.to_string())
}

fn open_to_others(about: &std::fs::Metadata) -> bool {
    about.mode() & 0o077 != 0
}

/// Reads a file that is ours alone; `None` where it is not there.
fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let open = File::options().read(true).custom_flags(NO_LINKS).open(path);
    let file = match open {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        open => open?,
    };
    let about = file.metadata()?;
    let ours =
        about.is_file() && about.uid() == rustix::process::geteuid().as_raw() && !open_to_others(&about);
    if !ours {
        return Err(io::Error::other(format!("{} is not a private file of yours", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Neither a link is followed nor a pipe waited for.
#[expect(clippy::cast_possible_wrap, reason = "a set of flags, not a number")]
const NO_LINKS: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits() as i32;

impl Desk for FolderDesk {
    fn park<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Result<String, NotAnswered>> {
        Box::pin(async move {
            let park = || {
                self.make()?;
                let new = self.write(pending)?;
                // The same question asked again waits from now on.
                std::fs::rename(new, self.file(&pending.digest, "question"))
            };
            park().map(|()| pending.id.clone()).map_err(desk)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Pending>, NotAnswered>> {
        Box::pin(async move { self.pending().map_err(desk) })
    }

    fn answer<'a>(&'a self, id: &'a str, reply: &'a Reply) -> BoxFuture<'a, Result<Pending, NotAnswered>> {
        Box::pin(async move {
            let pending = self.find(id)?;
            self.put_answer(&pending, reply)?;
            Ok(pending)
        })
    }

    fn take<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Reply>, NotAnswered>> {
        Box::pin(async move { self.use_answer(digest).map_err(desk) })
    }
}
