//! Questions in the store: left by one process, answered once from any other, used up once by the call they are about.

use tollgate::{
    BoxFuture,
    outcome::Redactor,
    policy::{Desk, Digest, NotAnswered, Pending, Reply},
};

use crate::{
    LazyStore, Store, StoreError,
    book::{Tally, Tx},
    clean,
    db::Param,
    now_ms, record,
};

/// Whole as they were asked: whoever answers must see everything, so nothing is redacted in the table. A question leaves
/// it when its answer is used, or when it is too old; the journal, which stays, is told of it without secrets.
impl Desk for Store {
    fn park<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Result<String, NotAnswered>> {
        Box::pin(async move {
            let body = serde_json::to_vec(pending).map_err(|error| NotAnswered::Desk(error.to_string()))?;
            let (pending, redactor) = (pending.clone(), self.redactor.clone());
            self.write(move |tx| park(tx, &pending, &body, &redactor)).await.map_err(fault)
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Pending>, NotAnswered>> {
        Box::pin(async move { self.write(waiting).await.map_err(fault) })
    }

    fn answer<'a>(&'a self, id: &'a str, reply: &'a Reply) -> BoxFuture<'a, Result<Pending, NotAnswered>> {
        Box::pin(async move {
            let (id, reply, redactor) = (id.to_owned(), reply.clone(), self.redactor.clone());
            self.write(move |tx| answer(tx, &id, &reply, &redactor)).await.map_err(fault)?
        })
    }

    fn take<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Reply>, NotAnswered>> {
        Box::pin(async move {
            let digest = digest.clone();
            self.write(move |tx| take(tx, &digest)).await.map_err(fault)
        })
    }
}

/// Opened for the first question; a store that is not there has none.
impl Desk for LazyStore {
    fn park<'a>(&'a self, pending: &'a Pending) -> BoxFuture<'a, Result<String, NotAnswered>> {
        self.at_hand(|store| store.park(pending))
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<Pending>, NotAnswered>> {
        if !self.place().exists() {
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        self.at_hand(Desk::list)
    }

    fn answer<'a>(&'a self, id: &'a str, reply: &'a Reply) -> BoxFuture<'a, Result<Pending, NotAnswered>> {
        if !self.place().exists() {
            return Box::pin(std::future::ready(Err(NotAnswered::Unknown(id.to_owned()))));
        }
        self.at_hand(|store| store.answer(id, reply))
    }

