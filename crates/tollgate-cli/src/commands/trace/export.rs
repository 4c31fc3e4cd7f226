//! `tollgate trace export`: records as JSON Lines, or runs as OpenTelemetry spans.

use serde_json::json;
use tollgate_store::{RunTrace, Store, Unreadable};

use super::{meant, otlp};
use crate::{
    args::TraceExport,
    exit::{Exit, Fault},
    store, words,
};

pub(crate) fn run(export: &TraceExport, store: &Store) -> Result<Exit, Fault> {
    let runs = match &export.run {
        Some(run) => vec![meant(store, Some(run))?],
        None => {
            let runs = store.runs(usize::MAX).map_err(|error| store::fault(&error))?;
            runs.into_iter().rev().map(|run| run.run).collect()
        }
    };
    let mut unreadable = 0;
    for run in runs {
        let entries = store.journal(&run, 0).map_err(|error| store::fault(&error))?;
        match export.otlp.as_deref() {
            None => {
                for entry in &entries {
                    for record in entry.records() {
                        words::data(&words::json(&match record {
                            Ok(line) => json!({"run": run, "seq": entry.seq, "record": line}),
                            Err(Unreadable(line)) => {
                                unreadable += 1;
                                json!({"run": run, "seq": entry.seq, "unreadable": String::from_utf8_lossy(line)})
                            }
                        }))?;
                    }
                }
            }
            Some(to) => {
                let tree = RunTrace::of(&run, &entries);
                unreadable += tree.unreadable;
                match to {
                    "-" => words::data(&otlp::request(&tree).to_string())?,
                    url => otlp::send(url, &otlp::request(&tree))?,
                }
            }
        }
    }
    if unreadable > 0 {
        words::talk(&format!(
            "note: {unreadable} records cannot be read; `tollgate trace verify` names the first row."
        ));
    }
    Ok(Exit::Done)
}
