//! `tollgate mcp` and `tollgate serve`, as clients use them; servers behind them are this program once more.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::world::{World, tools};

fn mocks() -> Value {
    let reads = json!({"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true, "open_world": false});
    let long = "much to say. ".repeat(5_000);
    tools(&[
        ("look", json!({"effects": reads, "answers": [{"text": "seen"}]})),
        ("change", json!({"answers": [{"text": "changed"}]})),
        ("much", json!({"effects": reads, "answers": [{"text": long}]})),
    ])
}

/// A client at the program's stdin and stdout.
struct Piped {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(args);
        let mut process = command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, input, output }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.next()
    }

    fn begin(&mut self, capabilities: &Value) {
        self.ask(&request(
            0,
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}}),
        ));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    fn close(self) {
        let Self { mut process, input, .. } = self;
        drop(input);
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u32, tool: &str) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": {"path": "x"}}))
}

#[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
fn stateless(mut message: Value, capabilities: Value) -> Value {
    message["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
    message
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

const RULES: [&str; 8] =
    ["--mocks", "mocks.json", "--allow", "look", "--allow", "much", "--deny", "look(path=secret*)"];

#[test]
fn over_pipes_a_client_is_served_asked_and_recorded() {
    let world = World::with(&mocks());
    let mut client = Piped::start(&world, &[&["mcp"], &RULES[..]].concat());
    client.begin(&json!({"elicitation": {}}));
    assert_eq!(text(&client.ask(&call(1, "look"))), "seen");
    let denied =
        client.ask(&request(2, "tools/call", json!({"name": "look", "arguments": {"path": "secret.txt"}})));
    assert!(text(&denied).starts_with("refused (denied)"), "{denied}");

    client.send(&call(3, "change"));
    let question = client.next();
    assert_eq!(question["method"], "elicitation/create");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"decision": "yes"}}}));
    assert_eq!(text(&client.next()), "changed");

    let much = client.ask(&call(4, "much"));
    let reference = much["result"]["_meta"]["tollgate/offloaded"]["ref"].as_str().unwrap().to_owned();
    let read = client.ask(&request(
        5,
        "tools/call",
        json!({"name": "result_read", "arguments": {"ref": reference, "bytes": 12, "from_byte": 0}}),
    ));
    assert!(text(&read).contains("much to say."), "{read}");
    client.close();

    let trace = world.run(&["trace", "show"]);
    for line in ["look", "change", "much", "result_read", "a person"] {
        assert!(trace.out.contains(line), "{line}: {trace:?}");
    }
}

#[test]
fn over_pipes_a_stateless_client_is_asked_in_rounds_and_its_trace_is_carried() {
    let world = World::with(&mocks());
    let mut client = Piped::start(&world, &[&["mcp"], &RULES[..]].concat());
    let person = || json!({"elicitation": {}});
    assert_eq!(text(&client.ask(&stateless(call(1, "look"), person()))), "seen");
    let mut message = stateless(call(2, "change"), person());
    let asked = client.ask(&message);
    message["params"]["requestState"] = asked["result"]["requestState"].clone();
    message["params"]["inputResponses"] =
        json!({"tollgate_approval": {"action": "accept", "content": {"decision": "yes"}}});
    assert_eq!(text(&client.ask(&message)), "changed");
    client.close();
    let exported = world.run(&["trace", "export", "--otlp"]).json();
    let spans = exported["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    for call in spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with("execute_tool")) {
        let place = (call["traceId"].as_str(), call["parentSpanId"].as_str());
        assert_eq!(place, (Some("0af7651916cd43dd8448eb211c80319c"), Some("b7ad6b7169203331")), "{call}");
    }
}

#[test]
fn a_question_no_client_can_show_waits_for_the_approvals_command() {
    let world = World::with(&mocks());
    let mut client = Piped::start(&world, &[&["mcp"], &RULES[..]].concat());
    client.begin(&json!({}));
    let refused = client.ask(&call(1, "change"));
    let hint =
        text(&refused).split("tollgate approvals answer ").nth(1).unwrap_or_else(|| panic!("{refused}"));
    let id = hint.split(' ').next().unwrap();
    assert!(world.run(&["approvals", "list"]).out.contains(id));
    assert_eq!(world.run(&["approvals", "answer", id, "yes"]).code, Some(0));
    assert_eq!(text(&client.ask(&call(2, "change"))), "changed");
    client.close();
}

/// `tollgate serve`, until this is dropped.
struct Served {
    process: Child,
    address: String,
}

