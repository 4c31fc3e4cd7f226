//! Who may ask over HTTP, what they see, and how often.

use serde_json::json;
use tollgate::policy::Rules;
use tollgate_mcp::gateway::{
    Asking, Settings,
    http::{Auth, HttpSettings, Issuer, Tokens},
};

use crate::{
    web::{post, post_stateless, send, whole},
    world::{World, call, request, stateless, text, usual},
};

fn tokens() -> HttpSettings {
    let list = "alice alice-token-0123456789\nreader reader-token-0123456789 reading\n";
    HttpSettings::new(Auth::Tokens(Tokens::parse(list).unwrap()))
}

#[test]
fn a_token_says_who_asks_and_its_route_what_they_see() {
    let world = World::new();
    let address = world.serve(tokens());
    let ask = |token: &str, message: &serde_json::Value| {
        let name = message["params"]["name"].as_str().unwrap_or_default().to_owned();
        let bearer = format!("Bearer {token}");
        let method = message["method"].as_str().unwrap();
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", &name),
            ("authorization", &bearer),
        ];
        post(&address, &headers, message)
    };
    let list = stateless(request(1, "tools/list", json!({})), json!({}));
    let count = |token: &str| ask(token, &list).message()["result"]["tools"].as_array().unwrap().len();
    assert_eq!((count("alice-token-0123456789"), count("reader-token-0123456789")), (6, 2));
    let add = stateless(call(2, "add", json!({"a": 1})), json!({}));
    assert!(text(ask("reader-token-0123456789", &add).message()).starts_with("refused (not_disclosed)"));

    let without = post_stateless(&address, &list);
    assert_eq!(without.status, 401);
    assert!(without.header("www-authenticate").unwrap().starts_with("Bearer"), "{without:?}");
    assert_eq!(ask("wrong-token-0123456789", &list).status, 401);
}

#[test]
fn rules_name_callers() {
    let rules = Rules::new().allow("echo").unwrap().with(by_caller("deny", "echo", "reader"));
    let world = World::with(usual, rules, Asking::new(), Settings::default());
    let address = world.serve(tokens());
    let message = stateless(call(1, "echo", json!({"text": "x"})), json!({}));
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "echo"),
            ("authorization", &bearer),
        ];
        text(post(&address, &headers, &message).message()).to_owned()
    };
    assert_eq!(ask("alice-token-0123456789"), "said: x");
    assert!(ask("reader-token-0123456789").starts_with("refused (denied)"));
}

/// A rule of a file, for one caller.
fn by_caller(does: &str, tool: &str, caller: &str) -> tollgate::policy::Rule {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tollgate.toml");
    std::fs::write(
        &file,
        format!("[[policy.rule]]\ndo = \"{does}\"\ntool = \"{tool}\"\ncaller = \"{caller}\"\n"),
    )
    .unwrap();
    let sources = tollgate::policy::config::Sources { user: Some(file), ..Default::default() };
    sources.load().unwrap().rules.remove(0)
}

#[test]
fn an_issuers_server_says_who_issues_tokens() {
    let jwks =
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let issuer = Issuer::new("https://login.example.com", "https://tools.example.com/mcp", jwks).unwrap();
    let world = World::new();
    let address = world.serve(HttpSettings::new(Auth::Issued(Box::new(issuer))));
    let list = stateless(request(1, "tools/list", json!({})), json!({}));
    let refused = post_stateless(&address, &list);
    assert_eq!(refused.status, 401);
    let says = refused.header("www-authenticate").unwrap();
    assert!(
        says.contains(
            r#"resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp""#
        ),
        "{says}"
    );
    let forged = "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.";
    assert_eq!(post(&address, &[("authorization", forged)], &list).status, 401);
    assert!(world.ran().is_empty());
}

#[test]
fn who_asks_too_often_is_told_to_wait() {
    let world = World::new();
    let mut settings = tokens();
    settings.per_second = 2;
    let address = world.serve(settings);
    let bearer = [("authorization", "Bearer alice-token-0123456789")];
    let statuses: Vec<u16> = (0..8).map(|_| whole(send(&address, "POST", &bearer, "{")).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 4, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
    let other = [("authorization", "Bearer reader-token-0123456789")];
    assert_eq!(whole(send(&address, "POST", &other, "{")).status, 400);
}
