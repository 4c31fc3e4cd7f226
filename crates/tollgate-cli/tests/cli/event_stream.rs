use serde_json::{Value, json};

use crate::world::{Ran, World, tools};

fn events(ran: &Ran) -> Vec<Value> {
    ran.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn names(ran: &Ran) -> Vec<String> {
    events(ran).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn events_are_on_stderr_in_the_order_of_the_path_and_the_result_is_on_stdout() {
    let steps = json!([{"fraction": 0.5, "message": "half"}]);
    let world = World::with(&tools(&[("work", json!({"answers": [{"text": "done", "progress": steps}]}))]));
    let ran = world.allowed(&["call", "work", "--events", "--json", "--id", "c7"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.json()["output"], json!([{"type": "text", "text": "done"}]));
    let path = [
        "proposed",
        "resolved",
        "validated",
        "checked",
        "prepared",
        "permitted",
        "started",
        "progress",
        "progress",
        "progress",
        "executed",
        "after",
        "settled",
    ];
    assert_eq!(names(&ran), path);
    for event in events(&ran) {
        assert_eq!((&event["call"], &event["tool"]), (&json!("c7"), &json!("work")));
        assert!(event["run"].as_str().unwrap().starts_with("cli-"));
        assert!(event["at_ms"].is_u64() && event["took_us"].is_number());
    }
    let plain = world.allowed(&["call", "work", "--events"]);
    assert_eq!((plain.out.as_str(), names(&plain).len()), ("done\n", path.len()));
}

#[test]
fn a_refused_call_tells_how_far_it_came() {
    let world = World::with(&tools(&[("work", json!({}))]));
    let ran = world.on_mocks(&["call", "work", "--events", "--json", "--deny", "work"]);
    assert_eq!(names(&ran), ["proposed", "resolved", "validated", "settled"]);
    let ran = world.on_mocks(&["call", "nothing", "--events", "--json"]);
    assert_eq!(names(&ran), ["proposed", "settled"]);
    assert_eq!(events(&ran)[1]["code"], json!("unknown_tool"));
}

#[test]
fn a_panic_is_in_the_operators_chain_and_nowhere_else() {
    let world = World::with(&tools(&[("crash", json!({"answers": [{"panic": "boom"}]}))]));
    let ran = world.allowed(&["call", "crash", "--events", "--json"]);
    let executed = events(&ran).into_iter().find(|event| event["event"] == "executed").unwrap();
    assert_eq!(executed["chain"], json!(["panic: boom"]));
    assert!(!ran.out.contains("boom"));
}
