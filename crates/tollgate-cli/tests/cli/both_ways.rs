//! The whole way from a client to a server and back on the built program: over pipes and over HTTP, with a session and
//! without one.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::skipped::skipped;
use crate::world::{World, tools};

/// How a client comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Pipe,
    Http,
}

/// Which generation it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Session,
    Stateless,
}

const ALL: [(Way, Speaks); 4] = [
    (Way::Pipe, Speaks::Session),
    (Way::Pipe, Speaks::Stateless),
    (Way::Http, Speaks::Session),
    (Way::Http, Speaks::Stateless),
];

/// A client of the program, whose person says yes to everything it is asked.
struct Client {
    process: Child,
    pipes: Option<(ChildStdin, BufReader<ChildStdout>)>,
    address: String,
    speaks: Speaks,
    session: Option<String>,
    next: u32,
    /// What its person was shown.
    asked: Vec<String>,
}

impl Client {
    fn start(world: &World, (way, speaks): (Way, Speaks), rules: &[&str]) -> Self {
        let how: &[&str] = if way == Way::Pipe { &["mcp"] } else { &["serve", "--listen", "127.0.0.1:0"] };
        let mut command = world.command(&[how, rules].concat());
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stderr.take().unwrap());
        let mut address = String::new();
        while way == Way::Http && address.is_empty() {
            let mut line = String::new();
            assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it served");
            let at = line.split("http://").nth(1).and_then(|at| at.split('/').next());
            at.unwrap_or_default().clone_into(&mut address);
        }
        // Whatever else it says is read, so that it never waits for us.
        std::thread::spawn(move || drop(std::io::copy(&mut said, &mut std::io::sink())));
        let ends = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let pipes = (way == Way::Pipe).then_some(ends);
        let mut client = Self { process, pipes, address, speaks, session: None, next: 0, asked: Vec::new() };
        if speaks == Speaks::Session {
            client.begin();
        }
        client
    }

    fn begin(&mut self) {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"}});
        self.request("initialize", hello);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.send(&ready);
    }

    /// Calls a tool; its person says yes where somebody asks.
    #[expect(clippy::needless_pass_by_value, reason = "written where it is used")]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.request("tools/call", params.clone());
        if answer["result"]["resultType"] != "input_required" {
            return answer;
        }
        self.again(&params, &answer, "yes")
    }

    /// The same call once more, with what its person said to what it was asked.
    fn again(&mut self, params: &Value, asked: &Value, decision: &str) -> Value {
        let mut params = params.clone();
        params["requestState"] = asked["result"]["requestState"].clone();
        let questions = asked["result"]["inputRequests"].as_object().unwrap();
        let answers = questions.iter().map(|(key, question)| {
            self.asked.push(question["params"]["message"].as_str().unwrap_or_default().to_owned());
            (key.clone(), json!({"action": "accept", "content": {"decision": decision}}))
        });
        params["inputResponses"] = Value::Object(answers.collect());
        self.request("tools/call", params)
    }

    /// Makes a request and gives its answer; what comes before it is answered with a yes.
    fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.next += 1;
        if self.speaks == Speaks::Stateless {
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
        }
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        if self.pipes.is_none() {
            return self.post(&message);
        }
        self.send(&message);
        loop {
            let mut line = String::new();
            self.pipes.as_mut().unwrap().1.read_line(&mut line).unwrap();
            let came: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
            if came["id"] == message["id"] && came.get("method").is_none() {
                return came;
            }
            self.answer(&came);
        }
    }

    fn answer(&mut self, question: &Value) {
        if question["method"] == "elicitation/create" {
            self.asked.push(question["params"]["message"].as_str().unwrap().to_owned());
            let yes = json!({"action": "accept", "content": {"decision": "yes"}});
            self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
        }
    }

    fn send(&mut self, message: &Value) {
        match &mut self.pipes {
            Some((input, _)) => writeln!(input, "{message}").unwrap(),
            None => drop(self.open("POST", message)),
        }
    }

    /// The answer to a request over HTTP, as one object or as the last event of a stream.
    fn post(&mut self, message: &Value) -> Value {
        let mut stream = self.open("POST", message);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let lower = head.to_ascii_lowercase();
        if let Some(id) = lower.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")) {
            self.session = Some(id.trim().to_owned());
        }
        if !lower.contains("text/event-stream") {
            let mut body = String::new();
            stream.read_to_string(&mut body).unwrap();
            return serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {head}{body}"));
        }
        loop {
            let mut line = String::new();
            assert!(stream.read_line(&mut line).unwrap() > 0, "the stream ended without the answer");
            let Some(data) = line.trim().strip_prefix("data:").filter(|data| data.contains('{')) else {
                continue;
            };
            let came: Value = serde_json::from_str(data).unwrap();
            if came["id"] == message["id"] && came.get("method").is_none() {
                return came;
            }
            self.answer(&came);
        }
    }

    fn open(&self, how: &str, message: &Value) -> BufReader<TcpStream> {
        let headers = match (self.speaks, &self.session) {
            (Speaks::Stateless, _) => {
                let name = message["params"]["name"].as_str().unwrap_or("none");
                let method = message["method"].as_str().unwrap_or_default();
                format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n")
            }
            (Speaks::Session, Some(id)) => format!("mcp-session-id: {id}\r\n"),
            (Speaks::Session, None) => String::new(),
        };
        let body = message.to_string();
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "{how} /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             {headers}content-length: {}\r\nconnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        // A notification or an answer is only taken in: that it was is seen by the first line.
        if message.get("id").is_none() || message.get("method").is_none() {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
        }
        stream
    }

    /// The status of a request that is made with this session.
    fn status_of(&self, how: &str, message: &Value) -> u16 {
        let mut line = String::new();
        self.open(how, message).read_line(&mut line).unwrap();
        line.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{line:?}"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.pipes = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// A world with a server `up` of mocked tools: this program once more, which cuts nothing.
fn world(trust: bool) -> World {
    let reads = json!({"concurrency": "read_only", "read_only": true, "destructive": false, "idempotent": true, "open_world": false});
    let mocks = tools(&[
        ("look", json!({"effects": reads, "answers": [{"text": "seen"}]})),
        ("change", json!({"answers": [{"text": "changed"}]})),
        (
            "much",
            json!({"effects": reads, "max_result_chars": "unlimited", "answers": [{"text": "much to say. ".repeat(5_000)}]}),
        ),
    ]);
    let world = World::with(&mocks);
    let mocks = world.path().join("mocks.json");
    let ran = world.path().join("ran.log");
    // Every line that reaches the server is written down on its way.
    let script = world.file("up.sh", format!("tee -a {:?} | exec \"$@\"\n", ran.display()));
    let own = env!("CARGO_BIN_EXE_tollgate");
    let args = [
        script.to_str().unwrap(),
        own,
        "mcp",
        "--mocks",
        mocks.to_str().unwrap(),
        "--allow",
        "*",
        "--no-store",
    ];
    let config = format!("[mcp.servers.up]\ncommand = \"/bin/sh\"\nargs = {args:?}\ntrust = {trust}\n");
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tollgate.toml"), config).unwrap();
    world
}

/// How often the server was asked to run this.
fn reached(world: &World, tool: &str) -> usize {
    let log = std::fs::read_to_string(world.path().join("ran.log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("tools/call") && line.contains(&format!("\"{tool}\""))).count()
}

