//! What goes wrong is told in one line that says what to do.

use tollgate_agent::{
    model::{ErrorKind, Model, ModelError, Retries},
    price::Models,
    provider::{Account, Api, Client, Secret, Settings, Streaming},
    standin::{Delivery, Say, StandIn},
};

use crate::support::{APIS, broken, hello, name};

/// One line, short, no control characters, a hint of one line, and the words that matter.
fn reads_well(error: &ModelError, kind: ErrorKind, words: &[&str]) {
    let shown = format!("{error} | hint: {}", error.hint());
    assert_eq!(error.kind(), kind, "{shown}");
    assert!(!shown.chars().any(char::is_control), "{shown}");
    assert!(error.to_string().len() < 500 && error.hint().ends_with(['.', '?']), "{shown}");
    for word in words {
        assert!(shown.contains(word), "{word:?} is not in: {shown}");
    }
}

fn once(settings: Settings) -> Settings {
    Settings { retries: Retries::NONE, ..settings }
}

async fn asked(standin: &StandIn, api: Api, say: Say) -> ModelError {
    standin.say(say);
    let model = standin.model_with(name(api), once(standin.settings())).unwrap();
    broken(model.ask(hello(api))).await.error
}

#[tokio::test]
async fn a_missing_key_is_named_by_its_variable() {
    for (api, variable) in [
        (Api::Anthropic, "ANTHROPIC_API_KEY"),
        (Api::OpenAi, "OPENAI_API_KEY"),
        (Api::Chat, "OPENAI_API_KEY"),
    ] {
        let settings = Settings::from_env(|_| None);
        let model = Client::new(name(api).parse().unwrap(), settings, &Models::builtin()).unwrap();
        let error = broken(model.ask(hello(api))).await.error;
        reads_well(&error, ErrorKind::NoKey, &["there is no key", variable]);
    }
}

#[tokio::test]
async fn a_wrong_key_is_told_from_a_missing_one() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let mut settings = once(standin.settings());
        settings.anthropic.key = Secret::new("sk-wrong");
        settings.openai.key = Secret::new("sk-wrong");
        let model = standin.model_with(name(api), settings).unwrap();
        let error = broken(model.ask(hello(api))).await.error;
        reads_well(&error, ErrorKind::WrongKey, &["does not accept the key", "_API_KEY", "HTTP 401"]);
        assert!(!error.to_string().contains("sk-wrong"));
    }
    // Some servers repeat the key they do not like.
    let echo = format!("Incorrect API key provided: {}", StandIn::key());
    let error = asked(&standin, Api::OpenAi, Say::status(401, "invalid_api_key", &echo)).await;
    reads_well(&error, ErrorKind::WrongKey, &["Incorrect API key provided: …"]);
    assert!(!format!("{error:?}").contains(StandIn::key()));
    let mut settings = standin.settings();
    settings.openai.key = Secret::new("two\nlines");
    let error = broken(standin.model_with("openai:m", settings).unwrap().ask(hello(Api::OpenAi))).await.error;
    reads_well(&error, ErrorKind::WrongKey, &["OPENAI_API_KEY", "line breaks"]);
}

#[tokio::test]
async fn an_address_where_nothing_or_something_else_answers_is_told() {
    // A port that was free a moment ago.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let at = |url: String| {
        let account =
            Account { key: Secret::new("sk-0123456789"), base_url: Some(url), ..Account::default() };
        let settings = Settings { anthropic: account.clone(), openai: account, ..once(Settings::default()) };
        Client::new("openai:gpt-5".parse().unwrap(), settings, &Models::builtin())
    };
    let error = broken(at(format!("http://{closed}/v1")).unwrap().ask(hello(Api::OpenAi))).await.error;
    reads_well(
        &error,
        ErrorKind::Unreachable,
        &[&closed.to_string(), "cannot be reached", "whether the server runs"],
    );

    let standin = StandIn::start().await.unwrap();
    let plain = standin.url(Api::OpenAi).replace("http://", "https://");
    let error = broken(at(plain).unwrap().ask(hello(Api::OpenAi))).await.error;
    reads_well(&error, ErrorKind::Tls, &["no safe connection", "certificate"]);

    let elsewhere = standin.url(Api::Anthropic) + "/api";
    let error = broken(at(elsewhere).unwrap().ask(hello(Api::OpenAi))).await.error;
    reads_well(&error, ErrorKind::NotTheApi, &["web page", "base URL", "HTTP 404"]);

    for bad in ["localhost:8080", "ftp://x/v1", "http://", "http://x/v1?key=1", "http://me:pw@x/v1"] {
        let error = at(bad.to_owned()).unwrap_err();
        reads_well(&error, ErrorKind::BadUrl, &["no address of an API", "https://host/path"]);
    }
}

