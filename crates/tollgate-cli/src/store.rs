//! What the program remembers: where its store is, and the recording of one command's calls.

use std::sync::{Mutex, PoisonError};

use tollgate::{
    BoxFuture, Builder, Settled, Tollgate,
    guard::{Claim, End, Fence, Ledger, LedgerFault, Run, Start, TraceParent, Written},
    tool::RunId,
};
use tollgate_store::{LazyStore, ModelTurn, Place, Store, StoreError, Watch};

use crate::{
    args::{Environment, Shared},
    config,
    exit::Fault,
    words,
};

/// Where the store is; `None` when nothing says where a person's files are.
pub(crate) fn place(environment: &Environment) -> Result<Option<Place>, Fault> {
    let Some(home) = config::data_folder(environment) else { return Ok(None) };
    let place = match &environment.store_url {
        None => Place::folder(home),
        Some(url) => Place::postgres(url.to_string_lossy(), home).map_err(|error| fault(&error))?,
    };
    let place = match key(environment)? {
        None => place,
        Some(key) => place.keyed(&key).map_err(|error| fault(&error))?,
    };
    Ok(Some(place))
}

/// A key from outside the store, where one was given.
fn key(environment: &Environment) -> Result<Option<String>, Fault> {
    let Some(file) = &environment.store_key_file else {
        return Ok(environment.store_key.as_ref().map(|key| key.to_string_lossy().into_owned()));
    };
    let key = std::fs::read_to_string(file).map_err(|error| {
        let message = format!("TOLLGATE_STORE_KEY_FILE {} cannot be read: {error}", file.display());
        Fault::usage(message, "make it with `openssl rand -hex 32`, readable by you alone.")
    })?;
    Ok(Some(key))
}

/// The store, for commands that change what is in it.
pub(crate) fn open() -> Result<Store, Fault> {
    Store::open(recorded_place()?).map_err(|error| fault(&error))
}

/// The store, for commands that look into it. One that cannot be written is read as it lies there.
pub(crate) fn open_to_look() -> Result<Store, Fault> {
    look_into(recorded_place()?)
}

fn look_into(place: Place) -> Result<Store, Fault> {
    if place.can_be_written() {
        return Store::open(place).map_err(|error| fault(&error));
    }
    let store = Store::open_to_read(place).map_err(|error| fault(&error))?;
    words::talk(&format!(
        "note: the store {} cannot be written and is only read; a call whose program was killed has no end there.",
        store.place().path().display()
    ));
    Ok(store)
}

fn recorded_place() -> Result<Place, Fault> {
    let place = known_place()?;
    if place.exists() {
        return Ok(place);
    }
    let message = format!("nothing is recorded yet in {}", place.path().display());
    Err(Fault::input(message, "run `tollgate call` or `tollgate batch` first."))
}

/// The store, for commands that list what is in it: where nothing was recorded yet, the list is empty.
pub(crate) fn open_to_list() -> Result<Option<Store>, Fault> {
    let place = known_place()?;
    if !place.exists() {
        words::talk(&format!("note: nothing is recorded yet in {}.", place.path().display()));
        return Ok(None);
    }
    look_into(place).map(Some)
}

/// The store, made where there is none.
pub(crate) fn open_or_make() -> Result<Store, Fault> {
    Store::open(known_place()?).map_err(|error| fault(&error))
}

fn known_place() -> Result<Place, Fault> {
    place(&Environment::read())?.ok_or_else(|| {
        Fault::usage("nothing says where the store is", "set TOLLGATE_HOME to a folder of yours.")
    })
}

pub(crate) fn fault(error: &StoreError) -> Fault {
    Fault::input(error.to_string(), error.hint())
}

/// What doctor tells of the store.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Found {
    /// The folder, or that there is a server.
    place: String,
    /// Bytes of the database; nothing while it was not made.
    bytes: Option<i64>,
    /// True when its key is not kept with it.
    keyed_from_outside: bool,
}

impl Found {
    /// Looks: opens a store that is there, which gives calls of dead programs their end, and makes none.
    pub(crate) fn look(environment: &Environment) -> Result<Option<Self>, Fault> {
        let Some(place) = place(environment)? else { return Ok(None) };
        let shown = match place.database() {
            Some(file) => file.display().to_string(),
            None => "PostgreSQL (TOLLGATE_STORE)".to_owned(),
        };
        let keyed_from_outside = environment.store_key.is_some() || environment.store_key_file.is_some();
        let bytes = if place.exists() {
            let store = Store::open(place).map_err(|error| fault(&error))?;
            let size = store.size().map_err(|error| fault(&error));
            store.close();
            Some(size?)
        } else {
            None
        };
        Ok(Some(Self { place: shown, bytes, keyed_from_outside }))
    }

