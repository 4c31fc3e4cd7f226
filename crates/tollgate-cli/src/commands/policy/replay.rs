//! `tollgate policy replay`: which recorded calls today's rules would decide otherwise. Runs nothing.

use tollgate_store::{RunTrace, Store};

use crate::{
    args::{PolicyReplay, Shared},
    commands::trace::{meant, replay},
    exit::{Exit, Fault},
    store, words,
};

/// No week has more runs that anyone would wait for.
const MOST_RUNS: usize = 100_000;

pub(crate) fn run(wanted: &PolicyReplay, shared: &Shared) -> Result<Exit, Fault> {
    let store = store::open_to_look()?;
    let done = over(wanted, shared, &store);
    store.close();
    done
}

fn over(wanted: &PolicyReplay, shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let runs = match &wanted.run {
        Some(run) => vec![meant(store, Some(run))?],
        None => recent(store, wanted.days)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let mut sum = replay::Sum::default();
    runtime.block_on(async {
        let world = replay::today(shared).await?;
        for run in &runs {
            let entries = store.journal(run, 0).map_err(|error| store::fault(&error))?;
            for call in &RunTrace::of(run, &entries).calls {
                let mut line = replay::one(&world, call).await;
                sum.add(&line);
                if line["changed"] == true || wanted.all {
                    line["run"] = run.as_str().into();
                    words::data(&if shared.json { line.to_string() } else { replay::told(&line) })?;
                }
            }
        }
        Ok::<_, Fault>(())
    })?;
    words::talk(&format!(
        "{} of {} calls in {} runs would be decided differently by today's rules.{}",
        sum.changed,
        sum.calls,
        runs.len(),
        sum.unjudged()
    ));
    Ok(if wanted.strict && sum.changed > 0 { Exit::Failed } else { Exit::Done })
}

fn recent(store: &Store, days: u64) -> Result<Vec<String>, Fault> {
    let since = i64::try_from(days.saturating_mul(24 * 3_600_000)).unwrap_or(i64::MAX);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_millis();
    let from = i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(since);
    let runs = store.runs(MOST_RUNS).map_err(|error| store::fault(&error))?;
    // The earliest first: as it happened.
    Ok(runs.into_iter().rev().filter(|run| run.latest_ms >= from).map(|run| run.run).collect())
}
