//! A turn of a thousand ten-millisecond tools against the same sleeps with nothing around them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Registry, Scope, Tollgate, Tool, ToolSpec,
    guard::{Run, Workspace},
    policy::Rules,
};

use crate::table::{Row, wanted};

const CALLS: usize = 1_000;
const NAP: Duration = Duration::from_millis(10);

/// The rows about a turn.
pub(crate) fn rows() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    let _inside = runtime.enter();
    let mut rows = Vec::new();
    for (name, cap, inline, rounds, limit) in [
        ("1,000 tools of 10 ms, 10 at once", 10, false, 5_u32, Some(1.02)),
        ("1,000 tools of 10 ms, all at once", CALLS, false, 100, Some(1.15)),
        ("1,000 tools of 10 ms, all at once, inline", CALLS, true, 100, None),
    ] {
        if !wanted(name) {
            continue;
        }
        let gate = gate(cap, inline);
        let bare = |()| {
            let naps = futures_util::stream::iter(0..CALLS).map(|_| tokio::time::sleep(NAP));
            runtime.block_on(naps.buffer_unordered(cap).for_each(|()| std::future::ready(())));
        };
        let turn = |(scope, calls): (Arc<Scope>, Vec<Proposed>)| {
            let answers = runtime.block_on(gate.turn(&scope).run(calls));
            assert!(answers.len() == CALLS && answers.iter().all(|answer| answer.output().is_some()));
            answers
        };
        let times = (0..rounds).map(|round| (timed(round, bare, ()), timed(round, turn, turn_of_naps())));
        let (floors, figures): (Vec<_>, Vec<_>) = times.unzip();
        let (floor, figure) = (median(floors), median(figures));
        let floor_name = format!("buffer_unordered({cap}) over bare sleeps");
        rows.push(Row::ratio(name, &floor_name, floor, figure, limit));
    }
    rows
}

/// The timer wakes sleepers at whole milliseconds, and what begins where something else ended begins at the same moment between
/// two of them each time, a lucky one or not. So each round begins at another moment, and the median is what counts.
/// `input` is made before, and what comes out is let go after: both are whoever asks's own.
fn timed<T, R>(round: u32, work: impl Fn(T) -> R, input: T) -> Duration {
    let moment = Duration::from_micros(u64::from(round * 370 % 1_000));
    let ended = Instant::now();
    while ended.elapsed() < moment {
        std::hint::spin_loop();
    }
    let began = Instant::now();
    let made = work(input);
    let took = began.elapsed();
    drop(made);
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Sleeps for ten milliseconds.
struct Nap {
    inline: bool,
}

#[derive(Deserialize)]
struct NapArgs {}

impl Tool for Nap {
    type Args = NapArgs;

    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object"});
        let mut spec = ToolSpec::new("nap", "Sleeps.", schema).expect("a legal name");
        spec.inline = self.inline;
        spec
    }

    fn effects(&self, _: &Scope, _: &NapArgs) -> Effects {
        Effects::reading()
    }

    async fn run(&self, _: &Cx, _: &NapArgs) -> Result<Output, Failure> {
        tokio::time::sleep(NAP).await;
        Ok(Output::text("slept"))
    }
}

fn gate(cap: usize, inline: bool) -> Tollgate {
    let registry = Registry::new().with(Nap { inline }).expect("registers");
    let rules = Rules::new().allow("nap").expect("a rule");
    Tollgate::builder(registry).policy(rules).max_concurrency(cap).build()
}

fn turn_of_naps() -> (Arc<Scope>, Vec<Proposed>) {
    let scope = Scope::new(Run::new("naps"), Workspace::new("/tmp"));
    let calls = (0..CALLS).map(|at| Proposed::new(format!("call_{at}"), "nap", "{}")).collect();
    (Arc::new(scope), calls)
}