impl Served {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut command = world.command(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        let mut process = command.spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it served");
        }
        let address = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        // Whatever else it says is read, so that it never waits for us.
        std::thread::spawn(move || drop(std::io::copy(&mut said, &mut std::io::sink())));
        Self { process, address }
    }

    fn post(&self, message: &Value) -> Value {
        let name = message["params"]["name"].as_str().unwrap_or("none");
        let (body, method) = (message.to_string(), message["method"].as_str().unwrap());
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}")).1;
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A world whose own file names this program, on mocks, as the server `up`.
fn with_server(world: &World, command: &[&str]) {
    with_server_set(world, command, "");
}

/// The same, with more lines in its entry.
fn with_server_set(world: &World, command: &[&str], settings: &str) {
    let (program, args) = command.split_first().unwrap();
    let config =
        format!("[mcp.servers.up]\ncommand = {program:?}\nargs = {args:?}\ntrust = true\n{settings}");
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tollgate.toml"), config).unwrap();
}

#[test]
fn over_http_the_tools_of_a_server_are_judged_asked_about_cut_and_recorded() {
    let world = World::with(&mocks());
    let mocks = world.path().join("mocks.json");
    with_server(
        &world,
        &[
            env!("CARGO_BIN_EXE_tollgate"),
            "mcp",
            "--mocks",
            mocks.to_str().unwrap(),
            "--allow",
            "*",
            "--no-store",
        ],
    );
    let served = Served::start(
        &world,
        &["--allow", "@up/look", "--allow", "@up/much", "--deny", "@up/look(path=secret*)"],
    );
    let person = || json!({"elicitation": {}});
    let list = served.post(&stateless(request(1, "tools/list", json!({})), person()));
    let names: Vec<&str> =
        list["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(
        names.contains(&"up__look") && names.contains(&"result_read") && names.contains(&"grep"),
        "{names:?}"
    );

    assert_eq!(text(&served.post(&stateless(call(2, "up__look"), person()))), "seen");
    let secret = request(3, "tools/call", json!({"name": "up__look", "arguments": {"path": "secret"}}));
    assert!(text(&served.post(&stateless(secret, person()))).starts_with("refused (denied)"));
    let mut change = stateless(call(4, "up__change"), person());
    let asked = served.post(&change);
    change["params"]["requestState"] = asked["result"]["requestState"].clone();
    change["params"]["inputResponses"] =
        json!({"tollgate_approval": {"action": "accept", "content": {"decision": "yes"}}});
    assert_eq!(text(&served.post(&change)), "changed");
    let much = served.post(&stateless(call(5, "up__much"), person()));
    assert!(text(&much).contains("sha256:"), "{much}");

    crate::both_ways::recorded(&world, &["up__look", "up__change", "a person"]);
}

#[test]
fn a_gateway_that_is_killed_leaves_no_server_behind() {
    killed_with_server("");
}

#[test]
fn a_gateway_that_is_killed_leaves_no_server_of_the_sandbox_behind() {
    killed_with_server("sandbox = true\n");
}

fn killed_with_server(settings: &str) {
    let world = World::with(&mocks());
    if !settings.is_empty() && world.run(&["doctor", "--json"]).json()["sandbox"]["level"] == "L1" {
        skipped("a server of the sandbox: this machine has none");
        return;
    }
    let mocks = world.path().join("mocks.json");
    // It answers as a server does, and when its input ends it goes on for ever.
    let script = world.file("stubborn.sh", "\"$@\"\nwhile true; do sleep 1; done\n");
    let (own, word) = (env!("CARGO_BIN_EXE_tollgate"), script.to_str().unwrap().to_owned());
    let mocks = mocks.to_str().unwrap();
    let command = ["/bin/sh", &word, own, "mcp", "--mocks", mocks, "--allow", "*", "--no-store"];
    with_server_set(&world, &command, settings);
    let mut served = Served::start(&world, &["--allow", "@up/*"]);
    assert_eq!(text(&served.post(&stateless(call(1, "up__look"), json!({})))), "seen");
    assert!(!with_word(&word).is_empty(), "the server runs");
    served.process.kill().unwrap();
    served.process.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while !with_word(&word).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(with_word(&word), Vec::<u32>::new());
}

/// The processes with this word on their command line.
fn with_word(word: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has = |id: &u32| {
        std::fs::read(format!("/proc/{id}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(word))
    };
    ids.filter(has).collect()
}

#[test]
fn beyond_loopback_it_does_not_start_without_somebody_who_may_ask() {
    let world = World::with(&mocks());
    let refused = world.on_mocks(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("hint: give --tokens"), "{refused:?}");
    world.file("tokens", "alice 0123456789abcdef\n");
    let open = world.on_mocks(&["serve", "--tokens", "tokens"]);
    assert!(open.err.contains("can be read by others"), "{open:?}");
}
