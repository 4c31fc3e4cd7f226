//! One wrapper inside another: a leash within a sandbox.

use std::{ffi::OsString, io, process::Command, sync::Arc};

use super::Wrapper;

/// Two wrappers around one process. What starts is `outer` around `inner` around the program.
#[derive(Debug)]
pub struct Stacked {
    outer: Arc<dyn Wrapper>,
    inner: Arc<dyn Wrapper>,
}

impl Stacked {
    /// The outer one is what holds; the inner one is put on within it.
    pub fn new(outer: Arc<dyn Wrapper>, inner: Arc<dyn Wrapper>) -> Self {
        Self { outer, inner }
    }
}

impl Wrapper for Stacked {
    fn words(&self, words: Vec<OsString>) -> io::Result<Vec<OsString>> {
        self.outer.words(self.inner.words(words)?)
    }

    fn command(&self, command: &mut Command) -> io::Result<()> {
        self.inner.command(command)?;
        self.outer.command(command)
    }

    fn enter(&self) -> io::Result<()> {
        self.inner.enter()?;
        self.outer.enter()
    }

    fn holds_terminal(&self) -> bool {
        self.outer.holds_terminal() || self.inner.holds_terminal()
    }

    fn leave(&self) {
        self.outer.leave();
        self.inner.leave();
    }
}
