//! Deadlines.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tollgate::{
    Output, Registry,
    outcome::{Settled, Status},
    tool::{Timeouts, ToolBuilder},
};

use crate::world::{Bodies, Count, World, fine, reader, text, writer};
use crate::{GRACE, ms, total, within};

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

/// A turn of these calls: how each ended, and how long all of it took.
async fn batch(tools: Vec<tollgate::tool::DynTool>, cap: usize, calls: &[&str]) -> (Vec<String>, Duration) {
    let registry = tools.into_iter().fold(Registry::new(), |all, tool| all.with(tool).unwrap());
    let mut world = World::with(registry).gate(|gate| gate.max_concurrency(cap)).build();
    let calls: Vec<_> = calls.iter().map(|tool| world.proposed(tool, "{}")).collect();
    let began = Instant::now();
    let answers = world.gate.turn(&world.scope()).run(calls).await;
    let told = |answer: &Settled| match answer.failure() {
        Some(failure) => failure.message.clone(),
        None => "ok".to_owned(),
    };
    (answers.iter().map(told).collect(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn in_a_batch_every_call_keeps_its_own_deadline_and_its_own_signs_of_life() {
    for inline in [false, true] {
        let reader = |name| reader(name).spec(|spec| spec.inline = inline);
        let idle = Timeouts { idle: Some(ms(100)), ..Timeouts::default() };
        let tools = vec![
            within(reader("late"), total(ms(100))).hangs(&Count::default()),
            lively(within(reader("lively"), idle), 10),
            within(reader("silent"), idle).hangs(&Count::default()),
            reader("slow").takes(&Count::default(), ms(500)),
        ];
        let (told, took) = batch(tools, 10, &["late", "lively", "slow", "silent"]).await;
        let late = "The tool was stopped: it did not finish within 100ms.";
        let silent = "The tool was stopped: it made no progress for 100ms.";
        assert_eq!((&*told, took), (&[late, "ok", "ok", silent].map(str::to_owned)[..], ms(600)));
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_batch_a_sooner_deadline_of_a_call_that_begins_later_is_kept() {
    let tools = vec![
        within(reader("long"), total(ms(2000))).hangs(&Count::default()),
        reader("first").takes(&Count::default(), ms(50)),
        within(reader("short"), total(ms(100))).hangs(&Count::default()),
        reader("last").takes(&Count::default(), ms(10)),
    ];
    let began = Instant::now();
    let (told, _) = batch(tools, 2, &["long", "first", "short", "last"]).await;
    let late = |limit| format!("The tool was stopped: it did not finish within {limit}.");
    assert_eq!(told, [late("2s"), "ok".into(), late("100ms"), "ok".into()]);
    assert_eq!(began.elapsed(), ms(2000) + GRACE);
}
