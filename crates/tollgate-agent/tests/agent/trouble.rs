//! Answers that break off, are cut, refused, malformed: nothing of them runs, and no request is ever refused.

use tollgate::wire::Usage;
use tollgate_agent::{
    Limits, Part, StopReason,
    session::new_session_id,
    standin::{Cut, Delivery, Say},
};

use crate::world::{MODELS, World, all, told, within};

/// What the provider calls a turn that was cut at the token limit.
fn max_tokens(model: &str) -> &'static str {
    match model {
        "anthropic:any" => "max_tokens",
        "openai:any" => "max_output_tokens",
        _ => "length",
    }
}

#[tokio::test]
async fn overload_twice_and_then_success_is_a_success() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::overloaded()).say(Say::overloaded()).say(Say::text("here"));
        let (stopped, _, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("here"), "{model}");
        assert_eq!(told(&events, "retry_waiting").len(), 2, "{model}");
    }
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_asked_for_again_and_nothing_of_it_counts() {
    for model in MODELS {
        let whole = stream_length(model).await;
        let world = World::new().await;
        let gate = world.gate();
        // Every byte of the last part, where calls become complete; every seventh before.
        for at in (1..whole).filter(|at| at % 7 == 0 || at + 40 > whole) {
            let writes = world.log.count("write b");
            world.standin.say(turn().cut(Cut::Close(at))).say(turn()).say(Say::text("done"));
            let agent = world.agent_at(model, gate.clone()).unkept().build();
            let mut conversation = agent.begin(new_session_id()).unwrap();
            let stopped = within(conversation.say(vec![Part::text("go")])).await;
            let refused = world.standin.refused();
            assert!(refused.is_empty(), "{model} at {at}: {refused:#?}");
            assert!(stopped.reason.is_done(), "{model} at {at}: {:?}", stopped.reason);
            // A stream may be whole before its last byte; then the second one is the next turn.
            let turns = conversation.machine().turn() as usize;
            assert!(matches!(turns, 2 | 3), "{model} at {at}: {turns}");
            assert_eq!(world.log.count("write b") - writes, turns - 1, "{model} at {at}");
            assert_eq!(world.standin.left(), 0, "{model} at {at}");
        }
    }
}

fn turn() -> Say {
    Say::text("so").call("c1", "read", r#"{"path":"a"}"#).call("c2", "write", r#"{"path":"b"}"#)
}

/// How many bytes the stream of the turn has: the first length at which nothing is asked for again.
async fn stream_length(model: &str) -> usize {
    let (mut low, mut high) = (1, 5_000);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        let world = World::new().await;
        world.standin.say(turn().cut(Cut::Close(middle))).say(Say::text("x")).say(Say::text("x"));
        world.say(model, "go").await;
        let whole = world.log.count("write b") == 1;
        if whole { high = middle } else { low = middle }
    }
    high
}

#[tokio::test]
async fn an_answer_that_breaks_off_leaves_no_trace_and_early_reads_are_thrown_away() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(turn().then_error("overloaded_error", "too much")).say(Say::text("well"));
        let (stopped, conversation, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("well"), "{model}");
        assert_eq!(world.log.count("write b"), 0, "{model}");
        assert_eq!(conversation.machine().turn(), 1, "{model}");
        assert_eq!(told(&events, "discarded").len(), 1, "{model}");
    }
}

