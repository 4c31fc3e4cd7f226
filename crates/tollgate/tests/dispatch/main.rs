//! Turns from outside: what shares a batch, what stops what, and calls that begin while the model still writes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as loudly as tests")]

mod streaming;
mod left;
mod elsewhere;
#[path = "../turns/mod.rs"]
mod world;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::sleep;
use tollgate::{
    Effects, Failure, Opinion, Output, Proposed, Registry, Scope, Settled, Tollgate, TurnStream,
    event::{Subscription, What},
    guard::Workspace,
    outcome::Status,
    policy::Rules,
    tool::{Concurrency, Interrupt, OnFatal, ToolBuilder},
};
use world::{End, PLAIN, Sign, Work, Worker, World, read, write};

const CANCEL: Worker = Worker { interrupt: Interrupt::Cancel, ..PLAIN };
const STOPS: Worker = Worker { on_fatal: OnFatal::StopSiblings, ..PLAIN };

/// A world, a gate of it with a cap, and a scope.
fn set_up(cap: usize) -> (World, Tollgate, Arc<Scope>) {
    let world = World::default();
    let gate = world::builder(&world).max_concurrency(cap).build();
    (world, gate, world::scope("run", &Workspace::new("/work")))
}

fn call(id: &str, work: &Work) -> Proposed {
    work.call(id, PLAIN)
}

async fn wait(ms: u64) {
    sleep(Duration::from_millis(ms)).await;
}

/// Each answer in a word or two: `c1 ok`, `c2 cancelled`, `c3 unknown after 1`.
fn words(answers: &[Settled]) -> Vec<String> {
    let word = |answer: &Settled| match answer.refusal() {
        Some(refusal) => format!("{} {}", answer.id, refusal.code.as_str()),
        None => format!("{} {}", answer.id, answer.status()),
    };
    answers.iter().map(word).collect()
}

fn discarded(events: &mut Subscription) -> Vec<String> {
    let mut calls = Vec::new();
    events.drain(|event| {
        if matches!(event.what, What::Discarded) {
            calls.push(event.call.unwrap().as_str().to_owned());
        }
    });
    calls
}

// ---- batches --------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn safe_groups_on_either_side_of_a_write_are_never_merged() {
    let (world, gate, scope) = set_up(10);
    let calls = vec![
        call("r1", &read(20)),
        call("r2", &read(10)),
        call("w3", &write(10)),
        call("r4", &read(10)),
        call("r5", &read(20)),
    ];
    let answers = gate.turn(&scope).run(calls).await;
    assert_eq!(words(&answers), ["r1 ok", "r2 ok", "w3 ok", "r4 ok", "r5 ok"]);
    assert_eq!(world.told(), "+r1 +r2 -r2 -r1 +w3 -w3 +r4 +r5 -r4 -r5");
}

