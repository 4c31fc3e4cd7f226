//! A key is granted to one call alone: looked up, fenced and written in the same transaction.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{State, Tally, Tx, end::terminal_of, recover};
use crate::{StoreError, db::Param, record::owner_of};

/// What a call wants to claim.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) id: i64,
    pub(crate) run: String,
    pub(crate) caller: String,
    pub(crate) key: String,
    /// Where caller and key are looked up.
    pub(crate) slot: i64,
    /// Keyed: a stored hash tells nothing about the arguments.
    pub(crate) fingerprint: [u8; 32],
    /// The `started` record.
    pub(crate) line: Vec<u8>,
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Claimed {
    Granted,
    /// The stored answer.
    Replay(Vec<u8>),
    Conflict,
    Unfinished,
    /// A living process holds it.
    Busy,
}

/// When each other owner was last seen to move, on this process's own clock. Wall clocks decide nothing.
#[derive(Debug, Default)]
pub(crate) struct Holders(HashMap<i64, (i64, Instant)>);

/// A call that was proposed in this transaction. Nearly always it is claimed or refused in the same one, and then its
/// one row is written as it stands at the end.
pub(super) struct Fresh {
    run: String,
    caller: String,
    seq: i64,
}

/// Notes a call before anyone decides about it.
pub(crate) fn propose(tx: &mut Tx<'_>, id: i64, run: &str, caller: &str, line: &[u8]) {
    let seq = tx.write(run, line, 1, Tally::default());
    tx.fresh.insert(id, Fresh { run: run.to_owned(), caller: caller.to_owned(), seq });
}

/// Gives every call that was only proposed its row.
pub(super) fn note_fresh(tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let fresh = std::mem::take(&mut tx.fresh);
    fresh.into_iter().try_for_each(|(id, fresh)| insert(tx, id, &fresh, 0))
}

/// A call that ends in the transaction it was proposed in. False when it was not.
pub(super) fn end_fresh(tx: &mut Tx<'_>, id: i64, state: State) -> Result<bool, StoreError> {
    let Some(fresh) = tx.fresh.remove(&id) else { return Ok(false) };
    insert(tx, id, &fresh, state as i64)?;
    Ok(true)
}

fn insert(tx: &mut Tx<'_>, id: i64, fresh: &Fresh, state: i64) -> Result<(), StoreError> {
    tx.db.execute(
        "INSERT INTO calls (id, run, caller, key, fingerprint, state, seq)
         VALUES ($1, $2, $3, NULL, NULL, $4, $5)",
        &[
            Param::Int(id),
            Param::Text(&fresh.run),
            Param::Text(&fresh.caller),
            Param::Int(state),
            Param::Int(fresh.seq),
        ],
    )?;
    Ok(())
}

/// Proposed and granted in one: the key is free, and the row says so.
fn grant_fresh(tx: &mut Tx<'_>, wanted: &Wanted, fresh: &Fresh) -> Result<bool, StoreError> {
    let rows = tx.db.execute(
        "INSERT INTO calls (id, run, caller, key, fingerprint, state, seq, slot)
         VALUES ($1, $2, $3, $4, $5, 1, $6, $7) ON CONFLICT (slot) DO NOTHING",
        &[
            Param::Int(wanted.id),
            Param::Text(&fresh.run),
            Param::Text(&wanted.caller),
            Param::Text(&wanted.key),
            Param::Blob(&wanted.fingerprint),
            Param::Int(fresh.seq),
            Param::Int(wanted.slot),
        ],
    )?;
    if rows == 1 {
        tx.write(&wanted.run, &wanted.line, 1, Tally::default());
    }
    Ok(rows == 1)
}

