//! An open store: recovered, registered, with its writer at work.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use tokio::sync::oneshot;
use tollgate::outcome::Redactor;

use crate::{
    Settings, StoreError, Trouble,
    book::{self, Holders, Tails, Tx},
    db::{Db, Durability},
    key::Key,
    place::Place,
    schema,
    writer::{Back, Desk, Done, Op, Parcel, Queue, Reply, Work, Writer},
};

/// What the writer will say of work that was handed in.
type Answer = oneshot::Receiver<Result<Parcel<Done>, StoreError>>;

/// A handle to an open store. Clones are the same; with the last one everything is written and the store closed.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    pub(crate) redactor: Arc<Redactor>,
}

pub(crate) struct Inner {
    pub(crate) place: Place,
    /// Missing only where the store is read alone, and its key is not there.
    key: Option<Key>,
    pub(crate) desk: Arc<Desk>,
    reader: Mutex<Option<Box<dyn Db>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
    recovered: usize,
    patience: Duration,
    access: Access,
}

/// What a store was opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Writing,
    Reading,
}

impl Store {
    /// Opens the store, making it where there is none. Calls that a dead process left open get their end here.
    pub fn open(place: Place) -> Result<Self, StoreError> {
        Self::open_with(place, Settings::default())
    }

    /// The same, with settings.
    pub fn open_with(place: Place, settings: Settings) -> Result<Self, StoreError> {
        off_runtime(|| Self::open_here(place, settings))
    }

    fn open_here(place: Place, settings: Settings) -> Result<Self, StoreError> {
        let mut db = place.connect(settings.patience())?;
        schema::prepare(&mut *db, &place)?;
        let key = Key::of(&place, &mut *db)?;
        let recovered = recover_gone(&mut *db, &key)?;
        let owner = book::register(&mut *db)?;
        let desk = Arc::new(Desk::new(owner));
        desk.shelf.look(&mut *db)?;
        let writer = Writer {
            place: place.clone(),
            db,
            key: key.clone(),
            owner,
            lease: settings.lease,
            patience: settings.patience(),
            desk: desk.clone(),
            holders: Holders::default(),
            tails: Tails::default(),
            began: std::time::Instant::now(),
        };
        let thread = std::thread::Builder::new().name("tollgate-store".to_owned()).spawn(|| writer.run());
        let thread = thread.map_err(|source| StoreError::Io { path: place.path().to_owned(), source })?;
        let inner = Inner {
            place,
            key: Some(key),
            desk,
            reader: Mutex::default(),
            writer: Mutex::new(Some(thread)),
            recovered,
            patience: settings.patience(),
            access: Access::Writing,
        };
        Ok(Self { inner: Arc::new(inner), redactor: Arc::default() })
    }

    /// One without a writer: whatever would be written finds it closed.
    pub(crate) fn only_reading(place: Place, key: Option<Key>, db: Box<dyn Db>, patience: Duration) -> Self {
        let desk = Arc::new(Desk::new(0));
        desk.queue.close();
        let inner = Inner {
            place,
            key,
            desk,
            reader: Mutex::new(Some(db)),
            writer: Mutex::default(),
            recovered: 0,
            patience,
            access: Access::Reading,
        };
        Self { inner: Arc::new(inner), redactor: Arc::default() }
    }

