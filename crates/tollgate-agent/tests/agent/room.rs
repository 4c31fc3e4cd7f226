//! A window that fills: old results give way to references, pairs stay, and nothing is refused.

use std::sync::Arc;

use serde_json::json;
use tollgate::wire::Usage;
use tollgate_agent::{Part, StopReason, session::new_session_id, standin::Say};

use crate::world::{MODELS, World, all, told, within};

fn read(at: usize, tokens: u64) -> Say {
    let usage = Usage { input_tokens: tokens, output_tokens: 10, ..Usage::default() };
    Say::text("")
        .call_with(&format!("c{at}"), "read", &json!({"path": format!("p{at}"), "size": 6000}))
        .usage(usage)
}

#[tokio::test]
async fn old_results_are_put_aside_before_the_window_is_full_and_kept_whole() {
    for model in MODELS {
        let world = World::new().await;
        for at in 0..12 {
            world.standin.say(read(at, 2_000 * at as u64));
        }
        world.standin.say(Say::text("done"));
        let (teller, listener) = tollgate_agent::events();
        let agent =
            world.agent(model).results(Arc::new(world.results())).window(20_000).events(teller).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        let id = conversation.id().clone();
        let before = world.standin.seen().last().unwrap().body.to_string();
        assert!(before.contains("put aside to save room") && before.contains("sha256:"), "{model}");
        assert!(before.contains("content of p11") && !before.contains("content of p0 "), "{model}");
        drop((conversation, agent));
        assert!(!told(&all(listener), "compacted").is_empty(), "{model}");
        // Taken up again, it is the same conversation.
        world.standin.say(Say::text("still done"));
        let mut conversation = world.agent(model).build().resume(&id).unwrap();
        within(conversation.say(vec![Part::text("and?")])).await;
        world.assert_accepted();
        let after = world.standin.seen().last().unwrap().body.to_string();
        assert_eq!(
            after.matches("put aside to save room").count(),
            before.matches("put aside to save room").count(),
            "{model}"
        );
    }
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_made_shorter_once_and_asked_again() {
    let too_long = [
        (
            "anthropic:any",
            Say::status(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        ),
        (
            "openai:any",
            Say::status(
                400,
                "context_length_exceeded",
                "Your input exceeds the context window of this model.",
            ),
        ),
        (
            "chat:any",
            Say::status(
                400,
                "context_length_exceeded",
                "This model's maximum context length is 8192 tokens.",
            ),
        ),
    ];
    for (model, too_long) in too_long {
        let world = World::new().await;
        for at in 0..4 {
            world.standin.say(read(at, 10));
        }
        world.standin.say(too_long).say(Say::text("it fits"));
        let (stopped, ..) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("it fits"), "{model}: {:?}", stopped.reason);
        assert!(
            world.standin.seen().last().unwrap().body.to_string().contains("left out to save room"),
            "{model}"
        );
    }
}

#[tokio::test]
async fn where_nothing_can_give_way_the_run_ends_and_says_so() {
    let world = World::new().await;
    world.standin.say(Say::status(
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ));
    let (stopped, ..) = world.say("anthropic:any", "go").await;
    assert_eq!(stopped.reason, StopReason::ContextFull);
}

#[tokio::test]
async fn a_result_takes_no_more_than_a_quarter_of_the_models_window() {
    for model in MODELS {
        for (window, whole) in [(8_000, false), (200_000, true)] {
            let world = World::new().await;
            world.standin.say(Say::text("").call_with("c1", "read", &json!({"path": "p", "size": 16_000})));
            world.standin.say(Say::text("done"));
            let agent = world.agent(model).window(window).build();
            let mut conversation = agent.begin(new_session_id()).unwrap();
            within(conversation.say(vec![Part::text("go")])).await;
            world.assert_accepted();
            let seen = world.standin.seen();
            let grew = seen[1].body.to_string().len() - seen[0].body.to_string().len();
            assert_eq!(grew > 15_000, whole, "{model} with a window of {window}: {grew}");
            assert!(whole || grew < 10_000, "{model} with a window of {window}: {grew}");
        }
    }
}
