use std::collections::HashSet;

use serde_json::{Value, json};
use tollgate_agent::standin::Say;

use crate::{api::Provider, world::World};

fn task() -> Provider {
    Provider::saying([
        Say::text("I look.").call_with("c1", "read_file", &json!({"path": "a.txt"})),
        Say::text("It says **one**."),
    ])
}

fn world() -> World {
    let world = World::new();
    world.file("a.txt", "one\n");
    world
}

#[test]
fn json_is_one_event_a_line_and_every_event_and_field_is_documented() {
    let (provider, world) = (task(), world());
    let ran = provider.run(&world, &["what does it say?", "--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let events = ran.lines();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    for name in
        ["began", "turn_began", "text", "usage", "call_proposed", "call_started", "call_settled", "stopped"]
    {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(names.first(), Some(&"began"));
    assert_eq!(names.last(), Some(&"stopped"));
    let last = events.last().unwrap();
    assert_eq!((&last["stop"]["reason"], &last["text"]), (&json!("done"), &json!("It says **one**.")));
    let of_turn = |turn: u32| -> Vec<&str> {
        let of = events.iter().filter(|event| event["turn"] == turn);
        of.map(|event| event["event"].as_str().unwrap()).filter(|name| name.starts_with("call_")).collect()
    };
    assert_eq!(of_turn(1), ["call_proposed", "call_started", "call_settled"], "{}", ran.out);
    let turns: Vec<_> = events.iter().map(|event| event["turn"].as_u64().unwrap()).collect();
    assert!(turns.is_sorted() && turns[0] == 1 && turns[turns.len() - 1] == 2, "{turns:?}");
    let texts: Vec<_> = events.iter().filter(|event| event["event"] == "text").collect();
    assert_eq!((&texts[0]["turn"], &texts[texts.len() - 1]["turn"]), (&json!(1), &json!(2)), "{}", ran.out);
    let runs: HashSet<_> = events.iter().map(|event| event["run"].as_str().unwrap()).collect();
    assert_eq!(runs.len(), 1);
    let docs = include_str!("../../../../docs/run.md");
    let is_told = |name: &str| docs.contains(&format!("`{name}`"));
    for event in &events {
        let name = event["event"].as_str().unwrap();
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
        for field in event.as_object().unwrap().keys() {
            assert!(is_told(field), "{name}.{field}");
        }
    }
    let settled = events.iter().find(|event| event["event"] == "call_settled").unwrap();
    assert_eq!((&settled["answer"]["id"], &settled["answer"]["status"]), (&json!("c1"), &json!("ok")));
    provider.is_content();
}

#[test]
fn print_is_the_final_answer_and_nothing_else() {
    let (provider, world) = (task(), world());
    let ran = provider.run(&world, &["what does it say?", "--print"]);
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(0), "It says **one**.\n", ""),
        "{ran:?}"
    );
}

#[test]
fn in_a_pipe_the_text_goes_to_stdout_as_it_is_and_the_calls_to_stderr_as_lines() {
    let (provider, world) = (task(), world());
    let ran = provider.run(&world, &["what does it say?"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I look.\nIt says **one**.\n"), "{ran:?}");
    assert!(ran.err.contains("ok      read_file a.txt  1 line"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn without_streaming_the_same_task_ends_the_same_way() {
    let (provider, world) = (task(), world());
    let ran = provider.run(&world, &["what does it say?", "--print", "--no-stream"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "It says **one**.\n"), "{ran:?}");
    assert!(provider.standin.seen().iter().all(|seen| seen.body["stream"] != true));
}

#[test]
fn the_prompt_comes_from_stdin_where_it_is_a_dash() {
    let (provider, world) = (Provider::saying([Say::text("Yes.")]), world());
    let mut command = world.command(&["run", "--model", "openai:stand-in", "-", "--print"]);
    command.envs(provider.env()).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), "is it so?".as_bytes()).unwrap();
    let ran = crate::world::Ran::from(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n"), "{ran:?}");
    assert!(provider.standin.seen()[0].body.to_string().contains("is it so?"));
    provider.is_content();
}

#[test]
fn a_call_that_needs_a_yes_is_refused_and_told_or_ends_the_run_with_4() {
    let write = || Say::text("").call_with("c1", "write", &json!({"path": "b.txt", "content": "x"}));
    let (provider, world) = (Provider::saying([write(), Say::text("It was refused.")]), world());
    let ran = provider.run(&world, &["write", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "It was refused.\n"), "{ran:?}");
    provider.is_content();
    for on_ask in ["fail", "park"] {
        let provider = Provider::saying([write()]);
        let ran = provider.run(&world, &["write", "--print", "--on-ask", on_ask]);
        assert_eq!(ran.code, Some(4), "{on_ask}: {ran:?}");
        assert!(ran.err.contains("hint: "), "{ran:?}");
        provider.is_content();
    }
    assert!(!world.path().join("b.txt").exists());
}

#[test]
fn limits_end_a_run_with_1_and_say_which() {
    let look = |id: &str| Say::text("more").call_with(id, "glob", &json!({"pattern": format!("{id}*")}));
    for (args, said) in [(["--max-turns", "2"], "2 turns"), (["--max-calls", "2"], "calls")] {
        let provider = Provider::saying((0..6).map(|at| look(&format!("c{at}"))));
        let ran = provider.run(&world(), &[&["look", "--print"][..], &args].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        assert!(ran.err.contains(said) && ran.err.contains("hint: "), "{args:?}: {ran:?}");
        assert!(provider.standin.refused().is_empty(), "{:?}", provider.standin.refused());
    }
}

#[test]
fn a_model_that_refuses_ends_with_3() {
    let provider = Provider::saying([Say::text("I cannot.").stop("refusal")]);
    let ran = provider.run(&world(), &["do it", "--print"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.err.contains("declined"), "{ran:?}");
}

#[test]
fn mocks_take_the_place_of_every_real_tool() {
    let world = World::with(&json!({"tools": [
        {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}, "result": "sunny"}
    ]}));
    let provider = Provider::saying([
        Say::text("").call_with("c1", "weather", &json!({"city": "Rome"})),
        Say::text("Sunny."),
    ]);
    let ran = provider.run(&world, &["how is it?", "--json", "--mocks", "mocks.json", "--allow", "weather"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let offered: Vec<Value> = provider.standin.seen()[0].body["tools"].as_array().unwrap().clone();
    let names: Vec<_> = offered.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(
        names.contains(&"weather") && !names.contains(&"shell") && !names.contains(&"write"),
        "{names:?}"
    );
    provider.is_content();
}

#[test]
fn a_run_that_nobody_reads_any_more_is_brought_to_an_end() {
    for how in [&["--json"][..], &[]] {
        let provider = Provider::saying([crate::api::slowly(Say::text(&"words ".repeat(2_000)), 100)]);
        let world = world();
        let mut command = world.command(&[&["run", "--model", "anthropic:stand-in", "talk"], how].concat());
        let mut child = command.envs(provider.env()).spawn().unwrap();
        // The reader goes away at once.
        drop(child.stdout.take());
        let began = std::time::Instant::now();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{how:?}");
        assert!(began.elapsed().as_secs() < 10, "{how:?}: it did not go on talking to nobody");
    }
}

#[test]
fn a_run_without_a_key_leaves_no_session_and_continue_takes_the_one_before() {
    let (provider, world) = (Provider::saying([Say::text("One."), Say::text("Two.")]), world());
    assert_eq!(provider.run(&world, &["the work", "--print"]).code, Some(0));
    let ran = world.run(&["run", "--model", "anthropic:any", "other", "--print"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let listed = world.run(&["run", "--list", "--json"]);
    assert_eq!(listed.lines().len(), 1, "{listed:?}");
    let ran = provider.run(&world, &["--continue", "go on", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Two.\n"), "{ran:?}");
    assert!(provider.standin.seen()[1].body["messages"].to_string().contains("the work"));
    provider.is_content();
}

#[test]
fn a_recorded_run_is_replayed_on_the_agent_s_own_route_and_what_is_gone_is_counted_apart() {
    let write = json!({"path": "b.txt", "content": "x"});
    let (provider, world) = (
        Provider::saying([
            Say::text("")
                .call_with("c1", "read_file", &json!({"path": "a.txt"}))
                .call_with("c2", "write", &write)
                .call_with("c3", "todo", &json!({"items": [{"text": "it", "state": "done"}]})),
            Say::text("Done."),
        ]),
        world(),
    );
    assert_eq!(provider.run(&world, &["do it", "--print"]).code, Some(0));
    for replay in [&["policy", "replay", "--strict"][..], &["trace", "replay"]] {
        let ran = world.run(replay);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.err.contains("0 of 3 calls") && !ran.out.contains('≠'), "{ran:?}");
    }
    // What would be let through now says by what.
    let ran = world.run(&["policy", "replay", "--allow", "write(./**)"]);
    assert!(ran.out.contains("then ask, now allow  ") && ran.out.contains("write(./**)"), "{ran:?}");
    // On tools that are others now, nothing can be said of those that are gone.
    world.file("mocks.json", json!({"tools": []}).to_string());
    let ran = world.run(&["policy", "replay", "--strict", "--mocks", "mocks.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("2 cannot be judged here"), "{ran:?}");
}

#[test]
fn where_turns_bring_no_usage_their_texts_stand_apart_and_calls_between_them() {
    let world = world();
    let tape = world.path().join("tape.jsonl");
    let provider = task();
    assert_eq!(provider.run(&world, &["what?", "--print", "--record", tape.to_str().unwrap()]).code, Some(0));
    let text = std::fs::read_to_string(&tape).unwrap();
    let without: String = text
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            without_usage(&mut line);
            format!("{line}\n")
        })
        .collect();
    std::fs::write(&tape, without).unwrap();
    let ran = world.run(&["run", "--model", &format!("cassette:{}", tape.display()), "what?"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "I look.\nIt says **one**.\n"), "{ran:?}");
    // Both in one place, as a log has them.
    let log = world.file("log.txt", "");
    let log_end = || std::fs::File::options().append(true).open(&log).unwrap();
    let mut command = world.command(&["run", "--model", &format!("cassette:{}", tape.display()), "what?"]);
    assert!(command.stdout(log_end()).stderr(log_end()).status().unwrap().success());
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(told.contains("I look.\nok      read_file a.txt"), "{told}");
}

fn without_usage(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("usage");
            fields.values_mut().for_each(without_usage);
        }
        Value::Array(items) => items.iter_mut().for_each(without_usage),
        _ => {}
    }
}
