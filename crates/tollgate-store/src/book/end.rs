//! Every call has one terminal record: its own, or the one that recovery writes for it.

use super::{
    State, Tally, Tx,
    claim::{end_fresh, note_fresh},
};
use crate::{
    StoreError,
    db::Param,
    record::{self, Line},
};

/// The end of a call.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) id: i64,
    pub(crate) run: String,
    pub(crate) state: State,
    pub(crate) line: Vec<u8>,
    pub(crate) tally: Tally,
}

/// What came of writing it.
#[derive(Debug)]
pub(crate) enum Ended {
    Recorded,
    /// There is an end already: this one.
    Superseded(Vec<u8>),
}

/// Writes the terminal record, unless there is one.
pub(crate) fn end(tx: &mut Tx<'_>, ending: &Ending) -> Result<Ended, StoreError> {
    if !end_fresh(tx, ending.id, ending.state)? && !close_open(tx, ending)? {
        let rows = tx.db.query("SELECT state FROM calls WHERE id = $1", &[Param::Int(ending.id)])?;
        if !rows.is_empty() {
            return terminal_of(tx, ending.id).map(Ended::Superseded);
        }
        // Never noted, because noting failed: nothing was claimed, and this is all there is to say.
    }
    tx.write(&ending.run, &ending.line, 1, ending.tally);
    Ok(Ended::Recorded)
}

/// Ends a call that is still open. Its key is free again where nothing took effect.
fn close_open(tx: &mut Tx<'_>, ending: &Ending) -> Result<bool, StoreError> {
    let seq = tx.seq_of(&ending.run);
    let sql = match ending.state {
        State::Released => {
            "UPDATE calls SET state = $1, seq = $2, key = NULL, slot = NULL
             WHERE id = $3 AND state IN (0, 1)"
        }
        _ => "UPDATE calls SET state = $1, seq = $2 WHERE id = $3 AND state IN (0, 1)",
    };
    let numbers = [ending.state as i64, seq, ending.id];
    let closed = tx.db.execute(sql, &numbers.map(Param::Int))? == 1;
    if !closed {
        tx.drop_if_empty(&ending.run);
    }
    Ok(closed)
}

/// The holder went away without an end. `ran` is false where it is certain that the body never began.
pub(crate) fn abandon(tx: &mut Tx<'_>, id: i64, ran: bool) -> Result<(), StoreError> {
    note_fresh(tx)?;
    let rows = tx.db.query(
        "SELECT id, run, state, seq FROM calls WHERE id = $1 AND state IN (0, 1)",
        &[Param::Int(id)],
    )?;
    rows.first().map_or(Ok(()), |row| conclude(tx, row, ran, record::ABANDONED))
}

/// Gives every open call of an owner that is gone its end: `unknown` where it had started, `refused` where not.
/// Nothing is run again.
pub(crate) fn recover(tx: &mut Tx<'_>, owner: i64) -> Result<usize, StoreError> {
    note_fresh(tx)?;
    let (from, to) = record::ids_of(owner);
    let rows = tx.db.query(
        "SELECT id, run, state, seq FROM calls WHERE id >= $1 AND id <= $2 AND state IN (0, 1)",
        &[Param::Int(from), Param::Int(to)],
    )?;
    for row in &rows {
        conclude(tx, row, true, record::RECOVERED)?;
    }
    super::close(tx.db, owner)?;
    Ok(rows.len())
}

fn conclude(tx: &mut Tx<'_>, row: &crate::db::Row, ran: bool, why: &str) -> Result<(), StoreError> {
    let (id, run, seq) = (row.int(0)?, row.text(1)?.to_owned(), row.int(3)?);
    let started = ran && row.int(2)? == State::Running as i64;
    let body = tx.body(seq)?;
    let proposed = record::lines(&body).find(|line| line.is("proposed", id));
    let line = record::concluded(id, proposed.as_ref(), started, why);
    let (state, tally) = if started {
        (State::Unknown, Tally { calls: 1, unknown: 1, ..Tally::default() })
    } else {
        (State::Released, Tally { calls: 1, refused: 1, ..Tally::default() })
    };
    end(tx, &Ending { id, run, state, line, tally }).map(drop)
}

/// The answer in the terminal record of a call.
pub(super) fn terminal_of(tx: &mut Tx<'_>, id: i64) -> Result<Vec<u8>, StoreError> {
    let rows = tx.db.query("SELECT seq FROM calls WHERE id = $1", &[Param::Int(id)])?;
    let seq = rows.first().map_or(Ok(0), |row| row.int(0))?;
    let body = tx.body(seq)?;
    let terminal = record::lines(&body).find(|line| line.is("settled", id));
    terminal.and_then(Line::answer).ok_or_else(|| {
        StoreError::Database(format!("the terminal record of call {id} is not where it was written"))
    })
}
