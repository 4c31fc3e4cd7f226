//! What is left of calls that have their answers, and bodies that wait to be begun together.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::json;
use tokio::sync::Notify;
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Registry, Scope, Settled, Tollgate, Tool, ToolSpec,
    guard::Workspace, outcome::Status, policy::Rules, tool::ToolBuilder,
};

use crate::{words, world};

fn reading(name: &str) -> ToolBuilder {
    let builder = ToolBuilder::new(name, "Reads.", json!({"type": "object"})).unwrap();
    builder.effects(|_, _| Effects::reading())
}

fn naps(name: &str, nap: Duration, spec: impl FnOnce(&mut ToolSpec)) -> impl Tool {
    reading(name).spec(spec).run(move |_, _| {
        Box::pin(async move {
            tokio::time::sleep(nap).await;
            Ok(Output::text(""))
        })
    })
}

#[tokio::test]
async fn whoever_has_the_answers_and_lets_the_gate_go_may_wait_for_its_observers() {
    const MANY: usize = 100;
    let nap = naps("nap", Duration::from_millis(5), |_| {});
    let registry = Registry::new().with(nap).unwrap();
    let rules = Rules::new().allow("*").unwrap();
    let gate = Tollgate::builder(registry).policy(rules).max_concurrency(MANY).build();
    let (ended, end) = mpsc::channel();
    let seen = gate.observe(10_000);
    let observer = std::thread::spawn(move || {
        seen.for_each(|_| {});
        let _ = ended.send(());
    });
    // On a task, whose thread is the only one there is: what is left to others is not done while it waits.
    let turn = tokio::spawn(async move {
        let scope = world::scope("run", &Workspace::new("/work"));
        let calls = (0..MANY).map(|at| Proposed::new(at.to_string(), "nap", "{}")).collect();
        let answers = gate.turn(&scope).run(calls).await;
        drop(gate);
        (answers.len(), end.recv_timeout(Duration::from_secs(10)).is_ok())
    });
    assert_eq!(turn.await.unwrap(), (MANY, true), "observers hear of the end while the task waits for them");
    observer.join().unwrap();
}

#[tokio::test]
async fn a_body_that_was_held_for_others_has_all_of_its_time_before_it() {
    // Longer than one that is stopped has to end by itself.
    let held = naps("held", Duration::from_millis(400), |spec| {
        spec.timeouts.total = Duration::from_millis(1_500);
    });
    let slow = reading("slow").check(|_, _| {
        std::thread::sleep(Duration::from_secs(2));
        Ok(())
    });
    let slow = slow.run(|_, _| Box::pin(async { Ok(Output::text("")) }));
    let registry = Registry::new().with(held).unwrap().with(slow).unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    let calls = ["held", "slow"].map(|name| Proposed::new(name, name, "{}"));
    assert_eq!(words(&gate.turn(&scope).run(calls.into()).await), ["held ok", "slow ok"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_blocks_its_thread_holds_up_none_of_the_many_that_begin_with_it() {
    const OTHERS: usize = 20;
    let ended = Arc::new(AtomicUsize::new(0));
    let (ends, seen) = (ended.clone(), ended);
    let other = reading("other").run(move |_, _| {
        let ends = ends.clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ends.fetch_add(1, Ordering::AcqRel);
            Ok(Output::text(""))
        })
    });
    let blocks = reading("blocks").run(move |_, _| {
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while seen.load(Ordering::Acquire) < OTHERS && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let all = seen.swap(0, Ordering::AcqRel) == OTHERS;
        Box::pin(async move { if all { Ok(Output::text("")) } else { Err(Failure::fatal("held up")) } })
    });
    let registry = Registry::new().with(other).unwrap().with(blocks).unwrap();
    let rules = Rules::new().allow("*").unwrap();
    let gate = Tollgate::builder(registry).policy(rules).max_concurrency(OTHERS + 1).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    for place in [0, OTHERS / 2, OTHERS - 1, OTHERS] {
        let name = |at| if at == place { "blocks" } else { "other" };
        let calls = (0..=OTHERS).map(|at| Proposed::new(at.to_string(), name(at), "{}")).collect();
        let answers = gate.turn(&scope).run(calls).await;
        assert!(answers.iter().all(|answer| answer.output().is_some()), "{place}: {:?}", words(&answers));
    }
}

/// Arguments that are counted when they are dropped.
struct Counted;

static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::AcqRel);
    }
}

struct Quick;

impl Tool for Quick {
    type Args = Counted;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("quick", "Reads.", json!({"type": "object"})).unwrap()
    }

    fn effects(&self, _: &Scope, _: &Counted) -> Effects {
        Effects::reading()
    }

    async fn run(&self, _: &Cx, _: &Counted) -> Result<Output, Failure> {
        tokio::time::sleep(Duration::from_millis(1)).await;
        Ok(Output::text(""))
    }
}

#[tokio::test]
async fn what_is_left_of_answered_calls_is_not_kept_for_as_long_as_others_take() {
    let on = Arc::new(Notify::new());
    let waited = on.clone();
    let waits = reading("waits").run(move |_, _| {
        let waited = waited.clone();
        Box::pin(async move {
            waited.notified().await;
            Ok(Output::text(""))
        })
    });
    let registry = Registry::new().with(Quick).unwrap().with(waits).unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    let calls = ["quick", "waits", "quick", "quick"].iter().enumerate();
    let calls = calls.map(|(at, name)| Proposed::new(at.to_string(), name, "{}")).collect();
    let turn = tokio::spawn(async move { gate.turn(&scope).run(calls).await });
    let gone = tokio::time::timeout(Duration::from_secs(10), async {
        while DROPPED.load(Ordering::Acquire) < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let gone = gone.await;
    on.notify_one();
    assert_eq!(turn.await.unwrap().len(), 4);
    assert!(gone.is_ok(), "arguments of answered calls are dropped while another runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_wait_for_others_do_not_begin_after_a_new_message() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counts = begun.clone();
    let held = reading("held").run(move |_, _| {
        counts.fetch_add(1, Ordering::AcqRel);
        Box::pin(async { Ok(Output::text("")) })
    });
    // Its check holds the thread that the others wait for, until the person has spoken.
    let (spoken, speaks) = mpsc::channel::<()>();
    let (looks, looked) = mpsc::channel();
    let speaks = std::sync::Mutex::new(speaks);
    let slow = reading("slow").check(move |_, _| {
        let _ = looks.send(());
        let _ = speaks.lock().unwrap().recv_timeout(Duration::from_secs(10));
        Ok(())
    });
    let slow = slow.run(|_, _| Box::pin(async { Ok(Output::text("")) }));
    let registry = Registry::new().with(held).unwrap().with(slow).unwrap();
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let scope = world::scope("run", &Workspace::new("/work"));
    let turn = gate.turn(&scope);
    let stop = turn.interrupter();
    let person = std::thread::spawn(move || {
        looked.recv_timeout(Duration::from_secs(10)).unwrap();
        stop.new_message();
        let _ = spoken.send(());
    });
    let calls = [("a", "held"), ("b", "held"), ("c", "slow")];
    let calls = calls.map(|(id, name)| Proposed::new(id, name, "{}")).into();
    let answers = turn.run(calls).await;
    person.join().unwrap();
    let statuses: Vec<_> = answers.iter().map(Settled::status).collect();
    assert_eq!(statuses, [Status::RetryableError, Status::RetryableError, Status::Refused]);
    assert_eq!(begun.load(Ordering::Acquire), 0);
}