const RULES: [&str; 6] = ["--allow", "@up/look", "--allow", "@up/much", "--deny", "@up/look(path=secret*)"];

#[test]
fn denied_asked_cut_and_recorded_over_both_transports_in_both_generations() {
    for how in ALL {
        let world = world(true);
        let mut client = Client::start(&world, how, &RULES);
        assert_eq!(text(&client.call("up__look", json!({"path": "x"}))), "seen", "{how:?}");
        let denied = client.call("up__look", json!({"path": "secret.txt"}));
        assert!(text(&denied).starts_with("refused (denied)"), "{how:?} {denied}");
        assert_eq!(reached(&world, "look"), 1, "{how:?}: what is denied reaches no server");
        assert_eq!(text(&client.call("up__change", json!({"path": "y"}))), "changed", "{how:?}");
        assert_eq!(client.asked.len(), 1, "{how:?}");
        assert!(
            client.asked[0].contains("change") && client.asked[0].contains("\"y\""),
            "{:?}",
            client.asked
        );
        let much = client.call("up__much", json!({}));
        let kept = &much["result"]["_meta"]["tollgate/offloaded"]["ref"];
        assert!(text(&much).len() < 60_000 && kept.is_string(), "{how:?} {much}");
        let part = client.call("result_read", json!({"ref": kept, "from_byte": 0, "bytes": 12}));
        assert!(text(&part).contains("much to say."), "{how:?} {part}");
        // A clean end writes down what is left.
        if let Some((input, _)) = client.pipes.take() {
            drop(input);
            assert_eq!(client.process.wait().unwrap().code(), Some(0), "{how:?}");
        }
        let told = recorded(&world, &["up__look", "up__change", "up__much", "denied", "a person"]);
        assert!(!told.contains("tool_call"), "{how:?}: the inner tool is what is recorded: {told}");
    }
}

