//! Cancellation.

use std::sync::Arc;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tollgate::{
    Output,
    guard::Run,
    outcome::{Phase::Execute, RefusalCode::Cancelled, Status},
};

use crate::world::{Bodies, Count, World, fine, reader, refused, text, writer};
use crate::{GRACE, ms, total, within};

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_before_it_starts_is_refused_and_nothing_runs() {
    for builder in [reader("t"), writer("t")] {
        let runs = Count::default();
        let mut world = World::of(builder.answers(&runs, fine())).build();
        world.scope.run.token().cancel();
        assert_eq!(refused(&world.call("t", json!({})).await), (Execute, Cancelled));
        assert_eq!(runs.get(), 0);
    }
}

// In real time, as durations are.
#[tokio::test]
async fn a_call_that_waited_for_its_place_in_vain_says_how_long() {
    let mut world = World::of(writer("t").takes(&Count::default(), ms(60_000))).build();
    let (first, second) = (world.proposed("t", "{}"), world.proposed("t", "{}"));
    let (gate, scope) = (world.gate.clone(), world.scope());
    let token = scope.run.token().clone();
    let stop = async {
        tokio::time::sleep(ms(150)).await;
        token.cancel();
    };
    let (_, waited, ()) = tokio::join!(gate.call(&scope, first), gate.call(&scope, second), stop);
    assert_eq!(refused(&waited), (Execute, Cancelled));
    assert!(waited.duration >= ms(100), "{:?}", waited.duration);
}

#[tokio::test(start_paused = true)]
async fn a_call_cancelled_while_it_waits_for_its_place_is_refused_and_nothing_of_it_runs() {
    let runs = Count::default();
    let mut world = World::of(writer("t").takes(&runs, ms(1000))).build();
    let (first, second) = (world.proposed("t", "{}"), world.proposed("t", "{}"));
    let (gate, scope) = (world.gate.clone(), world.scope());
    let mut stopped = world.scope.clone();
    stopped.run = Run::new("stopped");
    let token = stopped.run.token().clone();
    let stop = async {
        tokio::time::sleep(ms(500)).await;
        token.cancel();
    };
    let stopped = Arc::new(stopped);
    let (first, second, ()) = tokio::join!(gate.call(&scope, first), gate.call(&stopped, second), stop);
    assert_eq!((first.status(), refused(&second)), (Status::Ok, (Execute, Cancelled)));
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_cancelled_midway_may_be_repeated_and_a_write_is_unknown() {
    for (builder, expected) in [(reader("t"), Status::RetryableError), (writer("t"), Status::Unknown)] {
        let mut world = World::of(builder.hangs(&Count::default())).build();
        let token = world.scope.run.token().clone();
        let stop = async {
            tokio::time::sleep(ms(100)).await;
            token.cancel();
        };
        let began = Instant::now();
        let (settled, ()) = tokio::join!(world.call("t", json!({})), stop);
        assert_eq!((settled.status(), began.elapsed()), (expected, ms(100) + GRACE));
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_stops_reaches_the_body_through_run_and_call() {
    let tool = writer("t").run(|cx, _| {
        Box::pin(async move {
            cx.cancelled().await;
            Ok(Output::text("stopped cleanly"))
        })
    });
    let session = CancellationToken::new();
    let mut world = World::of(tool).run(Run::builder("run").under(&session).build()).build();
    let stop = async {
        tokio::time::sleep(ms(100)).await;
        session.cancel();
    };
    let (settled, ()) = tokio::join!(world.call("t", json!({})), stop);
    assert_eq!(text(&settled), "stopped cleanly");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_stops_one_call_and_not_its_run() {
    let mut world = World::of(within(reader("t"), total(ms(100))).hangs(&Count::default())).build();
    let _ = world.call("t", json!({})).await;
    assert!(!world.scope.run.token().is_cancelled());
}
