//! Over HTTP.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::event::What;

use crate::world::{Address, World, call, request, stateless, text};

/// One answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) messages: Vec<Value>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line =
            self.head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// The one message, or the last of several.
    pub(crate) fn message(&self) -> &Value {
        self.messages.last().unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

/// A request as it goes over the wire; `headers` replace the usual ones of the same name.
pub(crate) fn send(
    address: &Address,
    method: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> BufReader<TcpStream> {
    let host = address.address.to_string();
    let length = body.len().to_string();
    let usual = [
        ("host", host.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("content-length", &length),
        ("connection", "close"),
    ];
    let usual = usual.into_iter().filter(|(name, _)| headers.iter().all(|(given, _)| given != name));
    let all: String = usual
        .chain(headers.iter().copied())
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let mut stream = TcpStream::connect(address.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(format!("{method} /mcp HTTP/1.1\r\n{all}\r\n{body}").as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Reads all of an answer.
pub(crate) fn whole(mut reader: BufReader<TcpStream>) -> Answer {
    let mut text = String::new();
    let _ = reader.read_to_string(&mut text);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let messages = if head.contains("text/event-stream") {
        events.map(|event| serde_json::from_str(event).unwrap()).collect()
    } else {
        serde_json::from_str(body).ok().into_iter().collect()
    };
    Answer { status, head: head.to_owned(), messages }
}

/// The next event of an answer that is still coming.
pub(crate) fn next_event(reader: &mut BufReader<TcpStream>) -> Value {
    let mut line = String::new();
    loop {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "the stream ended");
        if let Some(event) = line.strip_prefix("data: ") {
            return serde_json::from_str(event).unwrap();
        }
    }
}

pub(crate) fn post(address: &Address, headers: &[(&str, &str)], message: &Value) -> Answer {
    whole(send(address, "POST", headers, &message.to_string()))
}

/// A stateless request with the headers it needs.
pub(crate) fn post_stateless(address: &Address, message: &Value) -> Answer {
    let name = message["params"]["name"].as_str().unwrap_or_default();
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", message["method"].as_str().unwrap()),
        ("mcp-name", name),
    ];
    post(address, &headers, message)
}

/// Begins a session; its id.
pub(crate) fn begin(address: &Address, headers: &[(&str, &str)], capabilities: Value) -> String {
    let hello = request(
        0,
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"}}),
    );
    let answer = post(address, headers, &hello);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("mcp-session-id").unwrap().to_owned()
}

#[test]
fn a_session_is_begun_used_and_ended_and_then_gone() {
    let world = World::new();
    let address = world.open();
    let id = begin(&address, &[], json!({}));
    let headers = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let told = post(&address, &headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((told.status, told.messages.len()), (202, 0));
    let said = post(&address, &headers, &call(1, "echo", json!({"text": "hello"})));
    assert_eq!((said.status, text(said.message())), (200, "said: hello"));
    assert_eq!(said.header("content-type"), Some("application/json"));

    assert_eq!(whole(send(&address, "DELETE", &headers, "")).status, 200);
    assert_eq!(post(&address, &headers, &call(2, "echo", json!({"text": "again"}))).status, 404);
    assert_eq!(world.ran(), ["echo hello"]);
}

#[test]
fn a_stateless_request_stands_alone() {
    let world = World::new();
    let address = world.open();
    let said = post_stateless(&address, &stateless(call(1, "echo", json!({"text": "one"})), json!({})));
    assert_eq!((said.status, text(said.message())), (200, "said: one"));
    // Clients count from 1 each time they start: equal ids are not the same call.
    let said = post_stateless(&address, &stateless(call(1, "echo", json!({"text": "two"})), json!({})));
    assert_eq!(text(said.message()), "said: two");
    let found = post_stateless(&address, &stateless(request(2, "server/discover", json!({})), json!({})));
    assert_eq!(found.message()["result"]["supportedVersions"][0], "2026-07-28");
}

#[test]
fn what_a_call_says_before_its_answer_comes_as_events() {
    let world = World::new();
    let address = world.open();
    let id = begin(&address, &[], json!({}));
    let mut waits = call(1, "waits", json!({}));
    waits["params"]["_meta"] = json!({"progressToken": 5});
    let mut stream = send(&address, "POST", &[("mcp-session-id", &id)], &waits.to_string());
    let progress = next_event(&mut stream);
    assert_eq!(progress["params"]["progressToken"], 5);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(post(&address, &[("mcp-session-id", &id)], &cancel).status, 202);
    assert_eq!(next_event(&mut stream)["id"], 1);
}

#[test]
fn a_stateless_client_that_hangs_up_stops_its_call() {
    let world = World::new();
    let address = world.open();
    let waits = stateless(call(1, "waits", json!({})), json!({}));
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "waits")];
    let stream = send(&address, "POST", &headers, &waits.to_string());
    while world.ran().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stream);
    for _ in 0..500 {
        if world.ran().len() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(world.ran(), ["waits began", "waits stopped"]);
}

#[test]
fn a_session_hears_that_tools_changed_on_its_own_stream_and_a_subscription_on_its() {
    let world = World::new();
    let address = world.open();
    let id = begin(&address, &[], json!({}));
    let mut own = send(&address, "GET", &[("mcp-session-id", &id), ("accept", "text/event-stream")], "");
    let mut begun = String::new();
    while !begun.contains("listening") {
        own.read_line(&mut begun).unwrap();
    }
    let listen = stateless(
        request(9, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})),
        json!({}),
    );
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
    let mut subscribed = send(&address, "POST", &headers, &listen.to_string());
    assert_eq!(next_event(&mut subscribed)["method"], "notifications/subscriptions/acknowledged");

    world.gateway.tools_changed();
    assert_eq!(next_event(&mut own)["method"], "notifications/tools/list_changed");
    let told = next_event(&mut subscribed);
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    // The server's end is told too.
    address.over.cancel();
    assert_eq!(next_event(&mut subscribed)["result"]["resultType"], "complete");
}

#[test]
fn denied_and_oversized_over_http_in_both_generations() {
    let world = World::new();
    let address = world.open();
    let id = begin(&address, &[], json!({}));
    let session = |message: &Value| post(&address, &[("mcp-session-id", &id)], message);
    let alone = |message: &Value| post_stateless(&address, &stateless(message.clone(), json!({})));
    for ask in [&session as &dyn Fn(&Value) -> Answer, &alone] {
        let refused = ask(&call(1, "echo", json!({"text": "secret"})));
        assert!(text(refused.message()).starts_with("refused (denied)"), "{refused:?}");
        let long = ask(&call(2, "long", json!({})));
        assert!(text(long.message()).contains("sha256:"), "{long:?}");
    }
    assert!(world.ran().is_empty());
}

#[test]
fn a_sessions_call_goes_on_without_its_connection_and_ends_as_every_call_does() {
    let world = World::new();
    let mut observed = world.gateway.gate().observe(1_000);
    let address = world.open();
    let id = begin(&address, &[], json!({}));
    let session = [("mcp-session-id", id.as_str())];
    let stream = send(&address, "POST", &session, &call(7, "waits", json!({})).to_string());
    while world.ran().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stream);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(world.ran(), ["waits began"], "nobody said that it is not wanted");
    let unwanted = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    assert_eq!(post(&address, &session, &unwanted).status, 202);
    let mut steps = Vec::new();
    for _ in 0..500 {
        steps.extend(observed.records());
        if steps.iter().any(|step| matches!(step.what, What::Settled { .. })) {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(world.ran(), ["waits began", "waits stopped"]);
    assert!(steps.iter().any(|step| matches!(step.what, What::Settled { .. })), "{steps:?}");
}
