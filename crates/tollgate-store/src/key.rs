//! The store's own secret: fingerprints and the chain of records are keyed with it.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tollgate::outcome::hex;

use crate::{
    StoreError,
    db::Db,
    place::{Place, make_private},
    schema,
};

/// 32 secret bytes: given from outside, or kept in `store.key` beside the database, or where there is no folder of its
/// own, inside it. Only a given one keeps whoever can write the store from writing a chain of their own.
#[derive(Clone)]
pub(crate) struct Key {
    bytes: [u8; 32],
    /// Keyed already: what is the same for every hash is computed once.
    mac: Hmac<Sha256>,
}

/// A link of the chain.
pub(crate) type Link = [u8; 32];

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        // Any length is a legal key.
        let mac = Hmac::<Sha256>::new_from_slice(&bytes).unwrap_or_else(|_| unreachable!());
        Self { bytes, mac }
    }
}

impl Key {
    /// The key of a store; made on first use. A key that is not the one the records were made with is an error:
    /// with it no earlier call would be known again.
    pub(crate) fn of(place: &Place, db: &mut dyn Db) -> Result<Self, StoreError> {
        let known = schema::meta(db, "key_check")?;
        let key = match (place.given_key(), place.key_file()) {
            (Some(given), _) => Self::from(given),
            (None, Some(file)) => match read(&file)? {
                Some(key) => key,
                None if known.is_some() => return Err(StoreError::Key { place: place.shown() }),
                None => write(&file, fresh()?)?,
            },
            (None, None) if known.is_some() && schema::meta(db, "key")?.is_none() => {
                return Err(StoreError::Key { place: place.shown() });
            }
            (None, None) => {
                let text = schema::meta_once(db, "key", &hex(&fresh()?.bytes))?;
                unhex(&text).map(Self::from).ok_or(StoreError::Key { place: place.shown() })?
            }
        };
        let check = key.check();
        if schema::meta_once(db, "key_check", &check)? != check {
            return Err(StoreError::Key { place: place.shown() });
        }
        Ok(key)
    }

    /// The key of a store that is only read; `None` where it is not there. Nothing is made.
    pub(crate) fn to_read(place: &Place, db: &mut dyn Db) -> Result<Option<Self>, StoreError> {
        let key = match (place.given_key(), place.key_file()) {
            (Some(given), _) => Some(Self::from(given)),
            (None, Some(file)) if file.exists() => Some(parse(
                &file,
                &std::fs::read_to_string(&file)
                    .map_err(|source| StoreError::Io { path: file.clone(), source })?,
            )?),
            (None, Some(_)) => None,
            (None, None) => schema::meta(db, "key")?.and_then(|text| unhex(&text)).map(Self::from),
        };
        let known = schema::meta(db, "key_check")?;
        match &key {
            Some(key) if known.is_some_and(|known| known != key.check()) => {
                Err(StoreError::Key { place: place.shown() })
            }
            _ => Ok(key),
        }
    }

    /// Tells this key from others, and nothing else.
    fn check(&self) -> String {
        hex(&self.mac(b"check", &[])[..8])
    }

    /// A keyed hash: tells equal things, and nothing else.
    pub(crate) fn mac(&self, purpose: &[u8], parts: &[&[u8]]) -> Link {
        let mut mac = self.mac.clone();
        mac.update(&(purpose.len() as u64).to_le_bytes());
        mac.update(purpose);
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Where the key of a caller is looked up. Two that share one, which one in ten million stores of a million keys has,
    /// are told apart where it is found.
    pub(crate) fn slot(&self, caller: &str, key: &str) -> i64 {
        let mut slot = [0; 8];
        slot.copy_from_slice(&self.mac(b"slot", &[caller.as_bytes(), key.as_bytes()])[..8]);
        i64::from_le_bytes(slot)
    }

    /// The link of a journal row. It speaks of the hash of the body, so that a pruned body leaves the chain whole.
    pub(crate) fn link(&self, before: &[u8], seq: i64, run: &str, at: i64, digest: &[u8]) -> Link {
        self.mac(b"journal", &[before, &seq.to_le_bytes(), run.as_bytes(), &at.to_le_bytes(), digest])
    }
}

pub(crate) fn digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

fn fresh() -> Result<Key, StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| StoreError::Database(format!("the machine has no random numbers: {error}")))?;
    Ok(Key::from(bytes))
}

fn read(file: &Path) -> Result<Option<Key>, StoreError> {
    let fault = |source| StoreError::Io { path: file.to_owned(), source };
    let mut open = match OpenOptions::new().read(true).open(file) {
        Ok(open) => open,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(error)),
    };
    make_private(file).map_err(fault)?;
    let mut text = String::new();
    open.read_to_string(&mut text).map_err(fault)?;
    parse(file, &text).map(Some)
}

fn parse(file: &Path, text: &str) -> Result<Key, StoreError> {
    let key = unhex(text.trim()).map(Key::from);
    key.ok_or_else(|| StoreError::Key { place: file.display().to_string() })
}

/// Written whole or not at all; where two processes write at the same time, the first one's counts.
fn write(file: &Path, key: Key) -> Result<Key, StoreError> {
    let fault = |source| StoreError::Io { path: file.to_owned(), source };
    let part = file.with_extension(format!("part-{}", std::process::id()));
    let written = (|| {
        let mut out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        out.write_all(hex(&key.bytes).as_bytes())?;
        out.sync_all()?;
        match std::fs::hard_link(&part, file) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    })();
    let _ = std::fs::remove_file(&part);
    written.map_err(fault)?;
    Ok(read(file)?.unwrap_or(key))
}

pub(crate) fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
