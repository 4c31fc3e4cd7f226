//! The ledger.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tollgate::{
    BoxFuture, Registry, Settled,
    guard::{Claim, End, Fence, Ledger, LedgerFault, Start, Written},
    outcome::{Phase::Execute, RefusalCode::Internal, Status},
};

use crate::breakers::{sick, well};
use crate::world::{Bodies, Count, World, fine, reader, refused, writer};

/// A ledger that fails where it is told to, and keeps the terminal records.
#[derive(Clone, Default)]
struct Faulty {
    start: Fails,
    settle: Fails,
    settled: Arc<Mutex<Vec<(String, bool)>>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Fails {
    #[default]
    Never,
    Properly,
    ByPanic,
}

impl Fails {
    fn now(self) -> Result<(), LedgerFault> {
        assert!(self != Fails::ByPanic, "a bug in the ledger");
        if self == Fails::Properly { Err(LedgerFault("the disk is full".into())) } else { Ok(()) }
    }
}

impl Ledger for Faulty {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        let claim = self.start.now().map(|()| Claim::Granted(Fence(1)));
        Box::pin(std::future::ready(claim))
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        self.settled.lock().unwrap().push((end.settled.id.to_string(), end.fence.is_some()));
        Box::pin(std::future::ready(self.settle.now().map(|()| Written::Recorded)))
    }

    fn abandon(&self, _: Fence) {}
}

#[tokio::test(start_paused = true)]
async fn nothing_with_an_effect_runs_when_its_start_cannot_be_recorded() {
    for start in [Fails::Properly, Fails::ByPanic] {
        let runs = Count::default();
        let ledger = Faulty { start, ..Faulty::default() };
        let mut world =
            World::of(writer("t").answers(&runs, fine())).gate(|gate| gate.ledger(ledger)).build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(refused(&settled), (Execute, Internal));
        assert!(!settled.refusal().unwrap().reason.contains("the disk is full"));
        assert_eq!((runs.get(), world.told("ledger_fault").len()), (0, 1));
    }
}

/// A ledger in which every call already has another end.
struct Overtaken;

impl Ledger for Overtaken {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(std::future::ready(Ok(Claim::Granted(Fence(1)))))
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        let stored =
            format!(r#"{{"id":"{}","tool":"t","status":"unknown","reason":"taken for dead"}}"#, end.call.id);
        let counts = Settled::restore(stored.as_bytes()).unwrap();
        Box::pin(std::future::ready(Ok(Written::Superseded(counts))))
    }

    fn abandon(&self, _: Fence) {}
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_holder_was_taken_for_dead_is_answered_as_others_were_told() {
    let runs = Count::default();
    let mut world = World::of(writer("t").answers(&runs, fine())).gate(|gate| gate.ledger(Overtaken)).build();
    let settled = world.call("t", json!({})).await;
    assert_eq!((settled.status(), runs.get()), (Status::Unknown, 1));
    assert_eq!(settled.failure().unwrap().message, "taken for dead");
}

#[tokio::test(start_paused = true)]
async fn an_answer_stands_when_its_end_cannot_be_recorded_and_the_fault_is_told() {
    for settle in [Fails::Properly, Fails::ByPanic] {
        let runs = Count::default();
        let ledger = Faulty { settle, ..Faulty::default() };
        let mut world =
            World::of(writer("t").answers(&runs, fine())).gate(|gate| gate.ledger(ledger)).build();
        assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
        assert_eq!((runs.get(), world.told("ledger_fault").len()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_has_exactly_one_terminal_record() {
    let registry = Registry::new()
        .with(well(reader("read")))
        .and_then(|registry| registry.with(sick(writer("write"))))
        .unwrap();
    let ledger = Faulty::default();
    let records = ledger.settled.clone();
    let mut world = World::with(registry).gate(|gate| gate.ledger(ledger)).build();
    for (tool, input) in [("read", "{}"), ("write", "{}"), ("nothing", "{}"), ("read", "[")] {
        let _ = world.propose(tool, input).await;
    }
    let expected = [("c1", false), ("c2", true), ("c3", false), ("c4", false)];
    assert_eq!(*records.lock().unwrap(), expected.map(|(id, claimed)| (id.to_owned(), claimed)));
}