    /// The same store, with other eyes for secrets in arguments. Answers come without them already.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = Arc::new(redactor);
        self
    }

    /// How many calls of dead processes were given their end when this store was opened.
    pub fn recovered(&self) -> usize {
        self.inner.recovered
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// Why the last write failed, while writing fails.
    pub fn trouble(&self) -> Option<Trouble> {
        self.inner.desk.queue.broken()
    }

    /// Waits until everything recorded so far is durable.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.write(|_| Ok(())).await
    }

    /// Writes what is left and closes the store, for all clones of this handle. Blocks until it is done.
    pub fn close(&self) {
        self.inner.close();
    }

    /// Runs `work` in the writer's next transaction. Done and durable when it returns.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.hand_in(work, Durability::Full, None)?;
        answer.await.map_err(|_| StoreError::Closed)?.and_then(unpack)
    }

    /// The same without a sync of its own: done when it returns, durable with the next start or end of a call.
    pub(crate) async fn write_lazily<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.hand_in(work, Durability::Lazy, None)?;
        answer.await.map_err(|_| StoreError::Closed)?.and_then(unpack)
    }

    /// The same for what must not stay done where nobody takes the answer: then `back` undoes it. It runs on the thread
    /// that finds out, which may be the writer's own, and so holds no handle to the store.
    pub(crate) async fn write_lazily_or_back<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
        back: impl FnOnce(T, &Queue) + Send + 'static,
    ) -> Result<T, StoreError> {
        let queue = self.inner.desk.queue.clone();
        let back: Back<Done> = Box::new(move |done| {
            if let Ok(done) = done.downcast() {
                back(*done, &queue);
            }
        });
        let answer = self.hand_in(work, Durability::Lazy, Some(back))?;
        answer.await.map_err(|_| StoreError::Closed)?.and_then(unpack)
    }

    /// The durable one, for callers outside a runtime.
    pub(crate) fn write_blocking<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let answer = self.hand_in(work, Durability::Full, None)?;
        answer.blocking_recv().map_err(|_| StoreError::Closed)?.and_then(unpack)
    }

    /// Work that nobody waits for, done with the next commit. Where writing fails it is tried again; what the
    /// database will not take is given up and not told: for what can be done without.
    pub(crate) fn hand_over(&self, work: impl FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static) {
        self.inner.desk.queue.hand_over(work);
    }

    fn hand_in<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
        sync: Durability,
        back: Option<Back<Done>>,
    ) -> Result<Answer, StoreError> {
        let (to, answer) = oneshot::channel();
        let work: Work = Box::new(move |tx| work(tx).map(|done| Box::new(done) as _));
        self.inner.desk.queue.push(Op::Do { work, sync, reply: Some(Reply { to, back }) })?;
        Ok(answer)
    }

    /// Asks the database beside the writer. Blocks.
    pub(crate) fn read<T: Send>(
        &self,
        work: impl FnOnce(&mut dyn Db) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        off_runtime(|| self.read_here(work))
    }

    fn read_here<T>(&self, work: impl FnOnce(&mut dyn Db) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut reader = lock(&self.inner.reader);
        if reader.as_ref().is_none_or(|db| db.is_lost()) {
            *reader = Some(self.inner.connect()?);
        }
        reader.as_mut().map_or(Err(StoreError::Closed), |db| work(&mut **db))
    }
}

/// Database clients that block have a runtime of their own and cannot begin inside another one.
pub(crate) fn off_runtime<T: Send>(
    work: impl FnOnce() -> Result<T, StoreError> + Send,
) -> Result<T, StoreError> {
    if tokio::runtime::Handle::try_current().is_err() {
        return work();
    }
    std::thread::scope(|threads| threads.spawn(work).join().unwrap_or(Err(StoreError::Closed)))
}

fn unpack<T: 'static>(parcel: Parcel<Done>) -> Result<T, StoreError> {
    let done = parcel.take().and_then(|done| done.downcast().ok());
    done.map(|done| *done).ok_or(StoreError::Closed)
}

/// Gives the calls of every dead owner their end.
fn recover_gone(db: &mut dyn Db, key: &Key) -> Result<usize, StoreError> {
    let gone = book::gone_owners(db)?;
    if gone.is_empty() {
        return Ok(0);
    }
    let mut tails = Tails::default();
    let mut tx = Tx::begin(db, key, &mut tails, Durability::Full)?;
    let mut recovered = 0;
    for owner in &gone {
        match book::recover(&mut tx, *owner) {
            Ok(calls) => recovered += calls,
            Err(error) => {
                tx.rollback();
                return Err(error);
            }
        }
    }
    tx.commit()?;
    gone.into_iter().for_each(|owner| db.release(owner));
    Ok(recovered)
}

impl Inner {
    /// The store's key. Without it nothing can be told from what somebody else wrote.
    pub(crate) fn key(&self) -> Result<&Key, StoreError> {
        self.key.as_ref().ok_or_else(|| StoreError::Key { place: self.place.shown() })
    }

    fn connect(&self) -> Result<Box<dyn Db>, StoreError> {
        match self.access {
            Access::Writing => self.place.connect(self.patience),
            Access::Reading => self.place.connect_to_read(self.patience),
        }
    }

    fn close(&self) {
        self.desk.queue.close();
        let thread = lock(&self.writer).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        let reader = lock(&self.reader).take();
        let _ = off_runtime(|| {
            drop(reader);
            Ok(())
        });
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("place", &self.inner.place.shown()).finish_non_exhaustive()
    }
}
