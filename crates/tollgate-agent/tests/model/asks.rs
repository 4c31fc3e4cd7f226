//! Questions that get their answers: every API, streamed and whole, with every kind of end.

use serde_json::{Value, json};
use tollgate::wire::{CacheMark, Provider, Stop, TurnEvent, Usage, WireTool, tools_json};
use tollgate_agent::{
    model::{Caching, Model, Step, ToolChoice},
    provider::{Api, Auth, Secret, Settings, Streaming},
    standin::{Say, StandIn},
};

use crate::support::{APIS, answer, ask, hello, name, steps, tool, user};

fn looks() -> Say {
    let usage = Usage { input_tokens: 30, output_tokens: 12, cache_read_tokens: 20, ..Usage::default() };
    Say::text("I look, “quietly”.")
        .thinking("What is there?")
        .call("c1", "read", r#"{"path":"a"}"#)
        .call("c2", "read", r#"{"path":"b\"c"}"#)
        .usage(usage)
}

fn text_of(steps: &[Step]) -> String {
    let deltas = steps.iter().filter_map(|step| match step {
        Step::Event(TurnEvent::TextDelta(text)) => Some(text.as_str()),
        _ => None,
    });
    deltas.collect()
}

#[tokio::test]
async fn every_api_answers_streamed_and_whole_with_the_same_turn() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let mut turns = Vec::new();
        for streaming in [Streaming::On, Streaming::Off] {
            standin.say(looks());
            let model = standin.model_with(name(api), Settings { streaming, ..standin.settings() }).unwrap();
            let mut steps = steps(model.ask(hello(api))).await;
            assert_eq!(text_of(&steps), "I look, “quietly”.", "{api:?} {streaming:?}");
            let Some(Step::Done(turn)) = steps.pop() else { panic!("{api:?} {streaming:?}: {steps:?}") };
            let calls =
                steps.iter().filter(|step| matches!(step, Step::Event(TurnEvent::CallReady(_)))).count();
            assert_eq!(calls, 2);
            assert_eq!((&turn.stop, turn.calls.len()), (&Stop::ToolUse, 2));
            assert_eq!(turn.calls[1].input.as_str(), r#"{"path":"b\"c"}"#);
            assert_eq!(turn.usage.unwrap().cache_read_tokens, 20);
            turns.push((turn.text, turn.calls, turn.usage));
        }
        assert_eq!(turns[0], turns[1], "{api:?}");
    }
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn conversations_of_one_to_fifty_calls_a_turn_are_never_refused() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let model = standin.model(name(api));
        let mut messages = vec![user(api, "read it all")];
        for (at, count) in [1, 2, 10, 50].into_iter().enumerate() {
            let prefix = format!("call_{at}");
            standin.say(Say::calls(&prefix, count, "read", r#"{"path":"x"}"#).thinking("Hm."));
            let turn = model.ask(ask(api, messages.clone())).turn().await.unwrap();
            let ids: Vec<_> = turn.calls.iter().map(|call| call.id.to_string()).collect();
            let results: Vec<_> = ids.iter().map(|id| (id.as_str(), "contents")).collect();
            assert_eq!(results.len(), count);
            answer(api.provider(), &mut messages, &turn.message, &results);
        }
        standin.say(Say::text("Done."));
        let turn = model.ask(ask(api, messages)).turn().await.unwrap();
        assert_eq!((turn.text.as_str(), turn.stop), ("Done.", Stop::EndTurn));
    }
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn each_way_a_turn_can_end_is_named_and_a_cut_call_never_runs() {
    let standin = StandIn::start().await.unwrap();
    let cases = [
        (Api::Anthropic, "max_tokens", Stop::MaxTokens),
        (Api::Anthropic, "pause_turn", Stop::PauseTurn),
        (Api::Anthropic, "refusal", Stop::Refusal),
        (Api::Anthropic, "model_context_window_exceeded", Stop::ContextFull),
        (Api::Anthropic, "stop_sequence", Stop::StopSequence),
        (Api::OpenAi, "max_output_tokens", Stop::MaxTokens),
        (Api::OpenAi, "content_filter", Stop::ContentFilter),
        (Api::Chat, "length", Stop::MaxTokens),
        (Api::Chat, "content_filter", Stop::ContentFilter),
    ];
    for (api, word, stop) in cases {
        for streaming in [Streaming::On, Streaming::Off] {
            let half = r#"{"path":"#;
            let half = if streaming == Streaming::On && stop.is_cut() { half } else { "{}" };
            standin.say(Say::text("Well").call("c1", "read", half).stop(word));
            let model = standin.model_with(name(api), Settings { streaming, ..standin.settings() }).unwrap();
            let turn = model.ask(hello(api)).turn().await.unwrap();
            assert_eq!(turn.stop, stop, "{api:?} {word}");
            assert_eq!(turn.calls[0].fault().is_some(), stop.is_cut(), "{api:?} {word}");
        }
    }
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn tools_go_out_byte_for_byte_and_the_prompt_begins_the_same_each_turn() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let model = standin.model(name(api));
        let mut messages = vec![user(api, "hello")];
        standin.say(Say::text("Hi.").call("c1", "read", "{}")).say(Say::text("Bye."));
        let request = ask(api, messages.clone());
        let tools = request.tools.to_string();
        let turn = model.ask(request).turn().await.unwrap();
        answer(api.provider(), &mut messages, &turn.message, &[("c1", "x")]);
        model.ask(ask(api, messages)).turn().await.unwrap();
        let seen = standin.seen();
        for seen in &seen[seen.len() - 2..] {
            let body = String::from_utf8(seen.bytes.to_vec()).unwrap();
            assert!(body.contains(&tools), "{api:?}: {body}");
        }
    }
}

#[tokio::test]
async fn anthropic_gets_its_cache_marks_and_never_more_than_four() {
    let standin = StandIn::start().await.unwrap();
    let model = standin.model("anthropic:claude-sonnet-4-5");
    let mut messages = vec![user(Api::Anthropic, "hello")];
    for at in 0..4 {
        standin.say(Say::text("Hi.").call(&format!("c{at}"), "read", "{}"));
        let turn = model.ask(ask(Api::Anthropic, messages.clone())).turn().await.unwrap();
        answer(Provider::Anthropic, &mut messages, &turn.message, &[(&format!("c{at}"), "x")]);
    }
    standin.say(Say::text("Done."));
    let mut unmarked = ask(Api::Anthropic, messages);
    unmarked.caching = Caching::Off;
    model.ask(unmarked).turn().await.unwrap();
    let seen = standin.seen();
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    assert_eq!(seen.iter().map(|seen| marks(&seen.body)).collect::<Vec<_>>(), [3, 4, 4, 4, 1]);
    let last = &seen[3].body;
    assert_eq!(last["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    let messages = last["messages"].as_array().unwrap();
    let marked: Vec<_> = (0..messages.len()).filter(|at| marks(&messages[*at]) > 0).collect();
    assert_eq!(marked, [messages.len() - 3, messages.len() - 1]);
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn keys_and_versions_are_sent_as_the_settings_say() {
    let standin = StandIn::start().await.unwrap();
    let mut settings = standin.settings();
    settings.anthropic.auth = Some(Auth::Bearer);
    settings.anthropic_version = "2026-10-21".to_owned();
    standin.say(Say::text("x")).say(Say::text("x")).say(Say::text("x"));
    standin.model("anthropic:m").ask(hello(Api::Anthropic)).turn().await.unwrap();
    let model = standin.model_with("anthropic:m", settings).unwrap();
    model.ask(hello(Api::Anthropic)).turn().await.unwrap();
    standin.model("openai:m").ask(hello(Api::OpenAi)).turn().await.unwrap();
    let seen = standin.seen();
    let header =
        |at: usize, name: &str| seen[at].headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let bearer = Some(format!("Bearer {}", StandIn::key()));
    assert_eq!(header(0, "x-api-key").as_deref(), Some(StandIn::key()));
    assert_eq!(header(0, "anthropic-version").as_deref(), Some("2023-06-01"));
    assert_eq!((header(1, "x-api-key"), header(1, "authorization")), (None, bearer.clone()));
    assert_eq!(header(1, "anthropic-version").as_deref(), Some("2026-10-21"));
    assert_eq!((header(2, "x-api-key"), header(2, "authorization")), (None, bearer));
    assert_eq!(header(2, "anthropic-version"), None);
}

#[tokio::test]
async fn an_address_in_a_name_gets_its_own_key_and_never_a_providers() {
    let standin = StandIn::start().await.unwrap();
    let at = format!("chat:m@{}", standin.url(Api::Chat));
    let mut settings = standin.settings();
    let model = standin.model_with(&at, settings.clone()).unwrap();
    let error = model.ask(hello(Api::Chat)).turn().await.unwrap_err().error;
    assert_eq!(standin.refused()[0].rule, "no_key");
    assert!(error.hint().contains("CHAT_API_KEY"), "{}", error.hint());
    settings.chat.key = Secret::new(StandIn::key());
    standin.say(Say::text("Hi."));
    let model = standin.model_with(&at, settings).unwrap();
    assert_eq!(model.ask(hello(Api::Chat)).turn().await.unwrap().text, "Hi.");
    assert_eq!(model.name(), at);
}

#[tokio::test]
async fn a_key_is_in_no_debug_output() {
    let standin = StandIn::start().await.unwrap();
    let settings =
        Settings::from_env(|name| name.ends_with("_KEY").then(|| format!(" {} \n", StandIn::key())));
    assert_eq!(settings.secrets().count(), 3);
    assert!(settings.secrets().all(|key| key.reveal() == StandIn::key()));
    let model = standin.model("anthropic:m");
    standin.say(Say::status(401, "authentication_error", "no"));
    let broken = model.ask(hello(Api::Anthropic)).turn().await.unwrap_err();
    for shown in
        [format!("{settings:?}"), format!("{model:?}"), format!("{broken:?}"), broken.error.to_string()]
    {
        assert!(!shown.contains(StandIn::key()), "{shown}");
    }
}

#[tokio::test]
async fn limits_choices_and_further_fields_reach_each_api_in_its_own_words() {
    let standin = StandIn::start().await.unwrap();
    let mut settings = standin.settings();
    settings.extra.insert("temperature".to_owned(), json!(0.5));
    settings.extra.insert("model".to_owned(), json!("other"));
    for api in APIS {
        let model = standin.model_with(name(api), settings.clone()).unwrap();
        for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::None] {
            let mut request = hello(api);
            request.max_output_tokens = Some(99);
            request.tool_choice = choice;
            request.conversation = Some("run-1".into());
            standin.say(Say::text("x"));
            model.ask(request).turn().await.unwrap();
        }
    }
    let seen = standin.seen();
    let fields = |key: &str| seen.iter().map(|seen| seen.body[key].clone()).collect::<Vec<_>>();
    assert!(fields("temperature").iter().all(|value| *value == json!(0.5)));
    assert!(fields("model").iter().all(|value| *value == json!("other")));
    let limits = ["max_tokens", "max_output_tokens", "max_tokens"];
    for (at, limit) in limits.into_iter().enumerate() {
        assert_eq!(seen[at * 3].body[limit], json!(99), "{limit}");
    }
    let any = json!({"type": "any"});
    let none = json!({"type": "none"});
    let expected = [
        json!(null),
        any,
        none,
        json!(null),
        json!("required"),
        json!("none"),
        json!(null),
        json!("required"),
        json!("none"),
    ];
    assert_eq!(fields("tool_choice"), expected);
    assert_eq!(seen[3].body["prompt_cache_key"], json!("run-1"));
    assert_eq!(seen[3].body["store"], json!(false));
    assert_eq!(seen[3].body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn a_model_is_never_asked_for_more_than_it_writes() {
    let standin = StandIn::start().await.unwrap();
    let cases = [
        ("anthropic:claude-3-5-haiku-latest", None, 8_192),
        ("anthropic:claude-3-5-haiku-latest", Some(100_000), 8_192),
        ("anthropic:claude-3-5-haiku-latest", Some(100), 100),
        ("anthropic:claude-sonnet-4-5", None, 16_384),
        ("anthropic:somebody-new", Some(100_000), 100_000),
    ];
    for (name, asked, sent) in cases {
        standin.say(Say::text("x"));
        let mut request = hello(Api::Anthropic);
        request.max_output_tokens = asked;
        standin.model(name).ask(request).turn().await.unwrap();
        assert_eq!(standin.seen().last().unwrap().body["max_tokens"], json!(sent), "{name} {asked:?}");
    }
}

#[tokio::test]
async fn deferred_tools_go_out_with_the_providers_own_search_where_it_has_one() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let far = WireTool { defer: true, ..tool("far") };
        let mut request = hello(api);
        request.tools = tools_json(api.provider(), &[tool("read"), far], CacheMark::Last).into();
        standin.say(Say::text("x"));
        standin.model(name(api)).ask(request).turn().await.unwrap();
        let tools = standin.seen().last().unwrap().body["tools"].to_string();
        assert_eq!(tools.contains("tool_search"), api != Api::Chat, "{tools}");
    }
    assert_eq!(standin.refused(), []);
}
