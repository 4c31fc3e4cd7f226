//! Tools that behave as badly as they can: each is bounded, answered and recorded, and the next call is served.

mod world;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Failure, Output, Registry,
    guard::{Run, Spawner, TokioSpawner},
    outcome::{FolderResults, Part, ResultStore, Status},
    tool::{DynTool, Timeouts, ToolBuilder},
};
use world::{Bodies, Count, World, fine, reader, text, writer};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn within(builder: ToolBuilder, limit: Duration) -> ToolBuilder {
    builder.spec(|spec| spec.timeouts = Timeouts { total: limit, ..Timeouts::default() })
}

/// Its thread is blocked for `time`, as by a library that knows nothing of async.
fn blocks_its_thread(builder: ToolBuilder, runs: &Count, time: Duration) -> DynTool {
    let runs = runs.clone();
    builder.run(move |_, _| {
        runs.up();
        Box::pin(async move {
            std::thread::sleep(time);
            fine()
        })
    })
}

/// It counts every 100 ms for as long as it is there.
fn never_ends(beats: &Count) -> DynTool {
    let beats = beats.clone();
    reader("t").run(move |_, _| {
        let beats = beats.clone();
        Box::pin(async move {
            loop {
                tokio::time::sleep(ms(100)).await;
                beats.up();
            }
        })
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_body_that_blocks_its_thread_is_answered_in_time_and_keeps_its_place_until_it_ends() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(blocks_its_thread(within(writer("blocks"), ms(100)), &runs, ms(3000)))
        .and_then(|registry| registry.with(writer("write").answers(&runs, fine())))
        .and_then(|registry| registry.with(reader("read").answers(&runs, fine())))
        .unwrap();
    let mut world = World::with(registry).build();
    let began = Instant::now();
    assert_eq!(world.call("blocks", json!({})).await.status(), Status::Unknown);
    let answered = began.elapsed();
    assert!(answered >= ms(350) && answered < ms(2500), "{answered:?}");
    for tool in ["write", "read"] {
        assert_eq!(world.call(tool, json!({})).await.status(), Status::Ok);
        assert!(began.elapsed() >= ms(3000), "{tool} ran beside a write that had not ended");
    }
    assert_eq!(runs.get(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_read_that_blocks_its_thread_does_not_hold_up_other_reads() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(blocks_its_thread(within(reader("blocks"), ms(100)), &runs, ms(5000)))
        .and_then(|registry| registry.with(reader("read").answers(&runs, fine())))
        .unwrap();
    let mut world = World::with(registry).build();
    let began = Instant::now();
    assert_eq!(world.call("blocks", json!({})).await.status(), Status::RetryableError);
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    assert!(began.elapsed() < ms(4500), "{:?}", began.elapsed());
}

/// Panics when it is dropped, as a guard of something that broke may.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            unreachable!("a bug in a drop");
        }
    }
}

/// Whatever a body does: one answer, one record, and the next call of the workspace is served.
#[tokio::test(start_paused = true)]
async fn after_any_hostile_body_there_is_one_record_and_the_next_call_is_served() {
    type Body = fn(ToolBuilder) -> DynTool;
    let bodies: [(&str, Body, Status); 8] = [
        ("panics", |tool| tool.run(|_, _| unreachable!("a bug")), Status::FatalError),
        (
            "panics later",
            |tool| {
                tool.run(|_, _| {
                    Box::pin(async {
                        tokio::time::sleep(ms(10)).await;
                        unreachable!("a bug")
                    })
                })
            },
            Status::FatalError,
        ),
        ("throws a bomb", |tool| tool.run(|_, _| std::panic::panic_any(Bomb)), Status::FatalError),
        (
            "drops a bomb at its end",
            |tool| {
                tool.run(|_, _| {
                    Box::pin(async {
                        let _bomb = Bomb;
                        fine()
                    })
                })
            },
            Status::FatalError,
        ),
        (
            "holds a bomb and hangs",
            |tool| {
                tool.run(|_, _| {
                    Box::pin(async {
                        let _bomb = Bomb;
                        std::future::pending().await
                    })
                })
            },
            Status::Unknown,
        ),
        ("hangs", |tool| tool.hangs(&Count::default()), Status::Unknown),
        (
            "ignores its token",
            |tool| {
                tool.run(|cx, _| {
                    Box::pin(async {
                        while tokio::time::timeout(ms(50), cx.cancelled()).await.is_err() {}
                        std::future::pending().await
                    })
                })
            },
            Status::Unknown,
        ),
        (
            "stops itself",
            |tool| {
                tool.run(|cx, _| {
                    cx.token().cancel();
                    Box::pin(std::future::pending())
                })
            },
            Status::Unknown,
        ),
    ];
    for inline in [false, true] {
        for (what, body, status) in bodies {
            let hostile = within(writer("hostile"), ms(500)).spec(|spec| spec.inline = inline);
            let registry = Registry::new()
                .with(body(hostile))
                .and_then(|registry| registry.with(writer("next").answers(&Count::default(), fine())))
                .unwrap();
            let mut world = World::with(registry).build();
            let began = tokio::time::Instant::now();
            assert_eq!(world.call("hostile", json!({})).await.status(), status, "{what}");
            assert!(began.elapsed() <= ms(750), "{what}");
            assert_eq!(world.told("settled").len(), 1, "{what}");
            let next = tokio::time::timeout(ms(5000), world.call("next", json!({}))).await;
            assert_eq!(next.expect("its place is free").status(), Status::Ok, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_ignores_its_token_is_dropped_after_the_grace() {
    let beats = Count::default();
    let mut world = World::of(never_ends(&beats)).build();
    let token = world.scope.run.token().clone();
    let stop = async {
        tokio::time::sleep(ms(1020)).await;
        token.cancel();
    };
    let (settled, ()) = tokio::join!(world.call("t", json!({})), stop);
    assert_eq!((settled.status(), beats.get()), (Status::RetryableError, 12));
    tokio::time::sleep(ms(10_000)).await;
    assert_eq!(beats.get(), 12, "it is gone");
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_the_body_with_it() {
    let beats = Count::default();
    let mut world = World::of(never_ends(&beats)).build();
    assert!(tokio::time::timeout(ms(550), world.call("t", json!({}))).await.is_err());
    tokio::time::sleep(ms(10_000)).await;
    assert_eq!(beats.get(), 5);
    assert!(world.steps().contains(&"started".to_owned()), "how far it came is told");
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_waiting_for_a_turn_takes_its_bodies_with_it() {
    let beats = Count::default();
    let mut world = World::of(never_ends(&beats)).build();
    let calls = vec![world.proposed("t", "{}"), world.proposed("t", "{}")];
    let turn = world.gate.turn(&world.scope());
    assert!(tokio::time::timeout(ms(550), turn.run(calls)).await.is_err());
    tokio::time::sleep(ms(10_000)).await;
    assert_eq!(beats.get(), 10);
}

/// A runtime that is shutting down: it takes tasks and forgets them.
struct Ending;

impl Spawner for Ending {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        drop(task);
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) {
        drop(work);
    }
}

#[tokio::test]
async fn a_turn_whose_runtime_is_ending_is_answered_once_for_each_id() {
    let tool = reader("t").answers(&Count::default(), Ok(Output::text("never")));
    let mut world = World::of(tool).gate(|gate| gate.spawner(Some(Arc::new(Ending)))).build();
    let mut calls = vec![world.proposed("t", "{}"), world.proposed("t", "{}")];
    calls.push(calls[0].clone());
    let answers = world.gate.turn(&world.scope()).run(calls).await;
    let told: Vec<_> = answers.iter().map(|answer| (answer.id.as_str(), answer.status())).collect();
    assert_eq!(told, [("c1", Status::Unknown), ("c2", Status::Unknown)]);
}

#[tokio::test]
async fn a_result_of_100_mb_is_kept_whole_and_shown_by_a_bounded_preview() {
    let line = "all is well; ".repeat(100) + "\n";
    let lines = 100_000_000 / line.len();
    let folder = tempfile::tempdir().unwrap();
    let store = FolderResults::new(folder.path(), Arc::new(TokioSpawner::current().unwrap()));
    let tool = reader("t").answers(&Count::default(), Ok(Output::text(line.repeat(lines))));
    let mut world = World::of(tool).gate(|gate| gate.results(store.clone())).build();
    let settled = world.call("t", json!({})).await;
    assert!(text(&settled).len() < 26_000, "{}", text(&settled).len());
    let put_aside = settled.offloaded.as_deref().unwrap();
    assert_eq!((put_aside.chars, put_aside.lines), (line.len() * lines, lines));
    let reference = put_aside.result.clone().unwrap();
    let last = store
        .read(&reference, &tollgate::tool::Caller::new("main"), Part::Lines { from: lines, count: 5 })
        .await
        .unwrap();
    assert_eq!(last, line);
}

#[tokio::test(start_paused = true)]
async fn a_failure_with_a_message_of_10_mb_is_bounded() {
    let tool = reader("t").answers(&Count::default(), Err(Failure::fatal("x".repeat(10_000_000))));
    let settled = World::of(tool).build().call("t", json!({})).await;
    assert_eq!(settled.status(), Status::FatalError);
    assert!(settled.failure().unwrap().message.len() < 26_000);
}

#[tokio::test(start_paused = true)]
async fn a_failure_with_a_hint_of_10_mb_is_bounded() {
    let failure = Failure::fatal("no").with_hint("x".repeat(10_000_000));
    let mut world = World::of(reader("t").answers(&Count::default(), Err(failure))).build();
    let settled = world.call("t", json!({})).await;
    assert!(settled.failure().unwrap().hint.as_ref().unwrap().len() < 26_000);
}

#[tokio::test(start_paused = true)]
async fn causes_that_panic_or_never_end_take_no_answer_away() {
    #[derive(Debug)]
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            unreachable!("a bug in an error")
        }
    }
    impl std::error::Error for Unspeakable {}
    #[derive(Debug)]
    struct Circle;
    impl std::fmt::Display for Circle {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("round ")
        }
    }
    impl std::error::Error for Circle {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(self)
        }
    }
    for (failure, causes) in
        [(Failure::fatal("no").caused_by(Unspeakable), 1), (Failure::fatal("no").caused_by(Circle), 32)]
    {
        let mut world = World::of(writer("t").answers(&Count::default(), Err(failure))).build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(settled.failure().unwrap().message, "no");
        assert_eq!(settled.failure().unwrap().chain().len(), causes);
        assert_eq!(world.told("executed")[0]["chain"].as_array().unwrap().len(), causes);
    }
}

#[tokio::test(start_paused = true)]
async fn an_output_that_its_own_schema_forbids_never_reaches_the_model_as_if_it_were_right() {
    let schema =
        json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let outputs = [
        (Output::json(json!({"count": 7})), Status::Ok),
        (Output::json(json!({"count": "many"})), Status::FatalError),
        (Output::json(json!([])), Status::FatalError),
        (Output::text("seven"), Status::FatalError),
        (Output::default(), Status::FatalError),
    ];
    for (output, expected) in outputs {
        let declared = reader("t").spec(|spec| spec.output_schema = Some(schema.clone()));
        let mut world = World::of(declared.answers(&Count::default(), Ok(output.clone()))).build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(settled.status(), expected, "{output:?}");
        if expected == Status::FatalError {
            assert!(!serde_json::to_string(&settled).unwrap().contains("many"));
            assert_eq!(world.told("executed")[0]["status"], "fatal_error");
        }
    }
}

// Observers

#[tokio::test(start_paused = true)]
async fn a_slow_observer_misses_events_is_told_how_many_and_slows_nobody() {
    let quick = reader("t").spec(|spec| spec.inline = true).answers(&Count::default(), fine());
    let mut world = World::of(quick).build();
    let mut slow = world.gate.observe(10);
    for n in 0..100 {
        assert_eq!(world.call("t", json!({"n": n})).await.status(), Status::Ok);
    }
    let mut seen: Vec<Value> = Vec::new();
    while slow.drain(|event| seen.push(serde_json::to_value(event).unwrap())) {}
    let settled = seen.iter().filter(|event| event["event"] == "settled").count();
    assert_eq!(settled, 10, "calls are seen whole or not at all");
    assert_eq!(
        (&seen.last().unwrap()["event"], &seen.last().unwrap()["count"]),
        (&json!("missed"), &json!(90))
    );
    assert_eq!(world.told("settled").len(), 100, "another observer misses nothing");
    let _ = world.call("t", json!({})).await;
    let mut more = 0;
    slow.drain(|event| more += usize::from(serde_json::to_value(event).unwrap()["event"] == "settled"));
    assert_eq!(more, 1, "from then on it sees again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_that_sleeps_on_every_event_holds_up_no_call() {
    let quick = reader("t").spec(|spec| spec.inline = true).answers(&Count::default(), fine());
    let mut world = World::of(quick).build();
    let slow = world.gate.observe(10);
    let observer = std::thread::spawn(move || {
        let mut seen = 0;
        slow.for_each(|_| {
            std::thread::sleep(ms(20));
            seen += 1;
        });
        seen
    });
    let began = Instant::now();
    world.scope.run = Run::new("quick");
    for n in 0..200 {
        let _ = world.call("t", json!({"n": n})).await;
    }
    // Seen one by one, the events of 200 calls would take half a minute.
    assert!(began.elapsed() < ms(5000), "{:?}", began.elapsed());
    drop(world);
    assert!(observer.join().unwrap() > 0);
}
