//! Retries.

use serde_json::json;
use tokio::time::Instant;
use tollgate::{Failure, guard::RetryPolicy, outcome::Status, tool::ToolBuilder};

use crate::world::{Bodies, Count, World, fine, reader, writer};
use crate::{ms, total, within};

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

// On real threads: the body that has answered ends while the next one begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_tried_again_at_once_is_heard_every_time() {
    let at_once = RetryPolicy { attempts: 3, ..RetryPolicy::NEVER };
    for _ in 0..500 {
        let runs = Count::default();
        let answers = vec![Err(Failure::retryable("busy")), Err(Failure::retryable("busy")), fine()];
        let tool = reader("t").spec(|spec| spec.retry = at_once).answers_in_turn(&runs, answers);
        let settled = World::of(tool).build().call("t", json!({})).await;
        assert_eq!((settled.status(), settled.attempts, runs.get()), (Status::Ok, 3, 3));
    }
}
