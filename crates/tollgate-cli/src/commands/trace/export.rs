//! `tollgate trace export`: records as JSON Lines, or runs as OpenTelemetry spans.

use serde_json::json;
use tollgate_store::{RunTrace, Store};

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
    for run in runs {
        let entries = store.journal(&run, 0).map_err(|error| store::fault(&error))?;
        match export.otlp.as_deref() {
            None => {
                for entry in &entries {
                    for line in entry.lines() {
                        words::data(&words::json(&json!({"run": run, "seq": entry.seq, "record": line})))?;
                    }
                }
            }
            Some("-") => words::data(&otlp::request(&RunTrace::of(&run, &entries)).to_string())?,
            Some(url) => otlp::send(url, &otlp::request(&RunTrace::of(&run, &entries)))?,
        }
    }
    Ok(Exit::Done)
}
