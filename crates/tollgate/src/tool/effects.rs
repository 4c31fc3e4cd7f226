//! What a call would do, computed from its arguments. Undeclared means the worst case.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What one call, with exactly its arguments, may do to the world.
///
/// Every field starts at its worst ([`Effects::worst`]); a tool earns better ones by declaring them.
/// Effects declare and never enforce: dispatch reads `concurrency`, policy reads the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "five independent facts, each named where it is read")]
pub struct Effects {
    /// What may run beside this call.
    pub concurrency: Concurrency,
    /// Changes nothing anywhere.
    pub read_only: bool,
    /// May destroy what cannot be brought back.
    pub destructive: bool,
    /// Doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Talks to the world outside the workspace.
    pub open_world: bool,
    /// The things it touches, as far as the arguments tell.
    pub touches: Vec<Resource>,
}

/// How calls may overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// May run beside other reads.
    ReadOnly,
    /// Runs alone in its workspace.
    WriteExclusive,
    /// Runs alone in its workspace, and executes what we did not write.
    Unsafe,
}

/// One thing a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Resource {
    /// A file or folder.
    Path {
        /// As the call names it, relative ones from the working folder.
        path: PathBuf,
        /// What is done to it.
        access: Access,
    },
    /// A host on the network.
    Host {
        /// Its name or address.
        host: String,
    },
    /// A command that would be started.
    Command {
        /// Program and words, wrappers already taken off.
        command: Vec<String>,
    },
    /// A command of which some words are only known when it runs.
    ///
    /// It stands beside the command as it is written, for the rules that tighten: where one of them could mean it, a
    /// person says.
    Unclear {
        /// Program and words, as far as they are known; empty where nothing is.
        unclear: Vec<Part>,
    },
    /// Anything else two calls could collide on.
    Key {
        /// The name of the thing.
        key: String,
    },
}

/// A word of a command, as far as it is known before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Exactly this.
    Word(String),
    /// Names of files that match, with `*` for any text and `?` for one character.
    Files(String),
    /// One word that begins with this.
    Begins(String),
    /// Words of which the first begins with this; none at all where that is empty.
    Splits(String),
}

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its content or listing is read.
    Read,
    /// It is created, changed or removed.
    Write,
}

impl Effects {
    /// Unsafe, changing, destructive, not repeatable, talking to the outside: what an undeclared call is.
    pub const fn worst() -> Self {
        Self {
            concurrency: Concurrency::Unsafe,
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            touches: Vec::new(),
        }
    }

    /// Looks and changes nothing, inside the workspace.
    pub const fn reading() -> Self {
        Self {
            concurrency: Concurrency::ReadOnly,
            read_only: true,
            destructive: false,
            idempotent: true,
            open_world: false,
            touches: Vec::new(),
        }
    }

    /// Changes something inside the workspace that can be brought back.
    pub const fn writing() -> Self {
        Self {
            concurrency: Concurrency::WriteExclusive,
            read_only: false,
            destructive: false,
            idempotent: false,
            open_world: false,
            touches: Vec::new(),
        }
    }

    /// The same, and it may destroy something for good.
    #[must_use]
    pub const fn destructive(mut self) -> Self {
        self.destructive = true;
        self
    }

    /// The same, and doing it twice is doing it once.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// The same, and it talks to the outside.
    #[must_use]
    pub const fn open_world(mut self) -> Self {
        self.open_world = true;
        self
    }

    /// The same, and it reads this path.
    #[must_use]
    pub fn reads(self, path: impl Into<PathBuf>) -> Self {
        self.touching(Resource::Path { path: path.into(), access: Access::Read })
    }

    /// The same, and it writes this path.
    #[must_use]
    pub fn writes(self, path: impl Into<PathBuf>) -> Self {
        self.touching(Resource::Path { path: path.into(), access: Access::Write })
    }

    /// The same, and it touches this.
    #[must_use]
    pub fn touching(mut self, resource: Resource) -> Self {
        self.touches.push(resource);
        self
    }

    /// True when calls with these effects may share a batch.
    pub fn may_run_together(&self) -> bool {
        self.concurrency == Concurrency::ReadOnly && self.read_only
    }

    /// The class dispatch goes by: a call that claims to run together but changes something does not.
    pub fn class(&self) -> Concurrency {
        match self.concurrency {
            Concurrency::ReadOnly if !self.read_only => Concurrency::WriteExclusive,
            class => class,
        }
    }
}

impl Default for Effects {
    fn default() -> Self {
        Self::worst()
    }
}
