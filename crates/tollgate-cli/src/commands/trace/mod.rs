//! `tollgate trace`: what was recorded, for whoever asks what was done and who allowed it.

use std::time::Duration;

use tollgate_store::{Report, Store};

use crate::{
    args::{Shared, Trace, TracePrune},
    exit::{Exit, Fault},
    store, words,
};

mod list;
mod show;
mod export;
mod otlp;
mod protobuf;
pub(super) mod replay;

pub(crate) fn run(trace: &Trace, shared: &Shared) -> Result<Exit, Fault> {
    let opened = match trace {
        Trace::List(_) => store::open_to_list()?,
        Trace::Prune(_) => Some(store::open()?),
        _ => Some(store::open_to_look()?),
    };
    let Some(store) = opened else { return Ok(Exit::Done) };
    let exit = match trace {
        Trace::List(list) => list::run(list, shared, &store),
        Trace::Show(show) => show::run(show, shared, &store),
        Trace::Export(export) => export::run(export, &store),
        Trace::Replay(replay) => replay::run(replay, shared, &store),
        Trace::Verify(_) => verify(shared, &store),
        Trace::Prune(wanted) => prune(wanted, shared, &store),
    };
    store.close();
    exit
}

/// The run that is meant: by its name, by how it begins, or the latest.
pub(super) fn meant(store: &Store, given: Option<&str>) -> Result<String, Fault> {
    let runs = store.runs(100_000).map_err(|error| store::fault(&error))?;
    let hint = "`tollgate trace list` shows the runs.";
    let Some(given) = given else {
        let latest = runs.into_iter().next().map(|run| run.run);
        return latest.ok_or_else(|| Fault::input("no run is recorded", "run `tollgate call` first."));
    };
    let known = runs.iter().any(|run| run.run == given);
    // One whose first call is still on its way is not in the list yet.
    if known || store.journal(given, 0).is_ok_and(|entries| !entries.is_empty()) {
        return Ok(given.to_owned());
    }
    let mut begin = runs.iter().filter(|run| run.run.starts_with(given));
    match (begin.next(), begin.count()) {
        (Some(run), 0) => Ok(run.run.clone()),
        (None, _) => Err(Fault::usage(format!("no run is called {given:?}"), hint)),
        (Some(_), more) => {
            Err(Fault::usage(format!("{} runs begin with {given:?}", more + 1), "give more of its name."))
        }
    }
}

fn verify(shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let report = store.verify().map_err(|error| store::fault(&error))?;
    let exit = if report.is_readable() { Exit::Done } else { Exit::Failed };
    if shared.json {
        return words::data(&words::json(&report)).map(|()| exit);
    }
    let found = match &report.broken {
        None => format!(
            "whole: {} records in {} rows, {} of them pruned",
            report.records, report.rows, report.pruned
        ),
        Some(broken) => format!("broken at row {}: {}", broken.seq, broken.why),
    };
    let unread = report.first_unreadable.map_or(String::new(), |row| {
        let count = report.unreadable;
        format!(
            "\nnot readable: {count} of its records, the first in row {row}; what they tell is in no trace"
        )
    });
    words::data(&format!("{found}{unread}\nhead: {}\n", report.head))?;
    words::talk(Report::honestly());
    Ok(exit)
}

fn prune(wanted: &TracePrune, shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let age = Duration::from_secs(wanted.older_than.saturating_mul(24 * 3600));
    let pruned = store.prune(age).map_err(|error| store::fault(&error))?;
    words::data(&if shared.json {
        words::json(&pruned)
    } else {
        format!("{} runs pruned: {} rows, {} bytes of records", pruned.runs, pruned.rows, pruned.bytes)
    })?;
    Ok(Exit::Done)
}

/// A time for people: UTC, to the second.
pub(in crate::commands) fn time(ms: i64) -> String {
    let (days, second) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000) / 1_000);
    // Days since 1970 to a date, by the civil calendar.
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}
