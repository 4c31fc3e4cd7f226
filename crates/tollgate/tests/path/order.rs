//! The order of the phases, and who learns of a call when.

use std::time::Duration;

use serde_json::json;
use tollgate::{
    Refusal, Registry,
    hook::Before,
    outcome::{
        Phase::{Check, Validate},
        RefusalCode::*,
        Status,
    },
    policy::Rules,
};

use crate::world::{Bodies, Count, Scripted, World, fine, reader, refused, writer};

#[tokio::test(start_paused = true)]
async fn a_call_walks_every_phase_in_order() {
    let runs = Count::default();
    let mut world = World::of(reader("read").answers(&runs, fine())).hook(Scripted::gate("passes")).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    let expected = [
        "proposed",
        "resolved",
        "validated",
        "checked",
        "prepared",
        "permitted",
        "started",
        "progress",
        "progress",
        "executed",
        "after",
        "settled",
    ];
    assert_eq!(world.steps(), expected);
}

/// What was told of a call's step, and how long that took, in milliseconds.
fn step<'a>(events: &'a [serde_json::Value], call: &str, kind: &str) -> (&'a serde_json::Value, f64) {
    let of_call = |event: &&serde_json::Value| event["call"] == call && event["event"] == kind;
    let event = events.iter().rfind(of_call).unwrap();
    (event, event["took_us"].as_f64().unwrap() / 1e3)
}

#[tokio::test]
async fn a_step_took_as_long_as_it_took_and_waiting_for_others_is_no_step() {
    let registry = Registry::new().with(reader("read").takes(&Count::default(), Duration::from_millis(60)));
    let registry =
        registry.and_then(|all| all.with(writer("write").answers(&Count::default(), fine()))).unwrap();
    let mut world = World::with(registry).build();
    let calls = vec![world.proposed("read", "{}"), world.proposed("write", "{}")];
    assert_eq!(world.gate.turn(&world.scope()).run(calls).await.len(), 2);
    let events = world.events();
    assert!(step(&events, "c2", "checked").1 < 30.0, "it waited 60 ms for the read");
    let (began, ended) = (step(&events, "c1", "started").0, step(&events, "c1", "progress").0);
    assert_eq!(ended["fraction"], 1.0);
    assert!(ended["at_ms"].as_u64().unwrap() >= began["at_ms"].as_u64().unwrap() + 50);
    assert!(step(&events, "c1", "executed").1 >= 50.0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_walks_no_further_and_is_settled() {
    let cases = [
        ("nothing", json!({}), vec!["proposed", "settled"]),
        ("read", json!({"n": "x"}), vec!["proposed", "resolved", "settled"]),
        ("read", json!({"path": "/etc"}), vec!["proposed", "resolved", "validated", "settled"]),
        ("read", json!({"n": 1}), vec!["proposed", "resolved", "validated", "checked", "hook", "settled"]),
    ];
    let hook = Scripted::gate("no").before(|_| Before::Block("no".into()));
    let mut world = World::of(reader("read").answers(&Count::default(), fine())).hook(hook).build();
    for (name, input, expected) in cases {
        let _ = world.call(name, input).await;
        assert_eq!(world.steps(), expected, "{name}");
    }
}

/// A tool, a hook and a check that count who looks at a call.
fn watched(rules: Rules) -> (World, [Count; 3]) {
    let [checks, hooks, runs] = [Count::default(), Count::default(), Count::default()];
    let (check, hook) = (checks.clone(), hooks.clone());
    let tool = reader("read").check(move |_, _| {
        check.up();
        Ok(())
    });
    let hook = Scripted::gate("looks").before(move |_| {
        hook.up();
        Before::Pass
    });
    let world = World::of(tool.answers(&runs, fine())).rules(rules).hook(hook).build();
    (world, [checks, hooks, runs])
}

#[tokio::test(start_paused = true)]
async fn neither_the_check_nor_a_hook_learns_of_what_is_denied() {
    let (mut world, [checks, hooks, runs]) = watched(Rules::new().allow("*").unwrap().deny("read").unwrap());
    let settled = world.call("read", json!({})).await;
    assert_eq!(refused(&settled), (Check, Denied));
    assert_eq!((checks.get(), hooks.get(), runs.get()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn neither_the_check_nor_a_hook_learns_of_what_is_outside_the_roots() {
    let (mut world, [checks, hooks, runs]) = watched(Rules::new().allow("*").unwrap());
    for path in ["/etc/passwd", "../x", "a/../../x", "/work/../x", "/workers"] {
        assert_eq!(
            refused(&world.call("read", json!({"path": path})).await),
            (Check, OutsideRoots),
            "{path}"
        );
    }
    assert_eq!((checks.get(), hooks.get(), runs.get()), (0, 0, 0));
    for path in ["x", "/work/x", "a/../b", "./a", "/work"] {
        assert_eq!(world.call("read", json!({"path": path})).await.status(), Status::Ok, "{path}");
    }
    assert_eq!((checks.get(), hooks.get(), runs.get()), (5, 5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_hook_does_not_see_what_the_tools_own_check_refuses() {
    let (runs, hooks) = (Count::default(), Count::default());
    let seen = hooks.clone();
    let hook = Scripted::gate("looks").before(move |_| {
        seen.up();
        Before::Pass
    });
    let tool = reader("read").check(|_, _| Err(Refusal::invalid_value("/path", "it is a folder")));
    let mut world = World::of(tool.answers(&runs, fine())).hook(hook).build();
    let settled = world.call("read", json!({"path": "a"})).await;
    assert_eq!(settled.refusal(), Some(&Refusal::invalid_value("/path", "it is a folder")));
    assert_eq!((settled.phase, hooks.get(), runs.get()), (Check, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_check_is_not_asked_about_what_the_schema_refuses() {
    let (mut world, [checks, ..]) = watched(Rules::new().allow("*").unwrap());
    let settled = world.call("read", json!({"n": -1, "pth": "a"})).await;
    assert_eq!(refused(&settled), (Validate, InvalidArguments));
    let pointers: Vec<_> = settled.refusal().unwrap().violations.iter().map(|v| &v.pointer[..]).collect();
    assert_eq!(pointers, ["/n", "/pth"]);
    assert_eq!(checks.get(), 0);
}
