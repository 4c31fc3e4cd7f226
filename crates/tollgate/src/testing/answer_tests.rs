use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::Mocks;
use crate::{
    Proposed, Registry, Scope, Settled, Tollgate,
    event::What,
    guard::{Run, Workspace},
    outcome::{Item, RefusalCode, Status},
    policy::Rules,
    tool::{Concurrency, Effects, Route},
};

/// A gate over mocks, with every tool allowed.
pub(super) struct World {
    pub(super) gate: Tollgate,
    scope: Arc<Scope>,
}

impl World {
    pub(super) fn of(gate: Tollgate) -> Self {
        Self { gate, scope: Arc::new(Scope::new(Run::new("test"), Workspace::new("/work"))) }
    }

    /// One tool `t` that accepts anything, with this besides.
    fn with(declared: &Value) -> Self {
        let mut tool = json!({"name": "t", "input_schema": {"type": "object", "additionalProperties": true}});
        tool.as_object_mut().unwrap().extend(declared.as_object().unwrap().clone());
        let (registry, aside) =
            Mocks::parse(&json!({ "tools": [tool] }).to_string()).unwrap().register(Registry::new());
        assert_eq!(aside, []);
        Self::of(Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build())
    }

    pub(super) fn on(&self, route: &str) -> Self {
        let mut scope = (*self.scope).clone();
        scope.route = Some(Route::new(route));
        Self { gate: self.gate.clone(), scope: Arc::new(scope) }
    }

    pub(super) async fn call(&self, tool: &str, args: Value) -> Settled {
        self.gate.call(&self.scope, Proposed::new("c1", tool, &args)).await
    }

    async fn t(&self, args: Value) -> Settled {
        // A fresh run each time, so that equal calls are no repetition and no replay.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let run = Run::new(NEXT.fetch_add(1, Ordering::Relaxed).to_string());
        let scope = Arc::new(Scope::new(run, Workspace::new("/work")));
        self.gate.call(&scope, Proposed::new("c1", "t", &args)).await
    }

    async fn effects(&self, args: Value) -> Effects {
        self.gate.explain(&self.scope, Proposed::new("c1", "t", &args)).await.effects
    }
}

fn text_of(settled: &Settled) -> String {
    match &settled.output().expect("it went well").items[..] {
        [Item::Text { text }] => text.clone(),
        [Item::Json { json }] => json.to_string(),
        items => format!("{items:?}"),
    }
}

#[tokio::test]
async fn without_answers_a_call_gets_its_arguments_back() {
    let world = World::with(&json!({}));
    assert_eq!(world.t(json!({"a": [1]})).await.output().unwrap().structured(), Some(&json!({"a": [1]})));
}

#[tokio::test]
async fn the_first_answer_whose_fields_are_all_there_is_given_as_often_as_it_is_asked_for() {
    let world = World::with(&json!({"answers": [
        {"when": {"a": 1, "b": {"c": "x"}}, "text": "both"},
        {"when": {"a": 1}, "text": "one"},
        {"when": {"list": [1, {"k": 2}]}, "text": "list"},
        {"text": "else"},
    ]}));
    let cases = [
        (json!({"a": 1, "b": {"c": "x", "d": 2}}), "both"),
        (json!({"a": 1.0, "b": {"c": "y"}}), "one"),
        (json!({"a": 2}), "else"),
        (json!({"list": [1, {"k": 2, "more": 3}]}), "list"),
        (json!({"list": [1]}), "else"),
    ];
    for _ in 0..3 {
        for (args, expected) in &cases {
            assert_eq!(text_of(&world.t(args.clone()).await), *expected, "{args}");
        }
    }
}

