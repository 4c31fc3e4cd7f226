//! Turns in a runtime that is not the one their gate was made in, and calls without an id.

use super::*;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn a_gate_that_outlives_its_runtime_runs_bodies_in_the_one_that_calls() {
    let (first, second) = (runtime(), runtime());
    let (world, gate, scope) = first.block_on(async { set_up(10) });
    drop(first);
    let calls = ["r1", "r2", "r3", "r4", "r5", "r6"].map(|id| call(id, &read(1)));
    let answers = second.block_on(gate.turn(&scope).run(calls.into()));
    assert!(answers.iter().all(|answer| answer.status() == Status::Ok), "{:?}", words(&answers));
    let alone = second.block_on(gate.call(&scope, call("w7", &write(1))));
    assert_eq!((alone.status(), world.marks().len()), (Status::Ok, 14));
}

#[tokio::test(start_paused = true)]
async fn calls_without_an_id_are_told_apart_and_each_is_answered() {
    let (_world, gate, scope) = set_up(10);
    let calls = ["", "call_missing_1", ""].map(|id| call(id, &read(1)));
    let answers = gate.turn(&scope).run(calls.into()).await;
    assert_eq!(words(&answers), ["call_missing_2 ok", "call_missing_1 ok", "call_missing_3 ok"]);
    let mut stream = gate.turn(&scope).streaming();
    ["", ""].into_iter().for_each(|id| stream.push(call(id, &read(1))));
    assert_eq!(words(&stream.finish().await), ["call_missing_1 ok", "call_missing_2 ok"]);
}
