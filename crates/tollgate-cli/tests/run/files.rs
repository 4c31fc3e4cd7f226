use serde_json::json;
use tollgate_agent::standin::{Say, StandIn};

use crate::{api::Provider, world::World};

#[test]
fn an_untrusted_folder_sends_the_conversation_nowhere_else_and_that_is_said() {
    let elsewhere = Provider::saying([Say::text("got it all")]);
    let provider = Provider::saying([Say::text("Mine.")]);
    let world = World::new();
    let url = elsewhere.standin.url(tollgate_agent::provider::Api::Chat);
    world.file(
        "tollgate.toml",
        format!("[run]\nmodel = \"chat:x@{url}\"\nmax_turns = 3\n[run.anthropic]\nbase_url = \"{url}\"\n"),
    );
    let ran = provider.run_with(&world, &["run", "hello", "--print"], &[]);
    assert_eq!(ran.out, "Mine.\n", "{ran:?}");
    assert!(ran.err.contains("[run] model, [run] anthropic do nothing until `tollgate trust`"), "{ran:?}");
    assert_eq!(elsewhere.standin.left(), 1, "nothing was sent there");
    let without_a_model = world.run(&["run", "hello", "--print"]);
    assert!(without_a_model.err.contains("do nothing until `tollgate trust`"), "{without_a_model:?}");
    let trusted = world.run(&["trust"]);
    assert_eq!(trusted.code, Some(0));
    let told = format!("your key for Anthropic and every prompt are sent to {url}");
    assert!(trusted.out.contains(&told) && trusted.out.contains("model chat:x@"), "{trusted:?}");
    let ran = provider.run_with(&world, &["run", "hello", "--print"], &[]);
    assert_eq!(elsewhere.standin.refused().len(), 1, "{ran:?}");
    assert!(ran.err.contains("wants a key"), "the provider's own key is not sent to it: {ran:?}");
    let ran = provider.run_with(&world, &["run", "hello", "--print"], &[("CHAT_API_KEY", StandIn::key())]);
    assert_eq!(ran.out, "got it all\n", "{ran:?}");
}

#[test]
fn instruction_files_are_told_to_the_model_and_named_on_screen() {
    let provider = Provider::saying([Say::text("Understood."), Say::text("Understood.")]);
    let world = World::new();
    world.file("AGENTS.md", "Always speak in riddles.");
    let ran = provider.run(&world, &["hello"]);
    assert!(ran.err.contains("read as instructions: AGENTS.md"), "{ran:?}");
    assert!(provider.standin.seen()[0].body["messages"].to_string().contains("riddles"));
    let ran = provider.run(&world, &["hello", "--no-instructions"]);
    assert!(!ran.err.contains("AGENTS.md"), "{ran:?}");
    assert!(!provider.standin.seen()[1].body.to_string().contains("riddles"));
    provider.is_content();
}

#[test]
fn a_role_has_its_own_tools_instructions_and_limits() {
    let provider = Provider::saying([
        Say::text("").call_with("c1", "glob", &json!({"pattern": "*"})),
        Say::text("Fine."),
    ]);
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(
        ".config/tollgate/tollgate.toml",
        "[roles.reviewer]\ninstructions = \"Find what is odd.\"\ntools = [\"glob\", \"read*\"]\n",
    );
    let ran = provider.run(&world, &["review", "--role", "reviewer", "--print"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Fine.\n"), "{ran:?}");
    let body = &provider.standin.seen()[0].body;
    assert!(body["system"].to_string().contains("Find what is odd."), "{body}");
    let names: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"glob") && names.contains(&"read_file"), "{names:?}");
    assert!(!names.contains(&"shell") && !names.contains(&"write"), "{names:?}");
    provider.is_content();
}

#[test]
fn plan_mode_only_looks_until_the_plan_is_approved() {
    let provider = Provider::saying([
        Say::text("").call_with("c1", "write", &json!({"path": "a.txt", "content": "x\n"})),
        Say::text("").call_with("c2", "start_work", &json!({"plan": "1. write a.txt"})),
        Say::text("").call_with("c3", "write", &json!({"path": "a.txt", "content": "x\n"})),
        Say::text("Done."),
    ]);
    let world = World::new();
    let mut person = provider.person(&world, &["write", "--plan", "--allow", "write"]);
    person.sees("may start_work run?").sees("1. write a.txt").sees("y yes, once").presses("y");
    person.sees("plan mode is over").sees("Done.");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(left.screen.contains("refused at 2 check"), "{:?}", left.screen);
    assert_eq!(std::fs::read_to_string(world.path().join("a.txt")).unwrap(), "x\n");
    provider.is_content();
}

#[test]
fn a_sub_agent_s_calls_are_shown_below_its_task_and_it_reports() {
    let provider = Provider::saying([
        Say::text("I send somebody.").call_with(
            "c1",
            "delegate",
            &json!({"role": "scout", "task": "look around"}),
        ),
        Say::text("").call_with("s1", "glob", &json!({"pattern": "*"})),
        Say::text("").call_with("s2", "report", &json!({"report": "all quiet"})),
        Say::text("All is quiet."),
    ]);
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(
        ".config/tollgate/tollgate.toml",
        "[roles.scout]\ndescription = \"looks around\"\ntools = [\"glob\"]\n",
    );
    let mut person = provider.person(&world, &["look", "--allow", "delegate", "--allow", "report"]);
    person.sees("scout: look around").sees("  ✓ glob *").sees("All is quiet.");
    let left = person.leaves();
    assert_eq!(left.code, Some(0), "{left:?}");
    provider.is_content();
}
