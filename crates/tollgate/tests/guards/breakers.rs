//! Breakers.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tollgate::{
    Failure, Registry, Settled,
    guard::{BreakerKey, BreakerSettings, BreakerState, Run},
    outcome::{Phase::Permit, RefusalCode::CircuitOpen, Status},
    tool::{Origin, Route, ToolBuilder},
};

use crate::world::{Bodies, Count, World, fine, reader, refused};
use crate::{ms, total, within};

const SETTINGS: BreakerSettings = BreakerSettings { failures: 3, cooldown: Duration::from_secs(30) };

pub(crate) fn sick(builder: ToolBuilder) -> tollgate::tool::DynTool {
    builder.answers(&Count::default(), Err(Failure::retryable("down")))
}

pub(crate) fn well(builder: ToolBuilder) -> tollgate::tool::DynTool {
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

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_because_it_was_told_to_speaks_against_nobody() {
    let waits = reader("waits").run(|cx, _| {
        Box::pin(async move {
            cx.cancelled().await;
            Err(Failure::retryable("told to stop"))
        })
    });
    let world =
        World::with(Registry::new().with(waits).unwrap()).gate(|gate| gate.breakers(SETTINGS)).build();
    let scope = std::sync::Arc::new(world.scope.clone());
    for n in 0..5 {
        let token = tokio_util::sync::CancellationToken::new();
        let call = tollgate::Proposed::new(format!("c{n}"), "waits", &json!({"n": n}));
        let stop = async {
            tokio::time::sleep(ms(10)).await;
            token.cancel();
        };
        let (settled, ()) = tokio::join!(world.gate.call_until(&scope, call, &token), stop);
        assert_eq!(settled.status(), Status::RetryableError, "{n}: {settled:?}");
    }
    assert!(world.gate.breakers().list().iter().all(|breaker| breaker.state == BreakerState::Closed));
}
