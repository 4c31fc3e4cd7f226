//! `tollgate trace list`: the latest runs, a line each.

use tollgate_store::Store;

use super::time;
use crate::{
    args::{Shared, TraceList},
    exit::{Exit, Fault},
    store, words,
};

pub(crate) fn run(list: &TraceList, shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let runs = store.runs(list.limit).map_err(|error| store::fault(&error))?;
    let lines: Vec<String> = runs
        .iter()
        .map(|run| {
            if shared.json {
                return words::json(run);
            }
            let counts =
                [("ok", run.ok), ("refused", run.refused), ("failed", run.failed), ("unknown", run.unknown)];
            let counts: Vec<String> = counts
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(word, count)| format!("{count} {word}"))
                .collect();
            let calls = if run.calls == 1 { "1 call" } else { &format!("{} calls", run.calls) };
            format!("{}  {}  {calls}: {}", time(run.latest_ms), words::visible(&run.run), counts.join(", "))
        })
        .collect();
    if lines.is_empty() {
        let none = if list.limit == 0 { "note: --limit 0 shows none." } else { "note: no run is recorded." };
        words::talk(none);
        return Ok(Exit::Done);
    }
    words::data(&lines.join("\n")).map(|()| Exit::Done)
}
