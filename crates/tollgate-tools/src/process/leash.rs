//! A process that does not outlive this program, whatever ends it: the kernel kills it when we are gone.
//!
//! The wish has to be made by the process itself, between its start and its own program. So the program that starts is
//! ours once more, makes the wish, and becomes the one that was meant.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::Wrapper;

/// The first word that tells this program to become another on a leash.
pub const ON_A_LEASH: &str = "on-a-leash";

/// Puts processes on a leash. A process that leaves children behind leaves them to find their input closed.
#[derive(Debug, Clone)]
pub struct Leash {
    program: PathBuf,
}

impl Leash {
    /// A leash held by this program, which hands its words to [`become_leashed`] where the first is [`ON_A_LEASH`].
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}

impl Wrapper for Leash {
    fn words(&self, words: Vec<OsString>) -> io::Result<Vec<OsString>> {
        let parent = std::process::id().to_string();
        let own = [self.program.clone().into_os_string(), ON_A_LEASH.into(), parent.into()];
        Ok(own.into_iter().chain(words).collect())
    }
}

/// Becomes the program of these words (the parent's number first) and dies with its parent. Returns only to say why not.
#[expect(clippy::disallowed_methods, reason = "this starts nothing: it becomes what the one place starts")]
pub fn become_leashed(words: impl IntoIterator<Item = OsString>) -> io::Error {
    let mut words = words.into_iter();
    let parent =
        words.next().as_deref().and_then(OsStr::to_str).and_then(|parent| parent.parse::<i32>().ok());
    let (Some(parent), Some(program)) = (parent, words.next()) else {
        return io::Error::other("a leash needs who holds it and what is on it");
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // Gone before the wish was made: nobody would ever end this.
    if getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
        return io::Error::other("whoever started this is gone");
    }
    Command::new(program).args(words).exec()
}