/// Grants the key, or says why not.
pub(crate) fn claim(
    tx: &mut Tx<'_>,
    wanted: &Wanted,
    holders: &mut Holders,
    lease: Duration,
) -> Result<Claimed, StoreError> {
    let owner = owner_of(wanted.id);
    if tx.alive != Some(owner) {
        let known = "SELECT id FROM owners WHERE id = $1 AND ended IS NULL";
        if tx.db.query(known, &[Param::Int(owner)])?.is_empty() {
            return Err(StoreError::Fenced);
        }
        tx.alive = Some(owner);
    }
    if let Some(fresh) = tx.fresh.remove(&wanted.id) {
        if grant_fresh(tx, wanted, &fresh)? {
            return Ok(Claimed::Granted);
        }
        insert(tx, wanted.id, &fresh, 0)?;
    }
    loop {
        let found = tx.db.query(
            "SELECT id, state, fingerprint, caller, key FROM calls WHERE slot = $1",
            &[Param::Int(wanted.slot)],
        )?;
        let Some(row) = found.first() else { return grant(tx, wanted) };
        // Another key in the same slot is as good as other arguments: it is refused, and nothing runs.
        let same = row.text(3)? == wanted.caller && row.text(4)? == wanted.key;
        if !same || row.blob(2)? != wanted.fingerprint {
            return Ok(Claimed::Conflict);
        }
        let holder = row.int(0)?;
        match row.int(1)? {
            2 => return terminal_of(tx, holder).map(Claimed::Replay),
            3 => return Ok(Claimed::Unfinished),
            _ if holders.is_dead(tx, owner_of(holder), owner, lease)? => {
                recover(tx, owner_of(holder))?;
            }
            _ => return Ok(Claimed::Busy),
        }
    }
}

/// The stored answer of whatever began under the key and is over, recovery's own included. `me` still runs.
pub(crate) fn recall(
    tx: &mut Tx<'_>,
    me: i64,
    (caller, key): (&str, &str),
) -> Result<Option<Vec<u8>>, StoreError> {
    loop {
        let found = tx.db.query(
            "SELECT id, state FROM calls WHERE caller = $1 AND key = $2",
            &[Param::Text(caller), Param::Text(key)],
        )?;
        let Some(row) = found.first() else { return Ok(None) };
        let holder = row.int(0)?;
        let owner = owner_of(holder);
        match row.int(1)? {
            2 | 3 => return terminal_of(tx, holder).map(Some),
            // Its process ended after this store was opened.
            _ if owner != me && tx.db.is_gone(owner)? => drop(recover(tx, owner)?),
            _ => return Ok(None),
        }
    }
}

fn grant(tx: &mut Tx<'_>, wanted: &Wanted) -> Result<Claimed, StoreError> {
    let moved = tx.db.execute(
        "UPDATE calls SET state = 1, key = $1, fingerprint = $2, slot = $3 WHERE id = $4 AND state = 0",
        &[
            Param::Text(&wanted.key),
            Param::Blob(&wanted.fingerprint),
            Param::Int(wanted.slot),
            Param::Int(wanted.id),
        ],
    )?;
    if moved != 1 {
        // Others have given it an end, because this process stood still, or it was never noted.
        return Err(StoreError::Fenced);
    }
    tx.write(&wanted.run, &wanted.line, 1, Tally::default());
    debug_assert_eq!(State::Running as i64, 1);
    Ok(Claimed::Granted)
}

impl Holders {
    /// True when the owner's process has ended, or has not moved for the length of a lease.
    fn is_dead(&mut self, tx: &mut Tx<'_>, owner: i64, me: i64, lease: Duration) -> Result<bool, StoreError> {
        if owner == me {
            return Ok(false);
        }
        if tx.db.is_gone(owner)? {
            return Ok(true);
        }
        let rows = tx.db.query("SELECT beat FROM owners WHERE id = $1", &[Param::Int(owner)])?;
        let Some(row) = rows.first() else { return Ok(true) };
        let beat = row.int(0)?;
        let now = Instant::now();
        let (last, since) = self.0.entry(owner).or_insert((beat, now));
        if *last != beat {
            (*last, *since) = (beat, now);
        }
        Ok(now.duration_since(*since) >= lease)
    }
}
