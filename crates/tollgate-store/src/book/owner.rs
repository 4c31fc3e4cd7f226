//! Who has the store open: a mark the kernel, or the database server, lets go of when its process ends.

use crate::{
    StoreError,
    db::{Db, Param, in_transaction},
};

/// Registers this process. The mark is held before anyone can see the owner.
pub(crate) fn register(db: &mut dyn Db) -> Result<i64, StoreError> {
    in_transaction(db, |db| {
        let rows = db.query("SELECT owner FROM head", &[])?;
        let last = rows.first().map_or(Ok(0), |row| row.int(0))?;
        let owner = last + 1;
        db.hold(owner)?;
        db.execute("UPDATE head SET owner = $1", &[Param::Int(owner)])?;
        db.execute(
            "INSERT INTO owners (id, pid, began, beat, ended) VALUES ($1, $2, $3, 0, NULL)",
            &[Param::Int(owner), Param::Int(i64::from(std::process::id())), Param::Int(crate::now_ms())],
        )?;
        Ok(owner)
    })
}

/// Shows that this process still moves. False when others have taken it for dead.
pub(crate) fn beat(db: &mut dyn Db, owner: i64) -> Result<bool, StoreError> {
    let told = in_transaction(db, |db| {
        db.execute("UPDATE owners SET beat = beat + 1 WHERE id = $1 AND ended IS NULL", &[Param::Int(owner)])
    })?;
    Ok(told == 1)
}

/// Owners that never said goodbye and whose mark nobody holds, and those that are forgotten and left calls open: a
/// process that stood still wrote under its old number before it knew.
pub(crate) fn gone_owners(db: &mut dyn Db) -> Result<Vec<i64>, StoreError> {
    let mut gone = Vec::new();
    for row in db.query("SELECT id FROM owners WHERE ended IS NULL", &[])? {
        let owner = row.int(0)?;
        if db.is_gone(owner)? {
            gone.push(owner);
        }
    }
    let forgotten = "SELECT DISTINCT id / 4294967296 FROM calls
                     WHERE state IN (0, 1) AND id / 4294967296 NOT IN (SELECT id FROM owners)";
    for row in db.query(forgotten, &[])? {
        gone.push(row.int(0)?);
    }
    Ok(gone)
}

/// The owner has ended, and its mark can go.
pub(crate) fn close(db: &mut dyn Db, owner: i64) -> Result<(), StoreError> {
    // What an ended owner leaves behind is one row a process; those without open calls tell nothing more.
    db.execute("DELETE FROM owners WHERE id = $1", &[Param::Int(owner)])?;
    Ok(())
}