    fn take<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<Reply>, NotAnswered>> {
        if !self.place().exists() {
            return Box::pin(std::future::ready(Ok(None)));
        }
        self.at_hand(|store| store.take(digest))
    }
}

impl LazyStore {
    fn at_hand<'a, T: Send + 'a>(
        &'a self,
        ask: impl FnOnce(&'a Store) -> BoxFuture<'a, Result<T, NotAnswered>>,
    ) -> BoxFuture<'a, Result<T, NotAnswered>> {
        match self.get() {
            Ok(store) => ask(store),
            Err(error) => Box::pin(std::future::ready(Err(NotAnswered::Desk(error.to_string())))),
        }
    }
}

/// The same question again keeps its id, waits anew, and keeps an answer that is still good.
fn park(tx: &mut Tx<'_>, pending: &Pending, body: &[u8], redactor: &Redactor) -> Result<String, StoreError> {
    forget_old(tx)?;
    let digest = pending.digest.as_str();
    let known = tx.db().query("SELECT id FROM questions WHERE digest = $1", &[Param::Text(digest)])?;
    let id = match known.first() {
        Some(row) => row.text(0)?.to_owned(),
        None => pending.id.clone(),
    };
    tx.db().execute(
        "INSERT INTO questions (digest, id, run, asked, expires, body, reply) VALUES ($1, $2, $3, $4, $5, $6, NULL)
         ON CONFLICT (digest) DO UPDATE SET run = excluded.run, asked = excluded.asked,
           expires = excluded.expires, body = excluded.body",
        &[
            Param::Text(digest),
            Param::Text(&id),
            Param::Text(&clean(&pending.run)),
            Param::Int(signed(pending.asked_ms)),
            Param::Int(signed(pending.expires_ms)),
            Param::Blob(body),
        ],
    )?;
    let mut line = Vec::new();
    record::asked(&mut line, &id, pending, redactor);
    tx.write(&clean(&pending.run), &line, 1, Tally::default());
    crate::failpoint::hit("parked");
    Ok(id)
}

fn waiting(tx: &mut Tx<'_>) -> Result<Vec<Pending>, StoreError> {
    let rows = tx.db().query(
        "SELECT body, id FROM questions WHERE reply IS NULL AND expires > $1 ORDER BY asked, digest",
        &[Param::Int(now_ms())],
    )?;
    rows.iter().map(|row| whole(row.blob(0)?, row.text(1)?)).collect()
}

/// Given once: the second answer finds the first.
fn answer(
    tx: &mut Tx<'_>,
    id: &str,
    reply: &Reply,
    redactor: &Redactor,
) -> Result<Result<Pending, NotAnswered>, StoreError> {
    let rows = tx.db().query(
        "SELECT digest, body, id, expires, reply FROM questions WHERE id = $1 OR digest = $1",
        &[Param::Text(id)],
    )?;
    let Some(row) = rows.first() else { return Ok(Err(NotAnswered::Unknown(id.to_owned()))) };
    if !row.is_null(4) {
        return Ok(Err(NotAnswered::Over(id.to_owned())));
    }
    if row.int(3)? <= now_ms() {
        return Ok(Err(NotAnswered::Expired(id.to_owned())));
    }
    if rows.len() > 1 {
        return Ok(Err(NotAnswered::Unknown(format!(
            "{id}, which two questions share: give the whole digest"
        ))));
    }
    let pending = whole(row.blob(1)?, row.text(2)?)?;
    let said = serde_json::to_vec(reply).map_err(|error| StoreError::Database(error.to_string()))?;
    let kept = sealed(tx, pending.digest.as_str(), &said);
    tx.db().execute(
        "UPDATE questions SET reply = $1 WHERE digest = $2",
        &[Param::Blob(&kept), Param::Text(row.text(0)?)],
    )?;
    let mut line = Vec::new();
    record::answered(&mut line, &pending, reply, redactor);
    tx.write(&clean(&pending.run), &line, 1, Tally::default());
    crate::failpoint::hit("answered");
    Ok(Ok(pending))
}

/// Gone in the transaction that reads it: nobody finds it twice, whatever ends when.
fn take(tx: &mut Tx<'_>, digest: &Digest) -> Result<Option<Reply>, StoreError> {
    let rows = tx.db().query(
        "SELECT reply, expires FROM questions WHERE digest = $1 AND reply IS NOT NULL",
        &[Param::Text(digest.as_str())],
    )?;
    let Some(row) = rows.first() else { return Ok(None) };
    tx.db().execute("DELETE FROM questions WHERE digest = $1", &[Param::Text(digest.as_str())])?;
    crate::failpoint::hit("taken");
    if row.int(1)? <= now_ms() {
        return Ok(None);
    }
    // Whoever can write the table and has not the key has not answered.
    let kept = row.blob(0)?;
    let said = kept.get(SEAL..).unwrap_or_default();
    if sealed(tx, digest.as_str(), said) != kept {
        return Ok(None);
    }
    let reply = serde_json::from_slice(said);
    reply.map(Some).map_err(|error| StoreError::Database(format!("a kept answer is none: {error}")))
}

const SEAL: usize = 32;

/// An answer with the keyed hash that binds it to its question.
fn sealed(tx: &Tx<'_>, digest: &str, said: &[u8]) -> Vec<u8> {
    let seal = tx.key().mac(b"answer", &[digest.as_bytes(), said]);
    [&seal[..], said].concat()
}

fn forget_old(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    tx.db().execute("DELETE FROM questions WHERE expires <= $1", &[Param::Int(now_ms())]).map(drop)
}

fn whole(body: &[u8], id: &str) -> Result<Pending, StoreError> {
    let pending: Result<Pending, _> = serde_json::from_slice(body);
    let mut pending =
        pending.map_err(|error| StoreError::Database(format!("a kept question is none: {error}")))?;
    id.clone_into(&mut pending.id);
    Ok(pending)
}

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` asks for")]
fn fault(error: StoreError) -> NotAnswered {
    NotAnswered::Desk(error.to_string())
}
