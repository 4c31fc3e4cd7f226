//! What each server offered when it was first used, by hash, in a file of the person's own. Nothing else may be called.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::Digest as _;
use tollgate::outcome::hex;

use super::definition::Definition;
use crate::config::{Endpoint, ServerName};

/// The pins: in a file, or for as long as the value lives.
#[derive(Debug, Clone)]
pub struct PinStore {
    file: PathBuf,
    // Without a file: clones share it.
    memory: Option<Arc<Mutex<All>>>,
}

/// Why pins cannot be read or written. Nothing is called then: what cannot be compared may have changed.
#[derive(Debug, thiserror::Error)]
#[error("the pins of servers' tools in {file} cannot be used: {why}")]
pub struct PinFault {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// What is pinned of one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pinned {
    /// The command or address it was reached by.
    pub(super) reached_by: String,
    pub(super) tools: BTreeMap<String, Pin>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pin {
    pub(super) hash: String,
    /// The definition itself, to show what changed and to know the tool while its server is away.
    pub(super) said: Value,
}

type All = BTreeMap<String, Pinned>;

/// No file of pins is larger.
const MOST: u64 = 256 << 20;

impl PinStore {
    /// Kept in this file, which need not exist yet.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), memory: None }
    }

    /// Kept nowhere: what a server offered first counts until the last clone is gone.
    pub fn in_memory() -> Self {
        Self { file: PathBuf::new(), memory: Some(Arc::default()) }
    }

    /// Forgets a server: whatever it offers next is taken as its first.
    pub fn forget(&self, server: &ServerName) -> Result<bool, PinFault> {
        self.change(|all| all.remove(server.as_str()).is_some())
    }

    /// How many tools of a server are pinned.
    pub fn count(&self, server: &ServerName) -> Result<usize, PinFault> {
        Ok(self.of(server)?.map_or(0, |pinned| pinned.tools.len()))
    }

    pub(super) fn of(&self, server: &ServerName) -> Result<Option<Pinned>, PinFault> {
        Ok(self.read()?.remove(server.as_str()))
    }

    /// Pins tools that are not pinned yet.
    pub(super) fn add<'a>(
        &self,
        server: &ServerName,
        reached_by: &str,
        new: impl IntoIterator<Item = &'a Definition>,
    ) -> Result<(), PinFault> {
        let added = self.change(|all| {
            let pinned = all.entry(server.as_str().to_owned()).or_default();
            let (before, nameless) = (pinned.tools.len(), pinned.reached_by.is_empty());
            if nameless {
                reached_by.clone_into(&mut pinned.reached_by);
            }
            for definition in new {
                pinned.tools.entry(definition.name.as_str().to_owned()).or_insert_with(|| pin(definition));
            }
            nameless || pinned.tools.len() > before
        });
        added.map(drop)
    }

    /// Pins a server as it is now, in the place of what was.
    pub(super) fn replace<'a>(
        &self,
        server: &ServerName,
        reached_by: &str,
        tools: impl IntoIterator<Item = &'a Definition>,
    ) -> Result<(), PinFault> {
        let replaced = self.change(|all| {
            let tools = tools.into_iter().map(|tool| (tool.name.as_str().to_owned(), pin(tool)));
            let pinned = Pinned { reached_by: reached_by.to_owned(), tools: tools.collect() };
            all.insert(server.as_str().to_owned(), pinned);
            true
        });
        replaced.map(drop)
    }

    fn read(&self) -> Result<All, PinFault> {
        if let Some(memory) = &self.memory {
            return Ok(memory.lock().unwrap_or_else(PoisonError::into_inner).clone());
        }
        let text = match File::open(&self.file) {
            Ok(file) => {
                let mut text = String::new();
                let read = file.take(MOST).read_to_string(&mut text);
                read.map(|_| text).map_err(|error| self.fault(&error))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(All::default()),
            Err(error) => return Err(self.fault(&error)),
        };
        serde_json::from_str(&text).map_err(|error| self.fault(&error))
    }

    /// Reads, changes and writes as one step, also between processes. Written where `change` says that it did.
    fn change(&self, change: impl FnOnce(&mut All) -> bool) -> Result<bool, PinFault> {
        if let Some(memory) = &self.memory {
            return Ok(change(&mut memory.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| self.fault(&error))?;
        let lock = private().open(self.file.with_extension("lock")).map_err(|error| self.fault(&error))?;
        lock.lock().map_err(|error| self.fault(&error))?;
        let mut all = self.read()?;
        let changed = change(&mut all);
        if changed {
            self.write(&all)?;
        }
        Ok(changed)
    }

    fn write(&self, all: &All) -> Result<(), PinFault> {
        let text = serde_json::to_vec(all).map_err(|error| self.fault(&error))?;
        let beside = self.file.with_extension(format!("{:x}.new", std::process::id()));
        let written = (|| {
            let mut file = private().truncate(true).open(&beside)?;
            file.write_all(&text)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.file)
        })();
        written.map_err(|error: std::io::Error| {
            let _ = std::fs::remove_file(&beside);
            self.fault(&error)
        })
    }

    fn fault(&self, why: &dyn std::fmt::Display) -> PinFault {
        PinFault { file: self.file.clone(), why: why.to_string() }
    }
}

/// A file that is the person's alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(0o600);
    options
}

fn pin(definition: &Definition) -> Pin {
    Pin { hash: definition.hash.to_string(), said: definition.said.clone() }
}

/// What a server is reached by, as one hash: another program or address under the same name is another server.
pub(super) fn reached_by(endpoint: &Endpoint) -> String {
    format!("sha256:{}", hex(&sha2::Sha256::digest(endpoint.exact().as_bytes())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;
    use crate::config::Limits;

    fn tool(description: &str) -> Definition {
        let entry = json!({"name": "t", "description": description, "inputSchema": {"type": "object"}});
        Definition::read(&entry, 0, &Limits::default()).unwrap()
    }

    #[test]
    fn a_pin_stays_until_it_is_replaced_and_is_nobody_elses_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = PinStore::new(folder.path().join("sub/pins.json"));
        let server = ServerName::new("s").unwrap();
        assert_eq!(store.of(&server).unwrap(), None);
        store.add(&server, "x", [&tool("first")]).unwrap();
        store.add(&server, "y", [&tool("second")]).unwrap();
        let pinned = store.of(&server).unwrap().unwrap();
        assert_eq!((pinned.reached_by.as_str(), &*pinned.tools["t"].hash), ("x", &*tool("first").hash));
        store.replace(&server, "y", [&tool("second")]).unwrap();
        assert_eq!(store.of(&server).unwrap().unwrap().tools["t"].hash, *tool("second").hash);
        let mode = std::fs::metadata(folder.path().join("sub/pins.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(store.forget(&server).unwrap() && !store.forget(&server).unwrap());
    }

    #[test]
    fn pins_that_cannot_be_read_are_an_error_and_not_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pins.json");
        std::fs::write(&file, "{").unwrap();
        assert!(PinStore::new(&file).of(&ServerName::new("s").unwrap()).is_err());
    }
}
