//! Ctrl-C and new messages: every call is answered, and the conversation goes on at every provider.

use std::time::Duration;

use tollgate_agent::{
    Conversation, Interruption, Part, StopReason, Stopped,
    session::new_session_id,
    standin::{Delivery, Say},
};

use crate::world::{MODELS, World, within};

/// Says something and does `then` once the log shows `what`.
async fn when(
    world: &World,
    conversation: &mut Conversation,
    what: &str,
    then: impl FnOnce(tollgate_agent::Handle) + Send,
) -> Stopped {
    let (handle, log) = (conversation.handle(), world.log.clone());
    let watch = async {
        while log.count(what) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        then(handle);
    };
    let (stopped, ()) = within(async { tokio::join!(conversation.say(vec![Part::text("go")]), watch) }).await;
    stopped
}

fn begin(world: &World, model: &str) -> Conversation {
    world.agent(model).build().begin(new_session_id()).unwrap()
}

#[tokio::test]
async fn the_first_interruption_stops_what_may_be_stopped_and_answers_the_rest() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "slow", r#"{"ms":60000}"#).call(
            "c2",
            "write",
            r#"{"path":"a"}"#,
        ));
        let mut conversation = begin(&world, model);
        let stopped = when(&world, &mut conversation, "slow began", |handle| {
            assert_eq!(handle.interrupt(), Interruption::Gentle);
        })
        .await;
        assert_eq!(stopped.reason, StopReason::Interrupted, "{model}");
        assert_eq!(world.log.all(), ["slow began"], "{model}");
        world.standin.say(Say::text("fine"));
        let stopped = within(conversation.say(vec![Part::text("never mind")])).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("fine"), "{model}");
    }
}

#[tokio::test]
async fn a_tool_that_blocks_finishes_first_and_nothing_begins_after_it() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "steady", r#"{"ms":150}"#).call(
            "c2",
            "write",
            r#"{"path":"a"}"#,
        ));
        let mut conversation = begin(&world, model);
        let stopped = when(&world, &mut conversation, "steady began", |handle| {
            handle.interrupt();
        })
        .await;
        assert_eq!(stopped.reason, StopReason::Interrupted, "{model}");
        assert_eq!(world.log.all(), ["steady began", "steady ended"], "{model}");
        world.assert_accepted();
    }
}

#[tokio::test]
async fn the_second_interruption_stops_everything() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "steady", r#"{"ms":60000}"#));
        let mut conversation = begin(&world, model);
        let stopped = when(&world, &mut conversation, "steady began", |handle| {
            handle.interrupt();
            assert_eq!(handle.interrupt(), Interruption::Everything);
        })
        .await;
        assert_eq!(stopped.reason, StopReason::Interrupted, "{model}");
        assert_eq!(world.log.all(), ["steady began"], "{model}");
        // A cancelled run does not stop the next one.
        world.standin.say(Say::text("").call("c2", "write", r#"{"path":"b"}"#)).say(Say::text("on"));
        let stopped = within(conversation.say(vec![Part::text("go on")])).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("on"), "{model}");
        assert_eq!(world.log.count("write b"), 1, "{model}");
        let sent = world.standin.seen().last().unwrap().body.to_string();
        assert!(sent.contains("unknown"), "{model}: a stopped write is not known to have failed");
    }
}

#[tokio::test]
async fn a_new_message_while_tools_run_is_said_once_they_are_answered() {
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("").call("c1", "slow", r#"{"ms":60000}"#).call("c2", "steady", r#"{"ms":1}"#))
            .say(Say::text("as you like"));
        let mut conversation = begin(&world, model);
        let stopped = when(&world, &mut conversation, "slow began", |handle| {
            handle.say(vec![Part::text("do something else")]);
        })
        .await;
        world.assert_accepted();
        assert_eq!(
            (stopped.reason, stopped.text.as_deref()),
            (StopReason::Done, Some("as you like")),
            "{model}"
        );
        assert_eq!(world.log.all(), ["slow began"], "{model}");
        assert!(world.standin.seen()[1].body.to_string().contains("do something else"), "{model}");
    }
}

#[tokio::test]
async fn an_interruption_while_the_model_speaks_hangs_up() {
    for model in MODELS {
        let world = World::new().await;
        let slow = Delivery::slow(40, Duration::from_millis(30));
        world
            .standin
            .say(Say::text(&"word ".repeat(400)).call("c1", "write", r#"{"path":"a"}"#).delivered(slow));
        let mut conversation = begin(&world, model);
        let handle = conversation.handle();
        let interrupt = async {
            while world.standin.seen().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            handle.interrupt();
        };
        let (stopped, ()) =
            within(async { tokio::join!(conversation.say(vec![Part::text("go")]), interrupt) }).await;
        assert_eq!(stopped.reason, StopReason::Interrupted, "{model}");
        assert!(world.log.all().is_empty(), "{model}");
        world.standin.say(Say::text("yes"));
        let stopped = within(conversation.say(vec![Part::text("shorter")])).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("yes"), "{model}");
    }
}
