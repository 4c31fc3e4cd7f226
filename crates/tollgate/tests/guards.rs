//! What stands between a permit and a body: each guard, seen from outside, fails its test when it is taken out.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

mod world;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tollgate::{
    BoxFuture, Failure, Output, Registry, Settled,
    guard::{
        BreakerKey, BreakerSettings, BreakerState, Budget, Claim, End, Fence, Ledger, LedgerFault,
        MemoryLedger, Repetition, RetryPolicy, Run, Start, Written,
    },
    outcome::{
        Phase::{Execute, Permit},
        RefusalCode::{self, BudgetExhausted, Cancelled, CircuitOpen, IdempotencyConflict, Internal},
        Status,
    },
    tool::{Caller, Origin, Route, Timeouts, ToolBuilder},
};
use world::{Bodies, Count, World, fine, reader, refused, text, writer};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How long a body that was told to stop may take.
const GRACE: Duration = ms(250);

fn within(builder: ToolBuilder, timeouts: Timeouts) -> ToolBuilder {
    builder.spec(|spec| spec.timeouts = timeouts)
}

fn total(limit: Duration) -> Timeouts {
    Timeouts { total: limit, ..Timeouts::default() }
}

// Deadlines

#[tokio::test(start_paused = true)]
async fn a_read_that_does_not_finish_may_be_repeated_and_a_write_may_not() {
    for (builder, expected) in [(reader("t"), Status::RetryableError), (writer("t"), Status::Unknown)] {
        let mut world = World::of(within(builder, total(ms(100))).hangs(&Count::default())).build();
        let began = Instant::now();
        let settled = world.call("t", json!({})).await;
        assert_eq!(settled.status(), expected);
        assert_eq!(began.elapsed(), ms(100) + GRACE);
        assert!(settled.failure().unwrap().message.contains("did not finish within 100ms"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_holds_for_a_body_on_the_callers_own_task_too() {
    let builder = within(reader("t"), total(ms(100))).spec(|spec| spec.inline = true);
    let mut world = World::of(builder.hangs(&Count::default())).build();
    let began = Instant::now();
    assert_eq!(world.call("t", json!({})).await.status(), Status::RetryableError);
    assert_eq!(began.elapsed(), ms(100) + GRACE);
}

/// Says it is alive every 60 ms, `times` times, then ends.
fn lively(builder: ToolBuilder, times: u32) -> tollgate::tool::DynTool {
    builder.run(move |cx, _| {
        Box::pin(async move {
            for n in 0..times {
                tokio::time::sleep(ms(60)).await;
                cx.progress(f64::from(n) / f64::from(times), "alive");
            }
            fine()
        })
    })
}

#[tokio::test(start_paused = true)]
async fn progress_re_arms_the_idle_deadline() {
    let timeouts = Timeouts { idle: Some(ms(100)), ..Timeouts::default() };
    let mut world = World::of(lively(within(reader("t"), timeouts), 10)).build();
    assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    // Ten of the body's own, between the executor's 0.0 and 1.0.
    let told = world.told("progress");
    assert_eq!(told.len(), 12);
    assert_eq!((&told[0]["fraction"], &told[11]["fraction"]), (&json!(0.0), &json!(1.0)));
}

#[tokio::test(start_paused = true)]
async fn a_body_without_a_sign_of_life_is_stopped_at_the_idle_deadline() {
    let timeouts = Timeouts { idle: Some(ms(50)), ..Timeouts::default() };
    let mut world = World::of(lively(within(reader("t"), timeouts), 10)).build();
    let began = Instant::now();
    let settled = world.call("t", json!({})).await;
    assert_eq!(settled.status(), Status::RetryableError);
    assert!(settled.failure().unwrap().message.contains("no progress for 50ms"));
    assert_eq!(began.elapsed(), ms(50) + GRACE);
}

#[tokio::test(start_paused = true)]
async fn progress_never_re_arms_the_total_deadline() {
    let timeouts = Timeouts { idle: Some(ms(100)), connect: None, total: ms(500) };
    let mut world = World::of(lively(within(reader("t"), timeouts), 1000)).build();
    let began = Instant::now();
    assert_eq!(world.call("t", json!({})).await.status(), Status::RetryableError);
    assert_eq!(began.elapsed(), ms(500) + GRACE);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_connect_is_stopped_and_one_that_does_is_not() {
    for (connects, expected) in [(false, Status::RetryableError), (true, Status::Ok)] {
        let timeouts = Timeouts { connect: Some(ms(100)), ..Timeouts::default() };
        let tool = within(reader("t"), timeouts).run(move |cx, _| {
            Box::pin(async move {
                tokio::time::sleep(ms(50)).await;
                if connects {
                    cx.connected();
                }
                tokio::time::sleep(ms(950)).await;
                fine()
            })
        });
        let mut world = World::of(tool).build();
        let began = Instant::now();
        assert_eq!(world.call("t", json!({})).await.status(), expected);
        assert_eq!(began.elapsed(), if connects { ms(1000) } else { ms(100) + GRACE });
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_told_to_stop_that_ends_within_the_grace_says_how_it_ended() {
    let tool = within(writer("t"), total(ms(100))).run(|cx, _| {
        Box::pin(async move {
            cx.cancelled().await;
            tokio::time::sleep(ms(200)).await;
            Ok(Output::text("rolled back"))
        })
    });
    let mut world = World::of(tool).build();
    let began = Instant::now();
    assert_eq!(text(&world.call("t", json!({})).await), "rolled back");
    assert_eq!(began.elapsed(), ms(300));
}

// Retries

fn retrying(builder: ToolBuilder, attempts: u32) -> ToolBuilder {
    builder.spec(|spec| spec.retry = RetryPolicy::up_to(attempts))
}

#[tokio::test(start_paused = true)]
async fn a_retryable_error_is_tried_again_until_it_goes_well() {
    let runs = Count::default();
    let answers = vec![Err(Failure::retryable("busy")), Err(Failure::retryable("busy")), fine()];
    let mut world = World::of(retrying(reader("t"), 5).answers_in_turn(&runs, answers)).build();
    let settled = world.call("t", json!({})).await;
    assert_eq!((settled.status(), settled.attempts, runs.get()), (Status::Ok, 3, 3));
    let attempts: Vec<_> = world.told("started").iter().map(|event| event["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn retries_end_at_the_limit() {
    let runs = Count::default();
    let tool = retrying(writer("t"), 3).answers(&runs, Err(Failure::retryable("busy")));
    let mut world = World::of(tool).build();
    let settled = world.call("t", json!({})).await;
    assert_eq!((settled.status(), settled.attempts, runs.get()), (Status::RetryableError, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn nothing_but_a_retryable_error_is_tried_again() {
    for failure in [Failure::fatal("broken"), Failure::unknown("lost")] {
        let runs = Count::default();
        let mut world = World::of(retrying(reader("t"), 5).answers(&runs, Err(failure))).build();
        assert_eq!((world.call("t", json!({})).await.attempts, runs.get()), (1, 1));
    }
    let runs = Count::default();
    let mut world = World::of(reader("t").answers(&runs, Err(Failure::retryable("busy")))).build();
    assert_eq!((world.call("t", json!({})).await.attempts, runs.get()), (1, 1), "unless the tool says so");
}

#[tokio::test(start_paused = true)]
async fn the_waits_between_retries_grow_with_jitter() {
    let runs = Count::default();
    let tool = retrying(reader("t"), 4).answers(&runs, Err(Failure::retryable("busy")));
    let mut world = World::of(tool).build();
    let began = Instant::now();
    let _ = world.call("t", json!({})).await;
    // Half to all of 100, 200 and 400 ms; the clock of the test moves in whole milliseconds.
    let waited = began.elapsed();
    assert!(waited >= ms(350) && waited <= ms(703), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn the_wait_the_other_side_asks_for_is_honoured() {
    let answers = vec![Err(Failure::retryable("busy").after(ms(7000))), fine()];
    let mut world = World::of(retrying(reader("t"), 2).answers_in_turn(&Count::default(), answers)).build();
    let began = Instant::now();
    assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    assert_eq!(began.elapsed(), ms(7000));
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_would_begin_after_the_total_deadline_is_not_waited_for() {
    let runs = Count::default();
    let builder = within(retrying(reader("t"), 9), total(ms(1000)));
    let tool = builder.answers(&runs, Err(Failure::retryable("busy").after(ms(400))));
    let mut world = World::of(tool).build();
    let began = Instant::now();
    let settled = world.call("t", json!({})).await;
    assert_eq!((settled.status(), runs.get()), (Status::RetryableError, 3));
    assert_eq!(began.elapsed(), ms(800));
    assert_eq!(settled.failure().unwrap().retry_after, Some(ms(400)));
}

#[tokio::test(start_paused = true)]
async fn all_tries_together_have_one_total_deadline() {
    let runs = Count::default();
    let count = runs.clone();
    let tool = within(retrying(reader("t"), 9), total(ms(1000))).run(move |_, _| {
        count.up();
        Box::pin(async {
            tokio::time::sleep(ms(300)).await;
            Err(Failure::retryable("busy").after(ms(100)))
        })
    });
    let mut world = World::of(tool).build();
    let began = Instant::now();
    assert_eq!(world.call("t", json!({})).await.status(), Status::RetryableError);
    assert_eq!((runs.get(), began.elapsed()), (3, ms(1000) + ms(100)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_tried_again() {
    let runs = Count::default();
    let tool = retrying(reader("t"), 9).answers(&runs, Err(Failure::retryable("busy").after(ms(1000))));
    let mut world = World::of(tool).build();
    let token = world.scope.run.token().clone();
    let stop = async {
        tokio::time::sleep(ms(1500)).await;
        token.cancel();
    };
    let (settled, ()) = tokio::join!(world.call("t", json!({})), stop);
    assert_eq!((settled.status(), runs.get()), (Status::RetryableError, 2));
}

// Breakers

const SETTINGS: BreakerSettings = BreakerSettings { failures: 3, cooldown: Duration::from_secs(30) };

fn sick(builder: ToolBuilder) -> tollgate::tool::DynTool {
    builder.answers(&Count::default(), Err(Failure::retryable("down")))
}

fn well(builder: ToolBuilder) -> tollgate::tool::DynTool {
    builder.answers(&Count::default(), fine())
}

#[tokio::test(start_paused = true)]
async fn a_breaker_opens_per_tool_capability_server_and_route() {
    type Shape = fn(ToolBuilder) -> ToolBuilder;
    let on_server: Shape = |builder| builder.spec(|spec| spec.id.origin = Origin::Server("s".into()));
    let capable: Shape = |builder| builder.spec(|spec| spec.capability = Some("files.read".into()));
    let plain: Shape = |builder| builder;
    let day = Some(Route::new("day"));
    // What the failing tool shares with its neighbour decides whether the neighbour is refused.
    let cases = [
        (plain, None, "sick", "well", BreakerKey::Tool("sick".into()), false),
        (capable, None, "sick", "well", BreakerKey::Capability("files.read".into()), true),
        (on_server, None, "s__sick", "s__well", BreakerKey::Server("s".into()), true),
        (plain, day.clone(), "sick", "well", BreakerKey::Route(Route::new("day")), true),
    ];
    for (shape, route, failing, neighbour, key, shared) in cases {
        let registry = Registry::new()
            .with(sick(shape(reader("sick"))))
            .and_then(|registry| registry.with(well(shape(reader("well")))))
            .and_then(|registry| registry.with(well(reader("apart"))))
            .unwrap()
            .with_route(Route::new("day"), vec!["sick".into(), "well".into()]);
        let mut world = World::with(registry).gate(|gate| gate.breakers(SETTINGS)).build();
        world.scope.route = route;
        for n in 0..3 {
            assert_eq!(world.call(failing, json!({"n": n})).await.status(), Status::RetryableError);
        }
        let settled = world.call(failing, json!({"n": 3})).await;
        assert_eq!(refused(&settled), (Permit, CircuitOpen), "{key}");
        assert_eq!(settled.refusal().unwrap().retry_after_ms, Some(30_000));
        let open = world.gate.breakers().list().into_iter().find(|breaker| breaker.key == key).unwrap();
        assert_eq!((open.state, open.failures), (BreakerState::Open, 3));
        let neighbours = world.call(neighbour, json!({})).await;
        assert_eq!(neighbours.status(), if shared { Status::Refused } else { Status::Ok }, "{key}");
        world.scope.route = None;
        assert_eq!(world.call("apart", json!({})).await.status(), Status::Ok, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_failures_in_a_row_open_a_breaker() {
    let down = || Err(Failure::retryable("down"));
    let answers = vec![down(), down(), fine(), down(), down(), fine()];
    let tool = reader("t").answers_in_turn(&Count::default(), answers);
    let mut world = World::of(tool).gate(|gate| gate.breakers(SETTINGS)).build();
    for n in 0..6 {
        assert_ne!(world.call("t", json!({"n": n})).await.status(), Status::Refused);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_a_timeout_and_a_lost_effect_count_and_a_fatal_answer_does_not() {
    let lost = reader("t").answers(&Count::default(), Err(Failure::unknown("lost")));
    let panics = reader("t").run(|_, _| unreachable!("a bug"));
    let hangs = within(reader("t"), total(ms(10))).hangs(&Count::default());
    let fatal = reader("t").answers(&Count::default(), Err(Failure::fatal("no such file")));
    for (tool, expected) in [(lost, true), (panics, true), (hangs, true), (fatal, false)] {
        let mut world = World::of(tool).gate(|gate| gate.breakers(SETTINGS)).build();
        for n in 0..3 {
            assert_ne!(world.call("t", json!({"n": n})).await.status(), Status::Refused);
        }
        assert_eq!(world.call("t", json!({"n": 3})).await.status() == Status::Refused, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_half_open_breaker_lets_one_call_through_and_closes_when_it_goes_well() {
    let runs = Count::default();
    let count = runs.clone();
    let tool = reader("t").run(move |_, _| {
        let run = count.up();
        Box::pin(async move {
            tokio::time::sleep(ms(10)).await;
            if run <= 3 { Err(Failure::retryable("down")) } else { fine() }
        })
    });
    let mut world = World::of(tool).gate(|gate| gate.breakers(SETTINGS)).build();
    for n in 0..3 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    tokio::time::sleep(SETTINGS.cooldown).await;
    let (gate, scope) = (world.gate.clone(), world.scope());
    let calls: Vec<_> = (0..5).map(|n| world.proposed("t", &json!({"n": 10 + n}))).collect();
    let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
    let went: Vec<_> = answers.iter().map(Settled::status).collect();
    assert_eq!(went, [Status::Ok, Status::Refused, Status::Refused, Status::Refused, Status::Refused]);
    assert_eq!(gate.breakers().list(), []);
    assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
}

#[tokio::test(start_paused = true)]
async fn a_half_open_breaker_opens_again_when_the_trial_fails() {
    let mut world = World::of(sick(reader("t"))).gate(|gate| gate.breakers(SETTINGS)).build();
    for n in 0..3 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    tokio::time::sleep(SETTINGS.cooldown).await;
    assert_eq!(world.call("t", json!({"n": 3})).await.status(), Status::RetryableError);
    assert_eq!(refused(&world.call("t", json!({"n": 4})).await), (Permit, CircuitOpen));
}

#[tokio::test(start_paused = true)]
async fn a_trial_that_was_stopped_proves_nothing_and_makes_room_for_the_next() {
    let runs = Count::default();
    let count = runs.clone();
    let tool = reader("t").run(move |_, _| {
        let run = count.up();
        Box::pin(async move {
            if run == 4 {
                std::future::pending::<()>().await;
            }
            Err(Failure::retryable("down"))
        })
    });
    let mut world = World::of(tool).gate(|gate| gate.breakers(SETTINGS)).build();
    for n in 0..3 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    tokio::time::sleep(SETTINGS.cooldown).await;
    world.scope.run = Run::new("stopped");
    let token = world.scope.run.token().clone();
    let stop = async {
        tokio::time::sleep(ms(10)).await;
        token.cancel();
    };
    let _ = tokio::join!(world.call("t", json!({"n": 3})), stop);
    assert_eq!(world.gate.breakers().list()[0].state, BreakerState::HalfOpen);
    world.scope.run = Run::new("next");
    assert_eq!(world.call("t", json!({"n": 4})).await.status(), Status::RetryableError);
    assert_eq!(refused(&world.call("t", json!({"n": 5})).await), (Permit, CircuitOpen));
}

#[tokio::test(start_paused = true)]
async fn a_breaker_opened_by_hand_stays_open_until_it_is_reset() {
    let key = BreakerKey::Tool("t".into());
    for answer in [fine(), Err(Failure::retryable("down"))] {
        let tool = reader("t").run(move |_, _| {
            let answer = answer.clone();
            Box::pin(async move {
                tokio::time::sleep(ms(10)).await;
                answer
            })
        });
        let mut world = World::of(tool).gate(|gate| gate.breakers(SETTINGS)).build();
        let breakers = world.gate.breakers();
        // Opened while a call is on its way: how that one ends does not close it either.
        let (_, ()) = tokio::join!(world.call("t", json!({})), async { breakers.open(key.clone()) });
        tokio::time::sleep(SETTINGS.cooldown * 100).await;
        let settled = world.call("t", json!({})).await;
        assert_eq!(refused(&settled), (Permit, CircuitOpen));
        assert_eq!(settled.refusal().unwrap().retry_after_ms, None);
        breakers.reset(&key);
        assert_ne!(world.call("t", json!({})).await.status(), Status::Refused);
    }
}

// Budgets

fn limited(change: impl FnOnce(&mut Budget)) -> Run {
    let mut budget = Budget::default();
    change(&mut budget);
    Run::builder("run").budget(budget).build()
}

#[tokio::test(start_paused = true)]
async fn a_run_makes_as_many_calls_as_its_budget_allows() {
    let runs = Count::default();
    let mut world =
        World::of(reader("t").answers(&runs, fine())).run(limited(|budget| budget.calls = Some(2))).build();
    for n in 0..4 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    assert_eq!(runs.get(), 2);
    assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn a_tool_has_a_budget_of_its_own() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(reader("dear").answers(&runs, fine()))
        .and_then(|registry| registry.with(reader("cheap").answers(&runs, fine())))
        .unwrap();
    let run = limited(|budget| {
        budget.calls_of.insert("dear".into(), 1);
    });
    let mut world = World::with(registry).run(run).build();
    assert_eq!(world.call("dear", json!({})).await.status(), Status::Ok);
    assert_eq!(refused(&world.call("dear", json!({"n": 1})).await), (Permit, BudgetExhausted));
    assert_eq!(world.call("cheap", json!({})).await.status(), Status::Ok);
}

#[tokio::test(start_paused = true)]
async fn tool_time_tokens_and_money_are_budgets_too() {
    let make = |run| World::of(reader("t").takes(&Count::default(), ms(600))).run(run).build();

    let mut world = make(limited(|budget| budget.tool_time = Some(ms(1000))));
    for n in 0..2 {
        assert_eq!(world.call("t", json!({"n": n})).await.status(), Status::Ok);
    }
    assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
    assert_eq!(world.scope.run.purse().spent().tool_time, ms(1200));

    for (run, charge) in [
        (limited(|budget| budget.tokens = Some(100)), (60, 0)),
        (limited(|budget| budget.microdollars = Some(100)), (0, 60)),
    ] {
        let mut world = make(run);
        world.scope.run.purse().charge(charge.0, charge.1);
        assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
        world.scope.run.purse().charge(charge.0, charge.1);
        assert_eq!(refused(&world.call("t", json!({})).await), (Permit, BudgetExhausted));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_at_the_same_time_do_not_outspend_the_budget() {
    let runs = Count::default();
    let run = limited(|budget| budget.calls = Some(7));
    let mut world = World::of(reader("t").takes(&runs, ms(10))).run(run).build();
    let (gate, scope) = (world.gate.clone(), world.scope());
    let calls: Vec<_> = (0..50).map(|n| world.proposed("t", &json!({"n": n}))).collect();
    let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
    assert_eq!(runs.get(), 7);
    assert_eq!(answers.iter().filter(|answer| answer.status() == Status::Ok).count(), 7);
    assert_eq!(scope.run.purse().spent().calls, 7);
}

#[tokio::test(start_paused = true)]
async fn calls_that_were_admitted_together_are_still_counted_one_by_one() {
    struct Slow;
    impl tollgate::policy::Approver for Slow {
        fn ask<'a>(&'a self, _: tollgate::policy::Question<'a>) -> BoxFuture<'a, tollgate::policy::Answer> {
            Box::pin(async {
                tokio::time::sleep(ms(100)).await;
                tollgate::policy::Answer::Yes
            })
        }
    }
    let runs = Count::default();
    let registry = Registry::new().with(reader("t").answers(&runs, fine())).unwrap();
    let gate = tollgate::Tollgate::builder(registry).approver(Slow).build();
    let mut world = World::of(reader("t").echoes(&runs)).run(limited(|b| b.calls = Some(1))).build();
    let scope = world.scope();
    let calls: Vec<_> = (0..3).map(|n| world.proposed("t", &json!({"n": n}))).collect();
    let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
    // All were admitted and asked about; only one may still be counted.
    assert_eq!((runs.get(), answers[0].status()), (1, Status::Ok));
    assert_eq!(refused(&answers[1]), (Execute, BudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn what_never_started_and_what_was_replayed_is_not_counted() {
    let runs = Count::default();
    let run = limited(|budget| {
        budget.calls = Some(9);
        budget.calls_of.insert("t".into(), 9);
    });
    let keyed = writer("t").spec(|spec| spec.requires_idempotency_key = true);
    let mut world = World::of(keyed.answers(&runs, fine())).run(run).build();
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert!(world.keyed("k", "t", json!({})).await.replayed);
    assert_eq!(refused(&world.keyed("k", "t", json!({"n": 1})).await), (Execute, IdempotencyConflict));
    assert_eq!(refused(&world.call("t", json!({})).await).1, RefusalCode::MissingIdempotencyKey);
    assert_eq!(refused(&world.call("t", json!({"path": "/"})).await).1, RefusalCode::OutsideRoots);
    let spent = world.scope.run.purse().spent();
    assert_eq!((spent.calls, spent.calls_of["t"], runs.get()), (1, 1, 1));
}

// Repetition

fn repeating(turns: u32) -> World {
    let run = Run::builder("run").repetition(Repetition::Turns(turns)).build();
    World::of(reader("t").answers(&Count::default(), fine())).run(run).build()
}

#[tokio::test(start_paused = true)]
async fn the_same_call_turn_after_turn_is_stopped() {
    let mut world = repeating(3);
    for turn in 0..3 {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok);
    }
    world.scope.turn = 3;
    assert_eq!(refused(&world.call("t", json!({"n": 1})).await), (Permit, RefusalCode::Repetition));
    assert_eq!(world.call("t", json!({"n": 2})).await.status(), Status::Ok, "other arguments");
}

#[tokio::test(start_paused = true)]
async fn the_same_call_many_times_in_one_turn_is_no_loop() {
    let mut world = repeating(1);
    for _ in 0..20 {
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_the_call_ends_its_streak() {
    let mut world = repeating(2);
    for turn in [0, 1, 3, 4, 6] {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok, "{turn}");
    }
}

#[tokio::test(start_paused = true)]
async fn repetition_may_be_allowed() {
    let run = Run::builder("run").repetition(Repetition::Allowed).build();
    let mut world = World::of(reader("t").answers(&Count::default(), fine())).run(run).build();
    for turn in 0..50 {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    }
}

// Idempotency

#[tokio::test(start_paused = true)]
async fn the_same_key_and_arguments_give_the_same_answer_and_run_once() {
    for answer in [Ok(Output::text("order 7")), Err(Failure::fatal("no such order"))] {
        let runs = Count::default();
        let mut world = World::of(writer("t").answers(&runs, answer)).build();
        let first = world.keyed("k", "t", json!({"n": 1, "path": "a"})).await;
        let again = world.keyed("k", "t", json!({"path": "a", "n": 1})).await;
        assert_eq!((runs.get(), first.replayed, again.replayed), (1, false, true));
        assert_eq!((&first.outcome, first.evidence_ref()), (&again.outcome, again.evidence_ref()));
        assert_ne!(first.id, again.id, "each answer has its own call's id");
        assert_eq!(again.attempts, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_stands_for_one_tool_and_one_set_of_arguments() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(writer("t").answers(&runs, fine()))
        .and_then(|registry| registry.with(writer("other").answers(&runs, fine())))
        .unwrap();
    let mut world = World::with(registry).build();
    let _ = world.keyed("k", "t", json!({"n": 1})).await;
    for (tool, input) in [("t", json!({"n": 2})), ("other", json!({"n": 1}))] {
        assert_eq!(refused(&world.keyed("k", tool, input).await), (Execute, IdempotencyConflict));
    }
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_at_the_same_time_waits_for_the_answer() {
    for builder in [reader("t"), writer("t")] {
        let runs = Count::default();
        let mut world = World::of(builder.takes(&runs, ms(1000))).build();
        let (gate, scope) = (world.gate.clone(), world.scope());
        let calls: Vec<_> = (0..5).map(|_| world.proposed("t", "{}").with_key("k")).collect();
        let answers = join_all(calls.into_iter().map(|call| gate.call(&scope, call))).await;
        assert_eq!(runs.get(), 1);
        assert!(answers.iter().all(|answer| text(answer) == "done"));
        assert_eq!(answers.iter().filter(|answer| answer.replayed).count(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_caller_went_away_midway_is_unknown_and_never_runs_again() {
    let runs = Count::default();
    let mut world = World::of(writer("t").takes(&runs, ms(1000))).build();
    assert!(tokio::time::timeout(ms(500), world.keyed("k", "t", json!({}))).await.is_err());
    for _ in 0..2 {
        let again = world.keyed("k", "t", json!({}));
        let settled = tokio::time::timeout(ms(5000), again).await.expect("nobody is waited for");
        assert_eq!((settled.status(), runs.get()), (Status::Unknown, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_timed_out_is_unknown_under_its_key_and_never_runs_again() {
    let runs = Count::default();
    let mut world = World::of(within(writer("t"), total(ms(100))).hangs(&runs)).build();
    for _ in 0..2 {
        assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Unknown);
    }
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_retryable_error_frees_the_key() {
    let runs = Count::default();
    let tool = writer("t").answers_in_turn(&runs, vec![Err(Failure::retryable("busy")), fine()]);
    let mut world = World::of(tool).build();
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::RetryableError);
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_of_different_callers_are_different_keys() {
    let runs = Count::default();
    let mut world = World::of(writer("t").answers(&runs, fine())).build();
    let _ = world.keyed("k", "t", json!({"n": 1})).await;
    world.scope.caller = Caller::new("someone else");
    assert_eq!(world.keyed("k", "t", json!({"n": 2})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_a_key_has_one_made_of_run_turn_place_and_id() {
    let runs = Count::default();
    let mut world = World::of(writer("t").answers(&runs, fine())).build();
    let call = world.proposed("t", "{}");
    assert!(!world.gate.call(&world.scope(), call.clone()).await.replayed);
    assert!(world.gate.call(&world.scope(), call.clone()).await.replayed, "the very same proposal");
    world.scope.turn = 1;
    assert!(!world.gate.call(&world.scope(), call.clone()).await.replayed, "providers repeat ids");
    world.scope.run = Run::new("another");
    assert!(!world.gate.call(&world.scope(), call).await.replayed);
    assert_eq!(runs.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_key_travels_to_the_body() {
    let tool = writer("t").run(|cx, _| {
        Box::pin(async move { Ok(Output::text(cx.idempotency_key().unwrap().as_str().to_owned())) })
    });
    let mut world = World::of(tool).build();
    assert_eq!(text(&world.keyed("order-7", "t", json!({})).await), "order-7");
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_insist_on_a_key() {
    let runs = Count::default();
    let tool = writer("t").spec(|spec| spec.requires_idempotency_key = true);
    let mut world = World::of(tool.answers(&runs, fine())).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (Execute, RefusalCode::MissingIdempotencyKey));
    assert_eq!(world.keyed("k", "t", json!({})).await.status(), Status::Ok);
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_ledger_in_memory_forgets_the_oldest_key_beyond_its_capacity() {
    let runs = Count::default();
    let ledger = MemoryLedger::new(2);
    let mut world = World::of(writer("t").answers(&runs, fine())).gate(|gate| gate.ledger(ledger)).build();
    for key in ["a", "b", "c"] {
        let _ = world.keyed(key, "t", json!({})).await;
    }
    assert!(world.keyed("c", "t", json!({})).await.replayed);
    assert!(world.keyed("b", "t", json!({})).await.replayed);
    assert!(!world.keyed("a", "t", json!({})).await.replayed);
}

#[tokio::test(start_paused = true)]
async fn the_ledger_in_memory_never_forgets_a_key_that_still_runs() {
    let runs = Count::default();
    let count = runs.clone();
    let tool = reader("t").run(move |_, args| {
        if args["n"] == 0 {
            count.up();
        }
        let wait = if args["n"] == 0 { ms(1000) } else { ms(1) };
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            fine()
        })
    });
    let mut world = World::of(tool).gate(|gate| gate.ledger(MemoryLedger::new(1))).build();
    let (gate, scope) = (world.gate.clone(), world.scope());
    let slow = world.proposed("t", &json!({"n": 0})).with_key("slow");
    let again = world.proposed("t", &json!({"n": 0})).with_key("slow");
    let others = async {
        tokio::task::yield_now().await;
        for n in 1..5 {
            let _ = world.keyed(&format!("k{n}"), "t", json!({"n": n})).await;
        }
        gate.call(&scope, again).await
    };
    let (first, second) = tokio::join!(gate.call(&scope, slow), others);
    assert_eq!((first.status(), second.status(), runs.get()), (Status::Ok, Status::Ok, 1));
    assert!(second.replayed);
}

// The ledger

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

// Cancellation

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
