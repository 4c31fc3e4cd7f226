//! PostgreSQL, by URL: for stores that processes of several machines share.

use std::{collections::HashMap, error::Error, time::Duration};

use postgres::{
    Client, NoTls, Statement,
    types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked},
};

use super::{
    Cell, Db, Durability, Param, Row,
    tls::{Wish, wish},
};
use crate::StoreError;

/// Advisory locks of this store, apart from those of anyone else, and of other stores, in the same database.
const LOCK_SPACE: &str = "hashtext('tollgate ' || current_schema())";

pub(crate) struct Postgres {
    client: Client,
    place: String,
    patience: Duration,
    prepared: HashMap<String, Statement>,
}

impl Postgres {
    /// Connects. The URL may name a schema with `options=-csearch_path%3Dname`.
    ///
    /// A process that stands still inside a transaction would keep everyone from writing: the server ends its
    /// session after a while, and with it its claims.
    pub(crate) fn connect(url: &str, patience: Duration) -> Result<Self, StoreError> {
        let Wish { config, tls } = wish(url)?;
        let place = format!("postgres database {}", config.get_dbname().unwrap_or("of the user"));
        let client = match tls {
            None => config.connect(NoTls),
            Some(tls) => config.connect(tls),
        };
        let mut client = client.map_err(|error| tell(&place, patience, &error))?;
        let limits = format!(
            "SET lock_timeout = {0}; SET idle_in_transaction_session_timeout = {1}",
            patience.as_millis(),
            patience.as_millis() / 2
        );
        client.batch_execute(&limits).map_err(|error| tell(&place, patience, &error))?;
        Ok(Self { client, place, patience, prepared: HashMap::new() })
    }

    fn prepared(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).map_err(|error| tell(&self.place, self.patience, &error))?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn simple(&mut self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).map_err(|error| tell(&self.place, self.patience, &error))
    }

    fn ask(&mut self, sql: &str) -> Result<i64, StoreError> {
        let row =
            self.client.query_one(sql, &[]).map_err(|error| tell(&self.place, self.patience, &error))?;
        row.try_get::<_, i64>(0).map_err(|error| tell(&self.place, self.patience, &error))
    }
}

impl Db for Postgres {
    fn begin(&mut self, sync: Durability) -> Result<(), StoreError> {
        // The one row of `head` stands for the right to write: whoever holds it is alone.
        let on = if sync == Durability::Full { "on" } else { "off" };
        let begin = format!("BEGIN; SET LOCAL synchronous_commit = {on}; SELECT seq FROM head FOR UPDATE");
        let begun = self.simple(&begin);
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.simple("COMMIT")
    }

    fn rollback(&mut self) {
        let _ = self.simple("ROLLBACK");
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepared(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| param as _).collect();
        self.client.execute(&statement, &params).map_err(|error| tell(&self.place, self.patience, &error))
    }

    fn query(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepared(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|param| param as _).collect();
        let rows = self
            .client
            .query(&statement, &params)
            .map_err(|error| tell(&self.place, self.patience, &error))?;
        rows.iter().map(|row| cells(row).map_err(|error| tell(&self.place, self.patience, &error))).collect()
    }

    fn migrate(&mut self, sql: &str) -> Result<(), StoreError> {
        self.simple(&sql.replace("BLOB", "BYTEA").replace("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY"))
    }

    fn has_tables(&mut self) -> Result<bool, StoreError> {
        self.ask("SELECT (to_regclass('meta') IS NOT NULL)::int::bigint").map(|found| found == 1)
    }

    fn hold(&mut self, owner: i64) -> Result<(), StoreError> {
        let taken = self.ask(&format!("SELECT pg_try_advisory_lock({LOCK_SPACE}, {owner})::int::bigint"))?;
        if taken == 1 {
            Ok(())
        } else {
            Err(StoreError::Database(format!("the mark of owner {owner} is taken")))
        }
    }

    fn is_gone(&mut self, owner: i64) -> Result<bool, StoreError> {
        let free =
            self.ask(&format!("SELECT pg_try_advisory_lock({LOCK_SPACE}, {owner})::int::bigint"))? == 1;
        if free {
            self.release(owner);
        }
        Ok(free)
    }

    fn release(&mut self, owner: i64) {
        let _ = self.ask(&format!("SELECT pg_advisory_unlock({LOCK_SPACE}, {owner})::int::bigint"));
    }

    fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    fn size(&mut self) -> Result<i64, StoreError> {
        self.ask("SELECT pg_database_size(current_database())::bigint")
    }
}

fn cells(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let cell = |at: usize| {
        Ok(match *row.columns()[at].type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map_or(Cell::Null, Cell::Int),
            Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map_or(Cell::Null, |n| Cell::Int(n.into())),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map_or(Cell::Null, Cell::Blob),
            _ => row.try_get::<_, Option<String>>(at)?.map_or(Cell::Null, Cell::Text),
        })
    };
    (0..row.len()).map(cell).collect::<Result<_, _>>().map(Row)
}

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Int(number) if *ty == Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
            Self::Int(number) => number.to_sql(ty, out),
            Self::Text(text) => text.to_sql(ty, out),
            Self::Blob(bytes) => bytes.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn tell(place: &str, patience: Duration, error: &postgres::Error) -> StoreError {
    use postgres::error::SqlState;
    let place = place.to_owned();
    let mut cause = error.source();
    while let Some(this) = cause {
        if is_about_tls(this) {
            return StoreError::Tls { place, why: this.to_string() };
        }
        cause = this.source();
    }
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full { place },
        Some(&SqlState::LOCK_NOT_AVAILABLE) => StoreError::Busy { place, waited: patience },
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => StoreError::ReadOnly { place },
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            StoreError::Corrupt { place, why: error.to_string() }
        }
        _ => {
            let cause = error.source().map_or(String::new(), |cause| format!(": {cause}"));
            StoreError::Database(format!("{place}: {error}{cause}"))
        }
    }
}

/// True for a handshake that did not come about. The client tells a server without TLS only by its words.
fn is_about_tls(cause: &(dyn Error + 'static)) -> bool {
    let inner = cause.downcast_ref::<std::io::Error>().and_then(|error| error.get_ref());
    inner.is_some_and(|inner| inner.is::<rustls::Error>())
        || cause.is::<rustls::Error>()
        || cause.to_string().contains("server does not support TLS")
}
