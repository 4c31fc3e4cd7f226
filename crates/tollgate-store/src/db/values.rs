//! Values to and from SQLite, and its errors in our words.

use std::{path::Path, time::Duration};

use rusqlite::{ErrorCode, types::ValueRef};

use super::{Cell, Param};
use crate::StoreError;

pub(super) fn bind(
    statement: &mut rusqlite::Statement<'_>,
    params: &[Param<'_>],
) -> Result<(), rusqlite::Error> {
    for (at, param) in params.iter().enumerate() {
        match param {
            Param::Int(number) => statement.raw_bind_parameter(at + 1, number)?,
            Param::Text(text) => statement.raw_bind_parameter(at + 1, text)?,
            Param::Blob(bytes) => statement.raw_bind_parameter(at + 1, bytes)?,
        }
    }
    Ok(())
}

pub(super) fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Int(number),
        #[expect(clippy::cast_possible_truncation, reason = "no column of ours holds fractions")]
        ValueRef::Real(number) => Cell::Int(number as i64),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
    }
}

pub(super) fn tell(file: &Path, patience: Duration, error: &rusqlite::Error) -> StoreError {
    let place = file.display().to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { place, why: error.to_string() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { place },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { place },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { place, waited: patience }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError::Io {
            path: file.to_owned(),
            source: std::io::Error::new(std::io::ErrorKind::PermissionDenied, error.to_string()),
        },
        _ => StoreError::Database(error.to_string()),
    }
}
