//! The guards of a turn of several calls, whose bodies nobody waits for one by one.

use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate::{
    Failure, Registry,
    guard::RetryPolicy,
    outcome::{Settled, Status},
    tool::{DynTool, Timeouts, ToolBuilder},
};

use crate::world::{Bodies, Count, World, fine, reader};
use crate::{GRACE, ms, total, within};

/// The answers of one turn with a call of each tool, and the world they were given in.
async fn turn(tools: Vec<(&str, DynTool)>) -> (Vec<Settled>, World) {
    let names: Vec<_> = tools.iter().map(|(name, _)| (*name).to_owned()).collect();
    let registry = tools.into_iter().try_fold(Registry::new(), |registry, (_, tool)| registry.with(tool));
    let mut world = World::with(registry.unwrap()).build();
    let calls = names.iter().map(|name| world.proposed(name, "{}")).collect();
    let answers = world.gate.turn(&world.scope()).run(calls).await;
    (answers, world)
}

fn naps(builder: ToolBuilder, millis: u64) -> DynTool {
    builder.run(move |_, _| {
        Box::pin(async move {
            tokio::time::sleep(ms(millis)).await;
            fine()
        })
    })
}

fn kinds(inline: bool) -> impl Fn(&str) -> ToolBuilder {
    move |name| reader(name).spec(|spec| spec.inline = inline)
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_one_call_holds_for_it_alone_wherever_its_body_runs() {
    for inline in [false, true] {
        let tool = kinds(inline);
        let began = Instant::now();
        let (answers, _) = turn(vec![
            ("slow", naps(tool("slow"), 600)),
            ("late", within(tool("late"), total(ms(100))).hangs(&Count::default())),
            ("later", within(tool("later"), total(ms(200))).hangs(&Count::default())),
        ])
        .await;
        let statuses: Vec<_> = answers.iter().map(Settled::status).collect();
        assert_eq!(
            statuses,
            [Status::Ok, Status::RetryableError, Status::RetryableError],
            "inline: {inline}"
        );
        assert_eq!(began.elapsed(), ms(600));
        let took: Vec<_> = answers[1..].iter().map(|answer| &answer.failure().unwrap().message).collect();
        assert!(took[0].contains("within 100ms") && took[1].contains("within 200ms"), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retryable_error_of_one_call_is_tried_again_wherever_its_body_runs() {
    for inline in [false, true] {
        let runs = Count::default();
        let busy = || Err(Failure::retryable("busy"));
        let tool = kinds(inline);
        let again = tool("again").spec(|spec| spec.retry = RetryPolicy::up_to(5));
        let again = again.answers_in_turn(&runs, vec![busy(), busy(), fine()]);
        let (answers, _) = turn(vec![("again", again), ("other", naps(tool("other"), 5))]).await;
        assert_eq!((answers[0].status(), answers[0].attempts, runs.get()), (Status::Ok, 3, 3), "{inline}");
        assert_eq!(answers[1].status(), Status::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_first_try_counts_for_the_retries_of_a_call_among_others() {
    let runs = Count::default();
    let counted = runs.clone();
    let busy = within(reader("busy"), total(ms(300))).spec(|spec| spec.retry = RetryPolicy::up_to(9));
    let busy = busy.run(move |_, _| {
        counted.up();
        Box::pin(async {
            tokio::time::sleep(ms(250)).await;
            Err(Failure::retryable("busy").after(ms(100)))
        })
    });
    let (answers, _) = turn(vec![("busy", busy), ("other", naps(reader("other"), 5))]).await;
    assert_eq!((answers[0].status(), runs.get()), (Status::RetryableError, 1));
}

#[tokio::test(start_paused = true)]
async fn progress_of_a_body_that_ends_at_once_is_told_before_its_end() {
    let quick = kinds(true)("quick").run(|cx, _| {
        cx.progress(0.5, "half");
        Box::pin(async { fine() })
    });
    let (answers, mut world) = turn(vec![("quick", quick), ("other", naps(reader("other"), 5))]).await;
    assert_eq!(answers[0].status(), Status::Ok);
    let events = world.events().into_iter().filter(|event| event["call"] == answers[0].id.as_str());
    let told: Vec<_> = events.skip_while(|event| event["event"] != "started").collect();
    let told: Vec<_> = told.iter().map(|event| (&event["event"], &event["message"])).collect();
    let (none, half) = (Value::Null, json!("half"));
    let steps =
        ["started", "progress", "progress", "progress", "executed", "after", "settled"].map(Value::from);
    let words = [&none, &none, &half, &none, &none, &none, &none];
    assert_eq!(told, steps.iter().zip(words).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_progress_moved_is_kept_although_nothing_else_happens() {
    let idle = Timeouts { idle: Some(ms(100)), ..total(ms(5000)) };
    let falls_silent = within(reader("silent"), idle).run(|cx, _| {
        Box::pin(async move {
            tokio::time::sleep(ms(60)).await;
            cx.progress(0.5, "alive");
            std::future::pending().await
        })
    });
    let began = Instant::now();
    let (answers, _) = turn(vec![("silent", falls_silent), ("other", naps(reader("other"), 5))]).await;
    assert_eq!(answers[0].status(), Status::RetryableError);
    assert_eq!(began.elapsed(), ms(160) + GRACE);
}