    pub(crate) fn told(&self) -> String {
        let size = match self.bytes {
            None => "made on first use".to_owned(),
            Some(bytes) => format!("{} KiB", bytes / 1_024),
        };
        let key = if self.keyed_from_outside { ", keyed from outside" } else { "" };
        format!("{} ({size}{key})", self.place)
    }
}

/// Records the calls of one command. Opens nothing before the first call.
pub(crate) struct Recorder {
    store: Option<LazyStore>,
    watch: Mutex<Option<Watch>>,
    /// Somebody wants a record, and nothing says where it would be.
    nowhere: bool,
}

impl Recorder {
    pub(crate) fn new(shared: &Shared, environment: &Environment) -> Result<Self, Fault> {
        let place = if shared.no_store { None } else { place(environment)? };
        let nowhere = place.is_none() && !shared.no_store;
        Ok(Self { store: place.map(LazyStore::new), watch: Mutex::default(), nowhere })
    }

    /// The store, where there is one.
    pub(crate) fn store(&self) -> Option<&LazyStore> {
        self.store.as_ref()
    }

    /// The gate, with the store as its ledger.
    pub(crate) fn on(&self, builder: Builder) -> Builder {
        match &self.store {
            Some(store) => builder.ledger(store.clone()).breaker_book(store.clone()),
            None if self.nowhere => builder.ledger(Nowhere),
            None => builder,
        }
    }

    /// True where what is recorded outlives this program.
    pub(crate) fn is_durable(&self) -> bool {
        self.store.is_some()
    }

    /// Notes what the model's turn took, where its calls were recorded.
    pub(crate) fn model(&self, run: &RunId, turn: u32, of: &ModelTurn) {
        if let Some(Ok(store)) = self.store.as_ref().and_then(LazyStore::opened) {
            store.model_turn(run, turn, of);
        }
    }

    pub(crate) fn watch(&self, gate: &Tollgate) {
        let watch = self.store.as_ref().map(|store| store.watch(gate));
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = watch;
    }

    /// Notes which trace of others the run is a part of, and why it came to its end, where anything of it was recorded.
    pub(crate) fn ended(&self, run: &RunId, under: Option<TraceParent>, reason: Option<&str>) {
        if let Some(Ok(store)) = self.store.as_ref().and_then(LazyStore::opened) {
            if let Some(under) = under {
                store.traced(run, under);
            }
            if let Some(reason) = reason {
                store.stopped(run, reason);
            }
        }
    }

    /// The answers were printed: notes that, and writes what is left. Says what could not be recorded.
    pub(crate) fn finish(&self, run: &Run, turn: u32, answers: &[Settled]) {
        self.ended(run.id(), run.traced_under(), None);
        if let Some(Ok(store)) = self.store.as_ref().and_then(LazyStore::opened) {
            let ids: Vec<&str> = answers.iter().map(|answer| answer.id.as_str()).collect();
            if !ids.is_empty() {
                store.delivered(run.id(), turn, &ids);
            }
        }
        self.close();
    }

    /// Writes what is left, and says what could not be recorded.
    pub(crate) fn close(&self) {
        let watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(watch) = watch {
            watch.finish();
        }
        match self.store.as_ref().and_then(LazyStore::opened) {
            Some(Ok(store)) => {
                if store.recovered() > 0 {
                    words::talk(&format!(
                        "note: {} calls of a program that ended too early are now recorded as ended; `tollgate trace list` shows them.",
                        store.recovered()
                    ));
                }
                store.close();
                if let Some(trouble) = store.trouble() {
                    words::talk(&format!("note: not everything was recorded: {}", trouble.why));
                    words::talk(&format!("hint: {}", trouble.hint));
                }
            }
            Some(Err(error)) => {
                words::talk(&format!("note: nothing was recorded: {error}"));
                words::talk(&format!("hint: {}", error.hint()));
            }
            None if self.nowhere => {
                words::talk(&format!("note: nothing was recorded: {NOWHERE}"));
                words::talk("hint: set HOME, or TOLLGATE_HOME to a folder of yours, or say --no-store.");
            }
            None => {}
        }
    }
}

const NOWHERE: &str = "nothing says where the store is";

/// Stands for a store that has no place: what takes effect is not begun, as with one that cannot be opened.
struct Nowhere;

impl Ledger for Nowhere {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(std::future::ready(Err(LedgerFault(NOWHERE.into()))))
    }

    fn settle<'a>(&'a self, _: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        Box::pin(std::future::ready(Err(LedgerFault(NOWHERE.into()))))
    }

    fn abandon(&self, _: Fence) {}
}