#[tokio::test]
async fn answers_to_the_same_calls_come_one_after_the_other_and_the_last_repeats() {
    let world = World::with(&json!({"answers": [
        {"retryable": {"message": "busy", "retry_after_ms": 7, "hint": "wait"}}, {"text": "well"}, {"text": "late"},
    ]}));
    let first = world.t(json!({})).await;
    let failure = first.failure().unwrap();
    assert_eq!(first.status(), Status::RetryableError);
    assert_eq!((&*failure.message, failure.retry_after), ("busy", Some(Duration::from_millis(7))));
    assert_eq!(failure.hint.as_deref(), Some("wait"));
    for expected in ["well", "late", "late"] {
        assert_eq!(text_of(&world.t(json!({})).await), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_within_one_call_gets_the_next_answer() {
    let world = World::with(&json!({"retry": 2, "answers": [{"retryable": "busy"}, {"text": "well"}]}));
    let settled = world.t(json!({})).await;
    assert_eq!((text_of(&settled).as_str(), settled.attempts), ("well", 2));
}

#[tokio::test]
async fn each_way_to_end_is_the_outcome_it_names() {
    let cases = [
        (json!({"ok": {"n": 1}}), Status::Ok),
        (json!({"ok": null}), Status::Ok),
        (json!({"text": ""}), Status::Ok),
        (json!({"error": "x"}), Status::FatalError),
        (json!({"fatal": {"message": "x"}}), Status::FatalError),
        (json!({"retryable": "x"}), Status::RetryableError),
        (json!({"unknown": "x"}), Status::Unknown),
        (json!({"refuse": "x"}), Status::Refused),
        (json!({"panic": true}), Status::FatalError),
        (json!({"panic": false, "hang": false}), Status::Ok),
    ];
    for (answer, status) in cases {
        let world = World::with(&json!({ "answers": [answer] }));
        assert_eq!(world.t(json!({})).await.status(), status, "{answer}");
    }
}

#[tokio::test]
async fn an_ok_is_text_json_or_the_items_it_lists() {
    let image = json!({"type": "image", "mime": "image/png", "data": "AA=="});
    let items = json!([{"type": "text", "text": "a"}, {"type": "json", "json": {"b": 1}}, image]);
    let cases = [
        (json!("a"), json!([{"type": "text", "text": "a"}])),
        (json!([1]), json!([{"type": "json", "json": [1]}])),
        (json!({ "items": items }), items.clone()),
        (json!({"items": [1]}), json!([{"type": "json", "json": {"items": [1]}}])),
    ];
    for (ok, expected) in cases {
        let world = World::with(&json!({"answers": [{ "ok": ok }]}));
        let settled = world.t(json!({})).await;
        assert_eq!(serde_json::to_value(settled.output().unwrap()).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_refusal_is_the_tools_own_check_and_explaining_it_moves_nothing_on() {
    let world = World::with(
        &json!({"answers": [{"refuse": {"pointer": "/a", "message": "not this"}}, {"text": "x"}]}),
    );
    for _ in 0..2 {
        let settled = world.t(json!({"a": 1})).await;
        let refusal = settled.refusal().unwrap();
        assert_eq!((refusal.code, &*refusal.violations[0].pointer), (RefusalCode::InvalidValue, "/a"));
        assert_eq!(settled.attempts, 0);
    }
    let world = World::with(&json!({"answers": [{"text": "first"}, {"text": "second"}]}));
    world.effects(json!({})).await;
    assert_eq!(text_of(&world.t(json!({})).await), "first");
}

#[tokio::test]
async fn a_check_holds_for_what_is_there_and_speaks_of_its_place() {
    let world = World::with(&json!({"check": [
        {"pointer": "/path", "not_matches": "\\x00", "message": "no NUL"},
        {"pointer": "/n", "matches": "^[0-9]$", "message": "one digit"},
    ]}));
    let cases = [
        (json!({}), None),
        (json!({"path": "a", "n": 5}), None),
        (json!({"path": "a\u{0}b"}), Some(("/path", "no NUL"))),
        (json!({"n": 55}), Some(("/n", "one digit"))),
    ];
    for (args, expected) in cases {
        let settled = world.t(args.clone()).await;
        let found = settled.refusal().map(|refusal| &refusal.violations[0]);
        assert_eq!(found.map(|one| (&*one.pointer, &*one.message)), expected, "{args}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_mock_that_hangs_is_stopped_at_its_deadline_and_one_that_shows_progress_is_not() {
    let world = World::with(&json!({"timeouts": {"total_ms": 50}, "answers": [{"hang": true}]}));
    assert_eq!(world.t(json!({})).await.status(), Status::Unknown);

    let steps = [json!({"fraction": 0.3, "message": "a"}), json!({"fraction": 0.6, "message": "b"})];
    let alive = json!({"timeouts": {"idle_ms": 600}, "answers": [{"delay_ms": 1000, "progress": steps, "text": "x"}]});
    let world = World::with(&alive);
    let mut events = world.gate.observe(100);
    assert_eq!(text_of(&world.t(json!({})).await), "x");
    let mut told = Vec::new();
    for event in events.records() {
        if let What::Progress(progress) = event.what {
            told.push(progress.message.to_string());
        }
    }
    assert_eq!(told, ["", "a", "b", ""]);

    let silent = json!({"timeouts": {"idle_ms": 600}, "answers": [{"delay_ms": 1000, "text": "x"}]});
    assert_eq!(World::with(&silent).t(json!({})).await.status(), Status::Unknown);
}

#[tokio::test]
async fn effects_are_what_is_declared_with_names_from_the_arguments_and_the_worst_where_nothing_is() {
    let declared = json!({"effects": {"concurrency": "read_only", "read_only": true, "destructive": false,
        "idempotent": true, "open_world": false, "touches": [
            {"path_from": "/path", "access": "read"}, {"path": "log", "access": "write"}, {"path_from": "/to"},
            {"host_from": "/host"}, {"key_from": "/keys"}, {"host": "h"}, {"command": ["ls", "-l"]}]}});
    let world = World::with(&declared);
    let effects = world.effects(json!({"path": "a", "keys": ["k1", "k2"]})).await;
    assert_eq!(
        serde_json::to_value(&effects).unwrap(),
        json!({"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true,
            "open_world": false, "touches": [{"path": "a", "access": "read"}, {"path": "log", "access": "write"},
            {"key": "k1"}, {"key": "k2"}, {"host": "h"}, {"command": ["ls", "-l"]}]})
    );
    assert_eq!(world.effects(json!({"path": 5})).await, Effects::worst());

    let hinted =
        json!({"annotations": {"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false}});
    assert_eq!(World::with(&hinted).effects(json!({})).await, Effects::worst());
    let partly = World::with(&json!({"effects": {"read_only": true}})).effects(json!({})).await;
    assert_eq!(partly, Effects { read_only: true, ..Effects::worst() });
    assert_eq!(partly.concurrency, Concurrency::Unsafe);
}

#[tokio::test]
async fn a_mock_that_is_switched_off_is_not_enabled() {
    for key in ["enabled", "is_enabled"] {
        let settled = World::with(&json!({ key: false })).t(json!({})).await;
        assert_eq!(settled.refusal().unwrap().code, RefusalCode::NotEnabled);
    }
}
