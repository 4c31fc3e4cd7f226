//! Memory over a million calls: flat, or something is kept that nobody asked for.

use std::sync::Arc;

use tollgate::{
    Proposed, Scope, Tollgate,
    guard::{Run, Workspace},
};

use crate::{
    path::gate,
    table::{Measure, Row, wanted},
};

const EARLY: u32 = 100_000;
const LATE: u32 = 1_000_000;
const CALLS_PER_TURN: u32 = 100;

/// The row about memory.
pub(crate) fn rows(runtime: &tokio::runtime::Runtime) -> Vec<Row> {
    let name = "after 1,000,000 calls, one observer";
    if !wanted(name) {
        return Vec::new();
    }
    let gate = gate(1, None);
    let seen = gate.observe(1_000);
    let observer = std::thread::spawn(move || seen.for_each(|_| {}));
    let mut scope = Scope::new(Run::new("memory"), Workspace::new("/tmp"));
    let early = runtime.block_on(call(&gate, &mut scope, 0..EARLY));
    let late = runtime.block_on(call(&gate, &mut scope, EARLY..LATE));
    drop(gate);
    let _ = observer.join();
    vec![Row::ratio(name, "after 100,000 calls", early, late, Some(1.05))]
}

/// Calls with ids and arguments of their own, as turns go by; then the memory that is in use.
async fn call(gate: &Tollgate, scope: &mut Scope, numbers: std::ops::Range<u32>) -> Measure {
    let mut turn = Arc::new(scope.clone());
    for number in numbers {
        if number % CALLS_PER_TURN == 0 {
            scope.turn += 1;
            turn = Arc::new(scope.clone());
        }
        let call = Proposed::new(format!("call_{number}"), "add", format!(r#"{{"a":{number},"b":30}}"#));
        let settled = gate.call(&turn, call).await;
        assert!(settled.output().is_some(), "{:?}", settled.outcome);
    }
    resident()
}

/// The resident set, with the page size of every machine this is built for.
fn resident() -> Measure {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u32 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number of pages");
    Measure::Kibibytes(pages * 4)
}
