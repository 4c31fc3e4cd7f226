use tollgate_agent::standin::Say;

use crate::{
    api::Provider,
    world::{Ran, World},
};

/// One line that says what is wrong, one that says what to do, and the exit code.
fn told(ran: &Ran, code: i32, said: &str) {
    assert_eq!(ran.code, Some(code), "{said}: {ran:?}");
    let lines: Vec<_> = ran.err.lines().filter(|line| !line.contains("; again in")).collect();
    let [error, hint] = &lines[..] else { panic!("{said}: {ran:?}") };
    assert!(error.starts_with("error: ") && error.contains(said), "{said}: {error}");
    assert!(hint.starts_with("hint: "), "{said}: {hint}");
    assert_eq!(ran.out, "");
}

fn run(args: &[&str]) -> Ran {
    World::new().run(&[&["run", "do it", "--print", "--retries", "0"], args].concat())
}

#[test]
fn without_a_model_a_key_a_prompt_or_a_session_each_is_told() {
    told(&run(&[]), 2, "no model is chosen");
    told(&run(&["--model", "anthropic:x"]), 2, "key");
    told(&run(&["--model", "gpt-5"]), 2, "does not say whose model");
    told(&run(&["--model", "mistral:x"]), 2, "is no provider");
    told(&run(&["--model", "chat:qwen3@localhost:11434/v1"]), 2, "is no address");
    told(&run(&["--model", "chat:qwen3@http://"]), 2, "is no address");
    told(&run(&["--model", "cassette:absent.jsonl"]), 2, "absent.jsonl");
    told(&run(&["--continue"]), 2, "no session has worked in");
    told(&run(&["--resume", "s123"]), 2, "there is no session");
    told(&run(&["--role", "coder"]), 2, "there is no role");
    told(&World::new().run(&["run", "--model", "openai:x"]), 2, "there is no prompt");
    told(&World::new().run(&["run", "--model", "openai:x", "  "]), 2, "the prompt is empty");
    let ran = run(&["--max-cost", "lots"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("no amount in dollars") && ran.err.contains("hint: "), "{ran:?}");
}

#[test]
fn what_is_wrong_with_the_provider_is_one_line_with_a_hint() {
    let cases: [(Say, &str); 5] = [
        (Say::status(401, "authentication_error", "invalid x-api-key"), "key"),
        (Say::status(404, "not_found_error", "model: stand-in"), "model"),
        (Say::page(200), "web page"),
        (Say::error_body("invalid_request_error", "the body is bad"), "the body is bad"),
        (Say::overloaded(), "verload"),
    ];
    for (say, said) in cases {
        let provider = Provider::saying([say]);
        let world = World::new();
        let args = ["run", "--model", "anthropic:stand-in", "do it", "--print", "--retries", "0"];
        told(&provider.run_with(&world, &args, &[]), 1, said);
    }
}

#[test]
fn an_address_where_nothing_is_or_that_is_none_is_told() {
    let world = World::new();
    let at = |url: &str| {
        let args = ["run", "--model", "openai:x", "do it", "--print", "--retries", "0"];
        let mut command = world.command(&args);
        command.env("OPENAI_API_KEY", "k").env("OPENAI_BASE_URL", url);
        Ran::from(command.output().unwrap())
    };
    // Port 1 of loopback: nobody is there.
    told(&at("http://127.0.0.1:1/v1"), 1, "127.0.0.1:1");
    told(&at("not a url"), 2, "not a url");
}

#[test]
fn a_key_is_never_on_screen_in_a_session_or_in_the_trace() {
    let provider =
        Provider::saying([Say::status(401, "authentication_error", "bad key sk-standin-0123456789abcdef")]);
    let world = World::new();
    let ran = provider.run(&world, &["do it"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.err.contains("sk-standin") && !ran.out.contains("sk-standin"), "{ran:?}");
    let mut found = Vec::new();
    let mut folders = vec![world.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else if std::fs::read(entry.path()).unwrap().windows(10).any(|bytes| bytes == b"sk-standin") {
                found.push(entry.path());
            }
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_limit_in_dollars_is_not_taken_for_a_model_without_a_price() {
    told(&run(&["--model", "chat:x@http://127.0.0.1:9", "--max-cost", "1"]), 2, "nothing says what chat:x");
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(".config/tollgate/tollgate.toml", "[roles.scout]\nmodel = \"chat:y@http://127.0.0.1:9\"\n");
    let mut command =
        world.command(&["run", "do it", "--print", "--max-cost", "1", "--model", "openai:gpt-5"]);
    let ran: Ran = command.env("OPENAI_API_KEY", "sk-none").output().unwrap().into();
    told(&ran, 2, "nothing says what chat:y");
}

#[test]
fn a_role_on_a_route_that_nobody_made_is_told_and_not_left_without_tools() {
    let world = World::new();
    std::fs::create_dir_all(world.path().join(".config/tollgate")).unwrap();
    world.file(".config/tollgate/tollgate.toml", "[roles.scout]\nroute = \"nowhere\"\n");
    let mut command = world.command(&["run", "do it", "--print", "--model", "chat:x@http://127.0.0.1:9"]);
    let ran: Ran = command.output().unwrap().into();
    told(&ran, 2, "role \"scout\": there is no route \"nowhere\"");
}

#[test]
fn a_request_is_made_as_often_as_was_asked_for_and_no_more() {
    let provider = Provider::saying((0..9).map(|_| Say::overloaded()));
    let ran = provider.run(&World::new(), &["do it", "--print", "--retries", "2"]);
    assert_eq!((ran.code, provider.standin.seen().len()), (Some(1), 3), "{ran:?}");
}