#[tokio::test(start_paused = true)]
async fn a_cap_of_one_runs_a_batch_one_after_the_other() {
    let (world, gate, scope) = set_up(1);
    let calls = vec![call("r1", &read(30)), call("r2", &read(20)), call("r3", &read(10))];
    let answers = gate.turn(&scope).run(calls).await;
    assert_eq!(words(&answers), ["r1 ok", "r2 ok", "r3 ok"]);
    assert_eq!(world.told(), "+r1 -r1 +r2 -r2 +r3 -r3");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_a_hook_makes_a_write_leaves_its_batch_and_runs_alone_right_after() {
    let (world, gate, scope) = set_up(10);
    let rewritten = Work { becomes: Some(Concurrency::WriteExclusive), ..read(10) };
    let calls = vec![
        call("r1", &read(20)),
        call("x2", &rewritten),
        call("r3", &read(10)),
        call("w4", &write(10)),
        call("r5", &read(10)),
    ];
    let answers = gate.turn(&scope).run(calls).await;
    assert_eq!(words(&answers), ["r1 ok", "x2 ok", "r3 ok", "w4 ok", "r5 ok"]);
    assert_eq!(world.told(), "~x2 +r1 +r3 -r3 -r1 +x2 -x2 +w4 -w4 +r5 -r5");
}

#[tokio::test(start_paused = true)]
async fn a_write_of_one_dispatcher_keeps_out_everything_of_another_in_the_same_workspace() {
    let (world, gate, scope) = set_up(10);
    let other = world::builder(&world).build();
    let theirs = world::scope("sub", &scope.workspace.clone());
    let (mine, later) = (gate.turn(&scope), other.turn(&theirs));
    let _ = tokio::join!(mine.run(vec![call("w1", &write(50)), call("r2", &read(50))]), async {
        wait(10).await;
        later.run(vec![call("s1", &read(10)), call("s2", &write(10))]).await
    });
    assert_eq!(world.told(), "+w1 -w1 +r2 +s1 -s1 -r2 +s2 -s2");
}

// ---- siblings -------------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_declared_fatal_end_in_its_first_moment_stops_its_siblings_before_anything_is_asked_of_them() {
    let tool = |name: &str| {
        let tool = ToolBuilder::new(name, "A tool.", json!({"type": "object"})).unwrap();
        tool.effects(|_, _| Effects::reading()).spec(|spec| {
            spec.inline = true;
            spec.on_fatal = OnFatal::StopSiblings;
        })
    };
    let ran = Arc::new(AtomicBool::new(false));
    let runs = ran.clone();
    let registry = Registry::new()
        .with(tool("fatal").run(|_, _| Box::pin(async { Err(tollgate::Failure::fatal("no")) })))
        .and_then(|registry| {
            registry.with(tool("other").run(move |_, _| {
                runs.store(true, Ordering::Relaxed);
                Box::pin(async { Ok(Output::text("")) })
            }))
        })
        .unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    let calls = [("c1", "fatal"), ("c2", "other"), ("c3", "other")];
    let calls = calls.map(|(id, tool)| Proposed::new(id, tool, "{}")).into();
    let answers = gate.turn(&scope).run(calls).await;
    assert_eq!(words(&answers), ["c1 fatal_error", "c2 cancelled", "c3 cancelled"]);
    assert!(answers[1..].iter().all(|answer| answer.phase == tollgate::outcome::Phase::Check));
    assert!(!ran.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn an_ordinary_fatal_error_stops_no_sibling() {
    let (_, gate, scope) = set_up(10);
    let fatal = Work { end: End::Fatal, ..read(5) };
    let panics = Work { end: End::Panic, ..read(5) };
    let calls = vec![call("r1", &fatal), call("r2", &panics), call("r3", &read(500))];
    let answers = gate.turn(&scope).run(calls).await;
    assert_eq!(words(&answers), ["r1 fatal_error", "r2 fatal_error", "r3 ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_declared_fatal_end_or_panic_stops_the_siblings_and_each_says_whether_it_had_started() {
    for end in [End::Fatal, End::Panic] {
        let (_, gate, scope) = set_up(2);
        let fatal = Work { end, ..read(5) }.call("r1", STOPS);
        let calls = vec![fatal, call("r2", &read(500)), call("r3", &read(1)), call("w4", &write(1))];
        let answers = gate.turn(&scope).run(calls).await;
        assert_eq!(words(&answers), ["r1 fatal_error", "r2 retryable_error", "r3 cancelled", "w4 ok"]);
        assert_eq!(answers[1].failure().unwrap().message, "The call was interrupted after it had started.");
        assert_eq!((answers[1].attempts, answers[2].attempts), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_stopped_before_its_turn_is_shown_to_no_hook() {
    let (world, gate, scope) = set_up(1);
    let fatal = Work { end: End::Fatal, ..read(5) };
    let rewritten = Work { becomes: Some(Concurrency::Unsafe), ..read(5) };
    let calls = vec![fatal.call("r1", STOPS), call("x2", &rewritten)];
    assert_eq!(words(&gate.turn(&scope).run(calls).await), ["r1 fatal_error", "x2 cancelled"]);
    assert_eq!(world.told(), "+r1 -r1");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_left_its_batch_is_not_stopped_with_it() {
    for worker in [PLAIN, CANCEL] {
        let (world, gate, scope) = set_up(10);
        let rewritten = Work { becomes: Some(Concurrency::WriteExclusive), ..read(10) };
        let fatal = Work { end: End::Fatal, ..read(5) };
        let calls = vec![fatal.call("r1", STOPS), rewritten.call("x2", worker)];
        assert_eq!(words(&gate.turn(&scope).run(calls).await), ["r1 fatal_error", "x2 ok"]);
        assert_eq!(world.told(), "~x2 +r1 -r1 +x2 -x2");
    }
}

// ---- interruptions --------------------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_new_message_stops_what_may_be_cancelled_lets_the_rest_finish_and_starts_nothing_else() {
    let (world, gate, scope) = set_up(3);
    let turn = gate.turn(&scope);
    let interrupter = turn.interrupter();
    let calls = vec![
        read(900).call("cancel", CANCEL),
        call("block", &read(900)),
        call("quick", &read(20)),
        Work { heeds: true, ..read(900) }.call("after", CANCEL),
        call("queued", &read(1)),
        call("write", &write(1)),
    ];
    let (answers, ()) = tokio::join!(turn.run(calls), async {
        wait(30).await;
        interrupter.new_message();
    });
    let told = [
        "cancel retryable_error",
        "block ok",
        "quick ok",
        "after retryable_error",
        "queued cancelled",
        "write cancelled",
    ];
    assert_eq!(words(&answers), told);
    assert_eq!(world.told(), "+cancel +block +quick -quick +after -after -cancel -block");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_place_does_not_start_after_a_new_message() {
    let (world, gate, scope) = set_up(10);
    let busy = world::builder(&world).build();
    let theirs = world::scope("sub", &scope.workspace);
    let turn = gate.turn(&scope);
    let interrupter = turn.interrupter();
    let (_, answers, ()) = tokio::join!(
        busy.turn(&theirs).run(vec![call("theirs", &write(100))]),
        turn.run(vec![call("mine", &write(10))]),
        async {
            wait(50).await;
            interrupter.new_message();
        }
    );
    assert_eq!(words(&answers), ["mine cancelled"]);
    assert_eq!(world.told(), "+theirs -theirs");
}

#[tokio::test(start_paused = true)]
async fn stopping_everything_answers_every_call_and_a_stopped_write_is_unknown() {
    let (_, gate, scope) = set_up(10);
    let turn = gate.turn(&scope);
    let interrupter = turn.interrupter();
    let calls = vec![call("r1", &read(10)), call("w2", &write(900)), call("r3", &read(10))];
    let (answers, ()) = tokio::join!(turn.run(calls), async {
        wait(50).await;
        interrupter.stop_everything();
    });
    assert_eq!(words(&answers), ["r1 ok", "w2 unknown", "r3 cancelled"]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_dropped_stops_its_bodies_and_frees_the_workspace() {
    let (world, gate, scope) = set_up(10);
    let turn = gate.turn(&scope).run(vec![call("w1", &write(900))]);
    assert!(tokio::time::timeout(Duration::from_millis(50), turn).await.is_err());
    let answers = gate.turn(&scope).run(vec![call("w2", &write(10))]).await;
    assert_eq!(words(&answers), ["w2 ok"]);
    assert_eq!(world.told(), "+w1 -w1 +w2 -w2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_whose_blocking_body_still_runs_keeps_its_place() {
    let (release, released) = mpsc::channel::<()>();
    let (released, left) = (Mutex::new(released), Arc::new(AtomicBool::new(false)));
    let gone = left.clone();
    let stuck = ToolBuilder::new("stuck", "Blocks its thread.", json!({"type": "object"}))
        .unwrap()
        .effects(|_, _| Effects::reading())
        .run(move |_, _| {
            let _ = released.lock().unwrap().recv_timeout(Duration::from_secs(20));
            gone.store(true, Ordering::SeqCst);
            Box::pin(async { Ok(Output::text("")) })
        });
    let change = ToolBuilder::new("change", "Says whether it is alone.", json!({"type": "object"}))
        .unwrap()
        .effects(|_, _| Effects::writing())
        .run(move |_, _| {
            let alone = left.load(Ordering::SeqCst);
            Box::pin(async move { Ok(Output::json(alone)) })
        });
    let registry = Registry::new().with(stuck).unwrap().with(change).unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let workspace = Workspace::new("/work");
    let (mine, theirs) = (world::scope("mine", &workspace), world::scope("theirs", &workspace));

    let (answers, ()) = tokio::join!(gate.turn(&mine).run(vec![Proposed::new("c1", "stuck", "{}")]), async {
        wait(50).await;
        mine.run.token().cancel();
    });
    assert_eq!(words(&answers), ["c1 retryable_error"]);

    let turn = gate.turn(&theirs);
    let writing = tokio::spawn(turn.run(vec![Proposed::new("c2", "change", "{}")]));
    wait(50).await;
    assert!(!writing.is_finished());
    release.send(()).unwrap();
    let answers = writing.await.unwrap();
    assert_eq!(answers[0].output().unwrap().structured(), Some(&json!(true)));
}

/// Bodies are given away together. What comes after a call in its batch is not waited for all the same, whether it is
/// refused, takes its time, has to wait, or runs along with the batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_begins_although_the_next_calls_of_its_batch_are_slow_refused_or_waiting() {
    let begun = Arc::new(AtomicBool::new(false));
    let reading = |name: &str| {
        let builder = ToolBuilder::new(name, "Reads.", json!({"type": "object"})).unwrap();
        builder.effects(|_, _| Effects::reading())
    };
    let fine = |builder: ToolBuilder| builder.run(|_, _| Box::pin(async { Ok(Output::text("")) }));
    let sign = begun.clone();
    let first = reading("first").run(move |_, _| {
        sign.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(Output::text("")) })
    });
    // A runtime keeps the last body it was given for its own thread.
    let other = fine(reading("other"));
    let slow = fine(reading("slow").check(|_, _| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }));
    let refused = fine(reading("refused").check(|_, _| Err(tollgate::Refusal::invalid_value("", "no"))));
    // Blocks whoever walks the batch until the first body has begun, or for so long that it cannot have.
    let seen = begun.clone();
    let has_begun = move || {
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while !seen.load(Ordering::SeqCst) && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let has = seen.load(Ordering::SeqCst);
        has.then_some(()).ok_or_else(|| tollgate::Refusal::invalid_value("", "the first body did not begin"))
    };
    let asked = has_begun.clone();
    let inline = reading("inline").spec(|spec| spec.inline = true).run(move |_, _| {
        let answer = asked().map_or_else(|_| Err(Failure::fatal("too early")), |()| Ok(Output::text("")));
        Box::pin(async { answer })
    });
    let last = fine(reading("last").check(move |_, _| has_begun()));
    let registry = [first, other, slow, refused, inline, last];
    let registry = registry.into_iter().try_fold(Registry::new(), Registry::with);
    let gate = Tollgate::builder(registry.unwrap()).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    for between in ["slow", "refused", "inline"] {
        begun.store(false, Ordering::SeqCst);
        let calls = ["first", "other", between, "last"].map(|name| Proposed::new(name, name, "{}"));
        let answers = gate.turn(&scope).run(calls.into()).await;
        let expected =
            if between == "refused" { "refused invalid_value".into() } else { format!("{between} ok") };
        assert_eq!(words(&answers), ["first ok", "other ok", &expected, "last ok"]);
    }
}

// ---- one tool list per turn -----------------------------------------------------------------------------

#[tokio::test(start_paused = true)]
async fn a_turn_keeps_the_tools_it_began_with_while_others_come_and_go() {
    let enabled = Arc::new(AtomicBool::new(true));
    let asked = enabled.clone();
    let tool = |name: &str, said: &'static str| {
        ToolBuilder::new(name, "Says a word.", json!({"type": "object"}))
            .unwrap()
            .effects(|_, _| Effects::reading())
            .run(move |_, _| Box::pin(async move { Ok(Output::text(said)) }))
    };
    let switched = ToolBuilder::new("switched", "Can be switched off.", json!({"type": "object"}))
        .unwrap()
        .enabled(move || asked.load(Ordering::SeqCst))
        .run(|_, _| Box::pin(async { Ok(Output::text("on")) }));
    let registry = Registry::new().with(tool("word", "old")).unwrap().with(switched).unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    let calls = || vec![Proposed::new("c1", "word", "{}"), Proposed::new("c2", "switched", "{}")];

    let (first, second) = (gate.turn(&scope), gate.turn(&scope));
    enabled.store(false, Ordering::SeqCst);
    gate.refresh();
    assert_eq!(words(&first.run(calls()).await), ["c1 ok", "c2 ok"]);
    assert_eq!(words(&gate.turn(&scope).run(calls()).await), ["c1 ok", "c2 not_enabled"]);

    gate.replace(Registry::new().with(tool("word", "new")).unwrap());
    let [old, new] = [second.run(calls()).await, gate.turn(&scope).run(calls()).await];
    assert_eq!(old[0].output(), Some(&Output::text("old")));
    assert_eq!(new[0].output(), Some(&Output::text("new")));
    assert_eq!(words(&new), ["c1 ok", "c2 unknown_tool"]);
}
