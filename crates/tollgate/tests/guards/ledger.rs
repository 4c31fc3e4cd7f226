//! The ledger.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tollgate::{
    BoxFuture, Registry, Settled,
    guard::{Claim, End, Fence, Ledger, LedgerFault, Start, Written},
    outcome::{Phase::Execute, RefusalCode::Internal, Status, Trust},
};

use crate::breakers::{sick, well};
use crate::ms;
use crate::world::{Bodies, Count, World, fine, reader, refused, writer};

/// A ledger that fails where it is told to, and keeps the terminal records.
#[derive(Clone, Default)]
struct Faulty {
    start: Fails,
    settle: Fails,
    settled: Arc<Mutex<Vec<(String, bool)>>>,
    by: Arc<Mutex<Vec<Option<String>>>>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Fails {
    #[default]
    Never,
    Properly,
    ByPanic,
    ByHanging,
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
        self.by.lock().unwrap().push(end.by.map(str::to_owned));
        if self.settle == Fails::ByHanging {
            return Box::pin(std::future::pending());
        }
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

#[tokio::test(start_paused = true)]
async fn a_record_names_who_allowed_a_call_only_where_it_ran() {
    for (start, allowed) in [(Fails::Never, true), (Fails::Properly, false)] {
        let ledger = Faulty { start, ..Faulty::default() };
        let by = ledger.by.clone();
        let mut world = World::of(writer("t").answers(&Count::default(), fine()))
            .gate(|gate| gate.ledger(ledger))
            .build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(settled.refusal().is_none(), allowed);
        let by = by.lock().unwrap();
        assert_eq!((by.len(), by[0].is_some()), (1, allowed), "{by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ledger_that_never_answers_takes_no_answer_along() {
    let ledger = Faulty { settle: Fails::ByHanging, ..Faulty::default() };
    let mut world =
        World::of(writer("t").answers(&Count::default(), fine())).gate(|gate| gate.ledger(ledger)).build();
    let settled = world.call("t", json!({})).await;
    assert_eq!(settled.status(), Status::Ok);
    assert!(settled.context.iter().any(|words| words.contains("could not be recorded")), "{settled:?}");
    assert_eq!(world.told("ledger_fault").len(), 1);
}

const COUNTS: &str = r#"{"id":"c1","tool":"t","status":"unknown","reason":"taken for dead",
    "trust":"untrusted_content"}"#;

/// A ledger in which every call already has another end.
struct Overtaken;

impl Ledger for Overtaken {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(std::future::ready(Ok(Claim::Granted(Fence(1)))))
    }

    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        // Whoever asks for the hash of an answer that does not count gets the one of the answer that does later.
        let _ = end.settled.evidence_ref();
        let counts = Settled::restore(COUNTS.as_bytes()).unwrap();
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
    assert_eq!(settled.trust, Trust::UntrustedContent);
    assert_eq!(settled.evidence_ref(), Settled::restore(COUNTS.as_bytes()).unwrap().evidence_ref());
}

/// A ledger that has every call's answer already.
struct Knowing;

impl Ledger for Knowing {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(std::future::ready(Ok(Claim::Replay(Settled::restore(COUNTS.as_bytes()).unwrap()))))
    }

    fn settle<'a>(&'a self, _: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        Box::pin(std::future::ready(Ok(Written::Recorded)))
    }

    fn abandon(&self, _: Fence) {}
}

#[tokio::test(start_paused = true)]
async fn what_was_not_to_be_trusted_is_not_when_it_is_told_again() {
    let mut world =
        World::of(writer("t").answers(&Count::default(), fine())).gate(|gate| gate.ledger(Knowing)).build();
    let settled = world.call("t", json!({})).await;
    assert_eq!((settled.replayed, settled.trust), (true, Trust::UntrustedContent));
}

/// A ledger that takes its time to write an end, and fails where a claim is given up.
#[derive(Clone, Default)]
struct Sluggish {
    given_up: Count,
}

impl Ledger for Sluggish {
    fn start(&self, _: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>> {
        Box::pin(std::future::ready(Ok(Claim::Granted(Fence(1)))))
    }

    fn settle<'a>(&'a self, _: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>> {
        Box::pin(async {
            tokio::time::sleep(ms(1000)).await;
            Ok(Written::Recorded)
        })
    }

    fn abandon(&self, _: Fence) {
        self.given_up.up();
        unreachable!("a bug in the ledger");
    }
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_the_end_is_being_written_gives_the_claim_up() {
    for (patience, given_up) in [(500, 1), (5000, 0)] {
        let ledger = Sluggish::default();
        let count = ledger.given_up.clone();
        let mut world = World::of(writer("t").answers(&Count::default(), fine()))
            .gate(|gate| gate.ledger(ledger))
            .build();
        let answered = tokio::time::timeout(ms(patience), world.call("t", json!({}))).await;
        assert_eq!((answered.is_err(), count.get()), (given_up == 1, given_up));
    }
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_the_end_is_being_written_is_still_told_of_by_its_own_id() {
    let tool = writer("t").answers(&Count::default(), fine());
    let mut world = World::of(tool).gate(|gate| gate.ledger(Sluggish::default())).build();
    let answered = tokio::time::timeout(ms(500), world.call("t", json!({}))).await;
    assert!(answered.is_err());
    let told: Vec<_> = world.told("executed").iter().map(|event| event["call"].clone()).collect();
    assert_eq!(told, [json!("c1")]);
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