/// What `trace show` says once all of this is in it.
pub(crate) fn recorded(world: &World, words: &[&str]) -> String {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let trace = world.run(&["trace", "show"]).out;
        let missing = words.iter().find(|word| !trace.contains(**word));
        match missing {
            None => return trace,
            Some(word) => assert!(Instant::now() < until, "{word} is not in {trace}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_session_over_http_is_its_own_ends_when_it_is_ended_and_when_nobody_uses_it() {
    let world = world(true);
    let how = (Way::Http, Speaks::Session);
    let mut client = Client::start(&world, how, &["--allow", "@up/look", "--session-idle", "5"]);
    let id = client.session.clone().expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": {}});
    assert_eq!(client.status_of("POST", &list), 200);
    client.session = Some("0".repeat(id.len()));
    assert_eq!(client.status_of("POST", &list), 404, "one that was never given");
    client.session = None;
    assert_eq!(client.status_of("POST", &list), 400, "none");
    client.session = Some(id.clone());
    assert_eq!(client.status_of("DELETE", &json!({"id": 1, "method": ""})), 200);
    assert_eq!(client.status_of("POST", &list), 404, "one that was ended");

    client.session = None;
    client.begin();
    assert_ne!(client.session.as_ref(), Some(&id));
    assert_eq!(client.status_of("POST", &list), 200);
    std::thread::sleep(Duration::from_millis(5500));
    assert_eq!(client.status_of("POST", &list), 404, "one that nobody used for so long");
    client.session = None;
    client.begin();
    assert_eq!(text(&client.call("up__look", json!({"path": "x"}))), "seen", "and a new one is served");
}

#[test]
fn a_call_that_waits_for_a_person_is_lost_with_its_gateway_and_nothing_runs_twice() {
    for way in [Way::Pipe, Way::Http] {
        let world = world(true);
        let how = (way, Speaks::Stateless);
        let params = json!({"name": "up__change", "arguments": {"path": "y"}});
        let mut client = Client::start(&world, how, &RULES);
        let asked = client.request("tools/call", params.clone());
        assert_eq!(asked["result"]["resultType"], "input_required", "{way:?} {asked}");
        client.process.kill().unwrap();
        client.process.wait().unwrap();

        let mut client = Client::start(&world, how, &RULES);
        let lost = client.again(&params, &asked, "yes");
        let message = lost["error"]["message"].as_str().unwrap_or_else(|| panic!("{way:?} {lost}"));
        assert!(lost["error"]["code"] == -32602 && message.contains("started anew"), "{way:?} {lost}");
        assert_eq!(
            reached(&world, "change"),
            0,
            "{way:?}: an answer to a question of another life runs nothing"
        );
        assert_eq!(text(&client.call("up__change", json!({"path": "y"}))), "changed", "{way:?}");
        assert_eq!(reached(&world, "change"), 1, "{way:?}");
    }
}

#[test]
fn a_server_killed_during_a_call_leaves_what_its_effects_say_and_serves_the_next() {
    for (trust, status) in [(true, "retryable_error"), (false, "unknown")] {
        for how in [(Way::Pipe, Speaks::Session), (Way::Http, Speaks::Stateless)] {
            let world = World::new();
            // Dies in the first call it gets, by the signal nobody can take.
            let tools = json!({"tools": [{"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]});
            let server = format!(
                "import json, os, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n    if 'id' not in m: continue\n    k = m['method']\n    \
                 r = None\n    if k == 'initialize': r = {{'protocolVersion': '2025-11-25', 'capabilities': {{'tools': {{}}}}, 'serverInfo': {{'name': 'x', 'version': '1'}}}}\n    \
                 elif k == 'tools/list': r = json.loads({:?})\n    elif k == 'tools/call':\n        if not os.path.exists('died'):\n            open('died', 'w').close()\n            os.kill(os.getpid(), 9)\n        r = {{'content': [{{'type': 'text', 'text': 'seen'}}]}}\n    \
                 a = {{'jsonrpc': '2.0', 'id': m['id']}}\n    if r is None: a['error'] = {{'code': -32601, 'message': 'no'}}\n    else: a['result'] = r\n    print(json.dumps(a), flush=True)\n",
                tools.to_string()
            );
            let script = world.file("up.py", server);
            let folder = world.path().join(".config/tollgate");
            std::fs::create_dir_all(&folder).unwrap();
            let config = format!(
                "[mcp.servers.up]\ncommand = [\"/usr/bin/python3\", {:?}]\ncwd = {:?}\ntrust = {trust}\n",
                script.display(),
                world.path().display()
            );
            std::fs::write(folder.join("tollgate.toml"), config).unwrap();
            if !std::path::Path::new("/usr/bin/python3").exists() {
                skipped("a server killed during a call: there is no /usr/bin/python3 here");
                return;
            }
            let mut client = Client::start(&world, how, &["--allow", "@up/look"]);
            let first = client.call("up__look", json!({}));
            assert_eq!(first["result"]["_meta"]["tollgate/status"], status, "{how:?} {first}");
            assert_eq!(text(&client.call("up__look", json!({}))), "seen", "{how:?}");
        }
    }
}
