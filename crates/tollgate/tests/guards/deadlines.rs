//! Deadlines.

use serde_json::json;
use tokio::time::Instant;
use tollgate::{
    Output,
    outcome::Status,
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
