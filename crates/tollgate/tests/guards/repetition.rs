//! Repetition.

use serde_json::json;
use tollgate::{
    Proposed,
    guard::{Repetition, Run},
    outcome::{
        Phase::Permit,
        RefusalCode::{self},
        Status,
    },
};

use crate::world::{Bodies, Count, World, fine, reader, refused, writer};

fn repeating(turns: u32) -> World {
    let run = Run::builder("run").repetition(Repetition::Turns(turns)).build();
    World::of(reader("t").answers(&Count::default(), fine())).run(run).build()
}

#[tokio::test(start_paused = true)]
async fn the_same_call_turn_after_turn_is_stopped() {
    let mut world = repeating(3);
    for turn in 0..3 {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok);
    }
    world.scope.turn = 3;
    assert_eq!(refused(&world.call("t", json!({"n": 1})).await), (Permit, RefusalCode::Repetition));
    assert_eq!(world.call("t", json!({"n": 2})).await.status(), Status::Ok, "other arguments");
}

#[tokio::test(start_paused = true)]
async fn turns_that_nobody_counts_are_counted_so_that_no_call_is_taken_for_an_earlier_one() {
    let runs = Count::default();
    let run = Run::builder("run").repetition(Repetition::Turns(3)).build();
    let world = World::of(writer("pay").answers(&runs, fine())).run(run).build();
    let scope = world.scope();
    for turn in 0..4 {
        // Providers repeat ids.
        let answers = world.gate.turn(&scope).run(vec![Proposed::new("call_0", "pay", r#"{"n": 1}"#)]).await;
        let ran = answers[0].status() == Status::Ok && !answers[0].replayed;
        assert_eq!(ran, turn < 3, "turn {turn}: {:?}", answers[0].outcome);
    }
    assert_eq!(runs.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_same_call_many_times_in_one_turn_is_no_loop() {
    let mut world = repeating(1);
    for _ in 0..20 {
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_the_call_ends_its_streak() {
    let mut world = repeating(2);
    for turn in [0, 1, 3, 4, 6] {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({"n": 1})).await.status(), Status::Ok, "{turn}");
    }
}

#[tokio::test(start_paused = true)]
async fn repetition_may_be_allowed() {
    let run = Run::builder("run").repetition(Repetition::Allowed).build();
    let mut world = World::of(reader("t").answers(&Count::default(), fine())).run(run).build();
    for turn in 0..50 {
        world.scope.turn = turn;
        assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_call_with_its_fields_in_another_order_is_the_same_call() {
    let mut world = repeating(1);
    assert_eq!(world.call("t", json!({"n": 1, "path": "a"})).await.status(), Status::Ok);
    world.scope.turn = 1;
    let again = world.call("t", json!({"path": "a", "n": 1})).await;
    assert_eq!(refused(&again), (Permit, RefusalCode::Repetition));
    let swapped = world.call("t", json!({"path": "n", "n": 1})).await;
    assert_eq!(swapped.status(), Status::Ok, "other values");
}

#[tokio::test(start_paused = true)]
async fn the_same_call_in_other_words_is_the_same_call() {
    let mut world = repeating(1);
    assert_eq!(world.propose("t", r#"{"n":1,"path":"a"}"#).await.status(), Status::Ok);
    world.scope.turn = 1;
    // The first is known by its text alone, the second only by its value: an escape is read the long way.
    for written in ["{ \"path\" : \"a\",\n\"n\" : 1 }", r#"{"n":1,"path":"\u0061"}"#] {
        let again = world.propose("t", written).await;
        assert_eq!(refused(&again), (Permit, RefusalCode::Repetition), "{written}");
    }
}