#[test]
fn every_part_of_an_address_people_paste_leads_to_the_same_place() {
    let ways = [
        ("anthropic:m", ["http://x", "http://x/", "http://x/v1", "http://x/v1/messages"]),
        ("openai:m", ["http://x/v1", "http://x/v1/", "http://x/v1/responses", "http://x/v1/responses/"]),
        (
            "chat:m",
            ["http://x/v1", "http://x/v1/", "http://x/v1/chat/completions", "http://x/v1/chat/completions/"],
        ),
    ];
    for (model, urls) in ways {
        for url in urls {
            let name = format!("{model}@{url}").parse().unwrap();
            let client = Client::new(name, Settings::default(), &Models::builtin()).unwrap();
            let path = client.endpoint();
            assert!(
                ["http://x/v1/messages", "http://x/v1/responses", "http://x/v1/chat/completions"]
                    .contains(&path),
                "{url}: {path}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_server_answers_instead_of_a_turn_is_told_by_its_kind() {
    let standin = StandIn::start().await.unwrap();
    let json = "application/json";
    let cases: Vec<(Say, ErrorKind, &str)> = vec![
        (Say::page(200), ErrorKind::NotTheApi, "a web page"),
        (Say::raw(200, "text/event-stream", "<html></html>"), ErrorKind::NotTheApi, "a web page"),
        (Say::page(502), ErrorKind::ProviderFailed, "a web page"),
        (
            Say::raw(301, "text/plain", "").header("location", "https://elsewhere.test/"),
            ErrorKind::NotTheApi,
            "https://elsewhere.test/",
        ),
        (Say::error_body("overloaded_error", "Busy"), ErrorKind::Overloaded, "Busy"),
        (Say::error_body("moon_error", "Dark"), ErrorKind::ProviderFailed, "Dark (moon_error)"),
        (Say::error_body("authentication_error", "bad"), ErrorKind::WrongKey, "does not accept the key"),
        (Say::status(404, "not_found_error", "model: claude-9"), ErrorKind::UnknownModel, "has no model"),
        (
            Say::status(400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
            ErrorKind::ContextOverflow,
            "too long",
        ),
        (
            Say::raw(
                400,
                json,
                r#"{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            ),
            ErrorKind::ContextOverflow,
            "too long",
        ),
        (
            Say::raw(
                429,
                json,
                r#"{"error":{"message":"Pay.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            ),
            ErrorKind::NoCredit,
            "Pay",
        ),
        (
            Say::status(400, "invalid_request_error", "Your credit balance is too low to access"),
            ErrorKind::NoCredit,
            "credit balance",
        ),
        (Say::status(403, "permission_error", "Not yours"), ErrorKind::Forbidden, "Not yours"),
        (Say::status(400, "invalid_request_error", "tools.0: odd"), ErrorKind::Rejected, "tools.0: odd"),
        (Say::status(529, "overloaded_error", "Overloaded"), ErrorKind::Overloaded, "Overloaded"),
        (
            Say::raw(503, "text/plain", "upstream\u{1b}[2J\nconnect error"),
            ErrorKind::Overloaded,
            "connect error",
        ),
        (Say::raw(500, json, r#"{"detail":"Oh"}"#), ErrorKind::ProviderFailed, "Oh"),
        (
            Say::raw(404, json, r#"{"error":"model \"x\" not found, try pulling it first"}"#),
            ErrorKind::UnknownModel,
            "try pulling it first",
        ),
        (
            Say::raw(422, json, r#"[{"error":{"message":"list","status":"INVALID"}}]"#),
            ErrorKind::Rejected,
            "list",
        ),
        (Say::raw(404, json, r#"{"detail":"Not Found"}"#), ErrorKind::NotTheApi, "base URL"),
        (Say::status(404, "not_found_error", "Not Found"), ErrorKind::NotTheApi, "base URL"),
        (Say::raw(413, "text/plain", "too large"), ErrorKind::ContextOverflow, "too large"),
        (Say::raw(200, json, ""), ErrorKind::Cut, "empty"),
        (Say::raw(200, "text/event-stream", ""), ErrorKind::Cut, "empty"),
        (Say::raw(200, json, r#"{"content":[{"type":"te"#), ErrorKind::Cut, "breaks off"),
        (Say::raw(200, "text/plain", "hello"), ErrorKind::Cut, "hello"),
        (Say::raw(200, json, r#"{"fine":true}"#), ErrorKind::Unreadable, "not a turn"),
    ];
    for api in APIS {
        for (say, kind, words) in &cases {
            let error = asked(&standin, api, say.clone()).await;
            reads_well(&error, *kind, &[words]);
        }
    }
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn a_model_the_provider_does_not_have_is_named() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let name = format!("{}:missing", api.as_str());
        let model = standin.model_with(&name, once(standin.settings())).unwrap();
        let error = broken(model.ask(hello(api))).await.error;
        reads_well(&error, ErrorKind::UnknownModel, &["`missing`", "check the model's name"]);
    }
}

#[tokio::test]
async fn an_answer_in_another_providers_form_is_recognised() {
    let standin = StandIn::start().await.unwrap();
    let chat = r#"{"choices":[{"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}"#;
    let error = asked(&standin, Api::Anthropic, Say::raw(200, "application/json", chat)).await;
    reads_well(&error, ErrorKind::Unreadable, &["looks like openai-chat", "`chat:`"]);
}

#[tokio::test]
async fn a_whole_answer_is_taken_where_a_stream_was_asked_for_and_the_other_way_round() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let mut whole = Say::text("Hi.").call("c1", "read", "{}");
        let events = whole.stream_text(api);
        let delivery = Delivery { whole: true, ..Delivery::default() };
        whole = whole.delivered(delivery);
        standin.say(whole).say(Say::raw(200, "text/event-stream", events.clone())).say(Say::raw(
            200,
            "text/plain",
            events,
        ));
        for streaming in [Streaming::On, Streaming::Off, Streaming::Off] {
            let model =
                standin.model_with(name(api), Settings { streaming, ..once(standin.settings()) }).unwrap();
            let turn = model.ask(hello(api)).turn().await.unwrap();
            assert_eq!((turn.text.as_str(), turn.calls.len()), ("Hi.", 1));
        }
    }
}
