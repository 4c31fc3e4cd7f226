//! Who permitted a call is told, however it runs and however it ends.

use futures_util::FutureExt;
use serde_json::json;
use tollgate::{
    hook::After,
    outcome::{Phase, Status},
    tool::ToolBuilder,
};

use crate::world::{Bodies, Count, Scripted, World, fine, reader};

fn answering(tool: ToolBuilder) -> crate::world::WorldBuilder {
    World::of(tool.answers(&Count::default(), fine()))
}

fn inline() -> ToolBuilder {
    reader("read").spec(|spec| spec.inline = true)
}

/// So many calls were permitted, each by the rule that is there.
fn assert_told(world: &mut World, many: usize) {
    let told = world.told("permitted");
    assert_eq!(told.len(), many);
    assert!(told.iter().all(|event| event["by"] == "allow *"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn of_calls_whose_bodies_end_at_once() {
    let mut world = answering(inline()).build();
    let calls = (0..3).map(|_| world.proposed("read", "{}")).collect();
    assert_eq!(world.gate.turn(&world.scope()).run(calls).await.len(), 3);
    assert_told(&mut world, 3);
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    assert_told(&mut world, 1);
}

#[tokio::test(start_paused = true)]
async fn of_a_call_that_an_after_hook_has_words_for() {
    let hook = Scripted::gate("adds").after(|_| After::Context("by the way".into()));
    let mut world = answering(inline()).hook(hook).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    assert_told(&mut world, 1);
}

#[test]
fn of_a_call_without_a_runtime() {
    let mut world = answering(reader("read")).build();
    assert!(world.call("read", json!({})).now_or_never().is_some());
    assert_told(&mut world, 1);
}

#[tokio::test(start_paused = true)]
async fn of_a_call_that_is_refused_after_its_permit() {
    let mut world = answering(reader("read").spec(|spec| spec.requires_idempotency_key = true)).build();
    assert_eq!(world.call("read", json!({})).await.phase, Phase::Execute);
    assert_told(&mut world, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_whose_bodies_end_before_anyone_looks() {
    let mut world = answering(reader("read")).build();
    for _ in 0..500 {
        assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
        assert_told(&mut world, 1);
    }
}
