//! What is not as it should be is answered with the protocol's own error, and nothing runs.

use serde_json::{Value, json};
use tollgate_mcp::gateway::{
    Identity,
    http::{Auth, HttpSettings},
};

use crate::{
    web::{begin, post, post_stateless, send, whole},
    world::{World, call, request, stateless},
};

#[test]
fn over_a_pipe() {
    let world = World::new();
    let mut client = world.pipe();
    client.send_text("{");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.send_text("[]");
    assert_eq!(client.next()["error"]["code"], -32600);
    client.send_text(r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#);
    assert_eq!(client.next()["error"]["code"], -32600);
    // Before anything was agreed on.
    assert_eq!(client.ask(&call(1, "echo", json!({"text": "x"})))["error"]["code"], -32602);
    client.begin(json!({}));
    assert_eq!(client.ask(&request(2, "nonsense", json!({})))["error"]["code"], -32601);
    assert_eq!(client.ask(&request(3, "tools/call", json!({})))["error"]["code"], -32602);
    assert_eq!(client.ask(&request(4, "tools/list", json!({"cursor": "x"})))["error"]["code"], -32602);
    assert_eq!(
        client.ask(&request(5, "logging/setLevel", json!({"level": "loud"})))["error"]["code"],
        -32602
    );
    client.send_text(&format!(r#"{{"jsonrpc":"2.0","id":6,"method":"{}"}}"#, "x".repeat(17 << 20)));
    assert_eq!(client.next()["error"]["code"], -32600);
    // And it goes on.
    assert!(client.ask(&call(7, "echo", json!({"text": "after"}))).get("result").is_some());
    assert_eq!(world.ran(), ["echo after"]);
}

#[test]
fn over_http_the_status_says_it_too() {
    let world = World::new();
    let address = world.serve({
        let mut settings = HttpSettings::new(Auth::Open(Identity::new("web", None)));
        settings.max_body = 10_000;
        settings
    });
    let status = |headers: &[(&str, &str)], body: &str| {
        let answer = whole(send(&address, "POST", headers, body));
        (
            answer.status,
            answer.messages.first().map_or(Value::Null, |message| message["error"]["code"].clone()),
        )
    };
    let good = call(1, "echo", json!({"text": "x"})).to_string();
    assert_eq!(status(&[], "{"), (400, json!(-32700)));
    assert_eq!(status(&[], &good), (400, json!(-32600)));
    assert_eq!(status(&[("mcp-session-id", "nonsense")], &good), (404, json!(-32600)));
    assert_eq!(status(&[("mcp-protocol-version", "1999-01-01")], &good), (400, json!(-32022)));
    assert_eq!(status(&[("content-type", "text/plain")], &good), (415, json!(-32600)));
    assert_eq!(status(&[("accept", "application/json")], &good), (406, json!(-32600)));
    assert_eq!(status(&[("host", "evil.example.com")], &good), (403, json!(-32600)));
    assert_eq!(status(&[("origin", "http://evil.example.com")], &good), (403, json!(-32600)));
    assert_eq!(
        status(&[], &call(1, "echo", json!({"text": "x".repeat(20_000)})).to_string()),
        (413, json!(-32600))
    );
    assert_eq!(whole(send(&address, "GET", &[], "")).status, 405);
    assert_eq!(whole(send(&address, "PUT", &[], "")).status, 405);
    assert!(world.ran().is_empty());
}

#[test]
fn a_stateless_request_says_the_same_in_its_headers_or_is_refused() {
    let world = World::new();
    let address = world.open();
    let message = stateless(call(1, "echo", json!({"text": "x"})), json!({}));
    let tries: [(&[(&str, &str)], i32); 6] = [
        (&[], -32020),
        (
            &[("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/call"), ("mcp-name", "echo")],
            -32020,
        ),
        (&[("mcp-protocol-version", "2026-07-28"), ("mcp-name", "echo")], -32020),
        (
            &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"), ("mcp-name", "echo")],
            -32020,
        ),
        (&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")], -32020),
        (
            &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "destroy")],
            -32020,
        ),
    ];
    for (headers, code) in tries {
        let answer = post(&address, headers, &message);
        assert_eq!((answer.status, &answer.message()["error"]["code"]), (400, &json!(code)), "{headers:?}");
    }
    let bare = call(1, "echo", json!({"text": "x"}));
    let lacking = post_stateless(&address, &bare);
    assert_eq!((lacking.status, &lacking.message()["error"]["code"]), (400, &json!(-32602)));
    let unknown = post_stateless(&address, &stateless(request(1, "nonsense", json!({})), json!({})));
    assert_eq!((unknown.status, &unknown.message()["error"]["code"]), (404, &json!(-32601)));
    assert!(world.ran().is_empty());
}

#[test]
fn a_session_is_nobody_elses() {
    let world = World::new();
    let tokens = "one one-token-0123456789\ntwo two-token-0123456789\n";
    let auth = Auth::Tokens(tollgate_mcp::gateway::http::Tokens::parse(tokens).unwrap());
    let address = world.serve(HttpSettings::new(auth));
    let one = ("authorization", "Bearer one-token-0123456789");
    let two = ("authorization", "Bearer two-token-0123456789");
    let id = begin(&address, &[one], json!({}));
    let message = call(1, "echo", json!({"text": "x"}));
    assert_eq!(post(&address, &[two, ("mcp-session-id", &id)], &message).status, 404);
    assert_eq!(whole(send(&address, "DELETE", &[two, ("mcp-session-id", &id)], "")).status, 404);
    assert_eq!(post(&address, &[("mcp-session-id", &id)], &message).status, 401);
    assert!(world.ran().is_empty());
    assert_eq!(post(&address, &[one, ("mcp-session-id", &id)], &message).status, 200);
}
