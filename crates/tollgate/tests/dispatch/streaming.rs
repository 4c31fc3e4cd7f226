//! Calls that are handed in while the model still writes.

use super::*;

/// Hands the calls in and lets what may begin begin.
async fn push(stream: &mut TurnStream, calls: Vec<Proposed>) {
    calls.into_iter().for_each(|call| stream.push(call));
    wait(1).await;
}

#[tokio::test(start_paused = true)]
async fn reads_begin_while_the_model_writes_and_everything_from_the_first_write_on_waits() {
    let (world, gate, scope) = set_up(10);
    let mut stream = gate.turn(&scope).streaming();
    push(&mut stream, vec![call("r1", &read(60)), call("r2", &read(20))]).await;
    assert_eq!(world.told(), "+r1 +r2");
    push(&mut stream, vec![call("w3", &write(10)), call("r4", &read(10))]).await;
    wait(30).await;
    assert_eq!(world.told(), "+r1 +r2 -r2");
    let answers = stream.finish().await;
    assert_eq!(words(&answers), ["r1 ok", "r2 ok", "w3 ok", "r4 ok"]);
    assert_eq!(world.told(), "+r1 +r2 -r2 -r1 +w3 -w3 +r4 -r4");
}

#[tokio::test(start_paused = true)]
async fn everything_after_a_call_that_must_be_asked_about_or_is_refused_waits() {
    let world = World::default();
    let rules = Rules::new().allow("*").unwrap().ask(&CANCEL.name()).unwrap();
    let gate = world::builder(&world).policy(rules).build();
    for blocking in [read(1).call("first", CANCEL), Proposed::new("first", "nobody", "{}")] {
        world.forget();
        let scope = world::scope("run", &Workspace::new("/work"));
        let mut stream = gate.turn(&scope).streaming();
        push(&mut stream, vec![blocking, call("r2", &read(1))]).await;
        wait(10).await;
        assert_eq!(world.told(), "");
        let answers = stream.finish().await;
        assert_eq!(answers[0].id.as_str(), "first");
        assert_eq!(words(&answers)[1], "r2 ok");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_own_tool_wants_asked_about_waits_for_the_end_of_the_turn() {
    let began = Arc::new(AtomicUsize::new(0));
    let counts = began.clone();
    let wary = ToolBuilder::new("wary", "Reads.", json!({"type": "object"}))
        .unwrap()
        .effects(|_, _| Effects::reading())
        .authorize(|_, _| Opinion::Ask("it is a holiday".into()))
        .run(move |_, _| {
            counts.fetch_add(1, Ordering::AcqRel);
            Box::pin(async { Ok(Output::text("")) })
        });
    let rules = Rules::new().allow("*").unwrap();
    let gate = Tollgate::builder(Registry::new().with(wary).unwrap()).policy(rules).build();
    let mut stream = gate.turn(&world::scope("run", &Workspace::new("/work"))).streaming();
    push(&mut stream, vec![Proposed::new("c1", "wary", "{}")]).await;
    wait(10).await;
    let cut = stream.cut("The stream broke.").await;
    assert!(cut[0].refusal().unwrap().reason.contains("None of its calls ran."));
    assert_eq!(began.load(Ordering::Acquire), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_keeps_the_cap_before_and_after_its_end() {
    let (world, gate, scope) = set_up(2);
    let mut stream = gate.turn(&scope).streaming();
    let calls = ["r1", "r2", "r3", "r4", "r5"].map(|id| call(id, &read(10)));
    push(&mut stream, calls.into()).await;
    assert_eq!(world.told(), "+r1 +r2");
    let answers = stream.finish().await;
    assert_eq!(words(&answers), ["r1 ok", "r2 ok", "r3 ok", "r4 ok", "r5 ok"]);
    let mut inside = 0_i32;
    for mark in world.marks() {
        inside += if mark.sign == Sign::End { -1 } else { 1 };
        assert!(inside <= 2, "{}", world.told());
    }
}

#[tokio::test(start_paused = true)]
async fn an_eager_read_that_a_hook_makes_a_write_waits_for_the_end_of_its_batch() {
    let (world, gate, scope) = set_up(10);
    let rewritten = Work { becomes: Some(Concurrency::WriteExclusive), ..read(10) };
    let mut stream = gate.turn(&scope).streaming();
    push(&mut stream, vec![call("x1", &rewritten), call("r2", &read(50))]).await;
    assert_eq!(world.told(), "~x1 +r2");
    assert_eq!(words(&stream.finish().await), ["x1 ok", "r2 ok"]);
    assert_eq!(world.told(), "~x1 +r2 -r2 +x1 -x1");
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_answers_every_call_with_protocol_error_and_discards_what_had_begun() {
    let (world, gate, scope) = set_up(10);
    let mut events = gate.observe(1_000);
    let mut stream = gate.turn(&scope).streaming();
    let heeds = Work { heeds: true, ..read(900) };
    let calls = vec![call("r1", &read(5)), call("r2", &heeds), call("w3", &write(5)), call("r4", &read(5))];
    push(&mut stream, calls).await;
    wait(20).await;
    let answers = stream.cut("The answer was cut at max_tokens.").await;
    let told = ["r1 protocol_error", "r2 protocol_error", "w3 protocol_error", "r4 protocol_error"];
    assert_eq!(words(&answers), told);
    assert_eq!(
        answers[0].refusal().unwrap().reason,
        "The answer was cut at max_tokens. None of its calls ran."
    );
    assert_eq!(discarded(&mut events), ["r1", "r2"]);
    wait(1_000).await;
    assert_eq!(world.told(), "+r1 +r2 -r1 -r2");
}

#[tokio::test(start_paused = true)]
async fn of_calls_that_share_an_id_in_a_stream_none_runs_and_one_that_had_begun_is_stopped() {
    let (world, gate, scope) = set_up(10);
    let mut events = gate.observe(1_000);
    let mut stream = gate.turn(&scope).streaming();
    let heeds = |ms| Work { heeds: true, ..read(ms) };
    push(&mut stream, vec![call("r1", &heeds(900)), call("r2", &heeds(900))]).await;
    push(&mut stream, vec![call("r1", &heeds(5)), call("r3", &read(5))]).await;
    assert_eq!(world.told(), "+r1 +r2 -r1");
    let answers = stream.finish().await;
    assert_eq!(words(&answers), ["r1 protocol_error", "r2 ok", "r3 ok"]);
    assert_eq!(discarded(&mut events), ["r1"]);
    assert_eq!(world.told(), "+r1 +r2 -r1 +r3 -r3 -r2");
}

#[tokio::test(start_paused = true)]
async fn a_new_message_stops_a_call_that_began_early_also_where_an_id_was_shared() {
    let (world, gate, scope) = set_up(10);
    let turn = gate.turn(&scope);
    let interrupter = turn.interrupter();
    let mut stream = turn.streaming();
    let heeds = Work { heeds: true, ..read(900) };
    push(&mut stream, vec![heeds.call("r1", CANCEL), heeds.call("r2", CANCEL)]).await;
    push(&mut stream, vec![heeds.call("r1", CANCEL)]).await;
    let (answers, ()) = tokio::join!(stream.finish(), async {
        wait(20).await;
        interrupter.new_message();
    });
    assert_eq!(words(&answers), ["r1 protocol_error", "r2 retryable_error"]);
    assert_eq!(world.told(), "+r1 +r2 -r1 -r2");
}

#[tokio::test(start_paused = true)]
async fn a_declared_fatal_end_stops_its_siblings_while_the_model_still_writes() {
    let (world, gate, scope) = set_up(10);
    let mut stream = gate.turn(&scope).streaming();
    let fatal = Work { end: End::Fatal, ..read(5) }.call("r1", STOPS);
    push(&mut stream, vec![fatal, call("r2", &Work { heeds: true, ..read(900) })]).await;
    wait(10).await;
    push(&mut stream, vec![call("r3", &read(5)), call("w4", &write(5))]).await;
    assert_eq!(world.told(), "+r1 +r2 -r1 -r2");
    let answers = stream.finish().await;
    assert_eq!(words(&answers), ["r1 fatal_error", "r2 retryable_error", "r3 cancelled", "w4 ok"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_stops_what_had_begun() {
    let (world, gate, scope) = set_up(2);
    let mut stream = gate.turn(&scope).streaming();
    let calls = [("r1", true), ("r2", false), ("r3", false)];
    let calls = calls.map(|(id, heeds)| call(id, &Work { heeds, ..read(900) }));
    push(&mut stream, calls.into()).await;
    drop(stream);
    wait(2_000).await;
    let marks = world.marks();
    assert_eq!(world.told(), "+r1 +r2 -r1 -r2");
    assert!(marks[3].at - marks[0].at < Duration::from_millis(300));
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_stream_begins_after_a_new_message() {
    let (world, gate, scope) = set_up(2);
    let turn = gate.turn(&scope);
    let interrupter = turn.interrupter();
    let mut stream = turn.streaming();
    let calls = vec![read(900).call("r1", CANCEL), call("r2", &read(900)), call("r3", &read(5))];
    push(&mut stream, calls).await;
    interrupter.new_message();
    push(&mut stream, vec![call("r4", &read(5))]).await;
    let answers = stream.finish().await;
    let told = ["r1 retryable_error", "r2 ok", "r3 cancelled", "r4 cancelled"];
    assert_eq!(words(&answers), told);
    assert_eq!(world.told(), "+r1 +r2 -r1 -r2");
}