#[tokio::test]
async fn a_call_cut_at_the_token_limit_never_runs_and_the_model_is_told() {
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(
                Say::text("")
                    .call("c1", "write", r#"{"path":"a"}"#)
                    .call("c2", "write", r#"{"pa"#)
                    .stop(max_tokens(model)),
            )
            .say(Say::text("").call("c3", "write", r#"{"path":"c"}"#))
            .say(Say::text("ok"));
        let (stopped, _, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        assert_eq!(world.log.all(), ["write c"], "{model}");
        let codes: Vec<_> =
            told(&events, "call_settled").iter().map(|event| event["answer"]["status"].clone()).collect();
        assert_eq!(codes, ["refused", "refused", "ok"], "{model}");
        assert!(world.standin.seen()[1].body.to_string().contains("token limit"), "{model}");
    }
}

#[tokio::test]
async fn text_cut_at_the_token_limit_goes_on_a_few_times_and_no_more() {
    for model in MODELS {
        let world = World::new().await;
        for _ in 0..5 {
            world.standin.say(Say::text("and").stop(max_tokens(model)));
        }
        let (stopped, ..) = world.say(model, "go").await;
        world.assert_accepted();
        assert!(matches!(stopped.reason, StopReason::CutShort { .. }), "{model}: {:?}", stopped.reason);
        assert_eq!(world.standin.left(), 2, "{model}");
    }
}

#[tokio::test]
async fn a_paused_turn_goes_on() {
    let world = World::new().await;
    world.standin.say(Say::text("first").stop("pause_turn")).say(Say::text("second"));
    let (stopped, ..) = world.say("anthropic:any", "go").await;
    world.assert_accepted();
    assert_eq!(stopped.text.as_deref(), Some("second"));
    let sent = world.standin.seen()[1].body["messages"].clone();
    assert_eq!(sent[1]["content"][0]["text"], "first");
}

#[tokio::test]
async fn a_refusal_stops_with_its_words() {
    let world = World::new().await;
    world.standin.say(Say::text("I will not.").stop("refusal"));
    let (stopped, ..) = world.say("anthropic:any", "go").await;
    assert_eq!(stopped.reason, StopReason::Refused { why: "I will not.".to_owned() });
}

#[tokio::test]
async fn calls_that_share_an_id_are_answered_once_and_none_runs() {
    for model in ["openai:any", "chat:any"] {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("").call("c1", "write", r#"{"path":"a"}"#).call("c1", "write", r#"{"path":"b"}"#))
            .say(Say::text("ok"));
        let (stopped, _, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        assert!(world.log.all().is_empty(), "{model}: {:?}", world.log.all());
        assert_eq!(told(&events, "call_settled").len(), 1, "{model}");
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_stops_with_why_and_the_conversation_goes_on_later() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::status(400, "invalid_request_error", "the model no longer exists"));
        let (teller, listener) = tollgate_agent::events();
        let agent =
            world.agent(model).events(teller).limits(Limits { retries: 0, ..Limits::default() }).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        let StopReason::ProviderFailed(fault) = stopped.reason else {
            panic!("{model}: {:?}", stopped.reason)
        };
        assert!(!fault.hint.is_empty() && fault.message.contains("no longer exists"), "{model}: {fault:?}");
        world.standin.say(Say::text("back again"));
        let stopped = within(conversation.go_on()).await;
        assert_eq!(stopped.text.as_deref(), Some("back again"), "{model}");
        drop((conversation, agent));
        assert_eq!(told(&all(listener), "stopped").len(), 2);
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_never_run_as_empty_ones() {
    let odd = [
        "",
        "{",
        "[1]",
        "null",
        "\"{}\"",
        "{\"path\":\"a\"",
        "{\"path\":\"a\"}}",
        "nonsense",
        "{'path':'a'}",
    ];
    for model in MODELS {
        for input in odd {
            let world = World::new().await;
            world.standin.say(Say::text("").call("c1", "write", input)).say(Say::text("ok"));
            let (stopped, ..) = world.say(model, "go").await;
            let refused = world.standin.refused();
            assert!(refused.is_empty(), "{model} {input:?}: {refused:#?}");
            assert!(stopped.reason.is_done(), "{model} {input:?}: {:?}", stopped.reason);
            let ran = world.log.all();
            // No arguments at all are what some servers write for none; the tool here wants none.
            assert!(ran.is_empty() || input.is_empty(), "{model} {input:?}: {ran:?}");
        }
    }
}

#[tokio::test]
async fn tokens_are_counted_as_the_provider_says() {
    let usage = Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() };
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("").call("c1", "read", "{}").usage(usage))
            .say(Say::text("ok").usage(usage));
        let agent = world.agent(model).price(std::sync::Arc::new(|_, usage| usage.output_tokens * 5)).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        assert_eq!((stopped.spent.tokens, stopped.spent.microdollars), (240, 200), "{model}");
        assert_eq!((stopped.spent.calls, stopped.spent.turns), (1, 2), "{model}");
    }
}

#[tokio::test]
async fn a_slow_stream_of_single_bytes_begins_reads_before_it_ends() {
    for model in MODELS {
        let world = World::new().await;
        let slow = Delivery::slow(64, std::time::Duration::from_millis(15));
        world.standin.say(turn().delivered(slow)).say(Say::text("done"));
        let (_, _, events) = world.say(model, "go").await;
        let place = |kind: &str| {
            events.iter().position(|event| serde_json::to_value(event).unwrap()["event"] == kind)
        };
        let (first_answer, second_call) = (
            place("call_settled").unwrap(),
            events
                .iter()
                .rposition(|event| serde_json::to_value(event).unwrap()["event"] == "call_proposed")
                .unwrap(),
        );
        assert!(first_answer < second_call, "{model}: {first_answer} {second_call}");
    }
}
