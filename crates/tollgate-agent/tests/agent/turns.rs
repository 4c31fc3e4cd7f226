//! Ordinary work, at all three APIs.

use serde_json::json;
use tollgate::policy::{Answer, Stance};
use tollgate_agent::{
    Part, StopReason,
    history::Entry,
    session::new_session_id,
    standin::{Delivery, Say},
};

use crate::world::{MODELS, PNG, World, all, told, within};

#[tokio::test]
async fn a_task_of_several_turns_is_done_and_every_call_runs_once() {
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("I look.").thinking("hm").call("c1", "read", r#"{"path":"a"}"#).call(
                "c2",
                "read",
                r#"{"path":"b"}"#,
            ))
            .say(Say::text("").call("c3", "write", r#"{"path":"a"}"#).call("c4", "read", r#"{"path":"a"}"#))
            .say(Say::text("All done."));
        let (stopped, conversation, events) = world.say(model, "do it").await;
        world.assert_accepted();
        assert_eq!(
            (stopped.reason, stopped.text.as_deref()),
            (StopReason::Done, Some("All done.")),
            "{model}"
        );
        assert_eq!(world.log.count("write a"), 1, "{model}");
        assert_eq!(world.log.count("read a"), 2, "{model}");
        assert_eq!(conversation.machine().turn(), 3);
        assert_eq!(told(&events, "call_settled").len(), 4, "{model}");
        assert_eq!(told(&events, "stopped").len(), 1);
        let text: String =
            told(&events, "text").iter().map(|event| event["text"].as_str().unwrap().to_owned()).collect();
        assert_eq!(text, "I look.All done.", "{model}");
    }
}

#[tokio::test]
async fn turns_of_one_to_fifty_calls_are_answered_in_their_order() {
    for model in MODELS {
        let world = World::new().await;
        for count in [1, 2, 10, 11, 50] {
            let mut say = Say::text("");
            for at in 0..count {
                let tool = ["read", "write", "fail", "look", "nonsense"][at % 5];
                say = say.call_with(&format!("call_{count}_{at}"), tool, &json!({"path": format!("p{at}")}));
            }
            world.standin.say(say);
        }
        world.standin.say(Say::text("enough"));
        let (stopped, conversation, _) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        let results = conversation.machine().history().entries().iter().filter_map(|entry| match entry {
            Entry::Results { answers } => Some(answers.len()),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), [1, 2, 10, 11, 50], "{model}");
    }
}

#[tokio::test]
async fn denied_refused_malformed_and_unknown_calls_are_told_to_the_model() {
    for model in MODELS {
        let world = World::new().await.rules(&[
            (Stance::Allow, "read"),
            (Stance::Ask, "write"),
            (Stance::Deny, "fail"),
        ]);
        world.person.says(Answer::No(Some("not now".to_owned())));
        world
            .standin
            .say(
                Say::text("")
                    .call("c1", "write", r#"{"path":"a"}"#)
                    .call("c2", "fail", "{}")
                    .call("c3", "read", r#"{"path":7}"#)
                    .call("c4", "no such tool", "{}")
                    .call("c5", "read", r#"{"path":"a","path":"b"}"#),
            )
            .say(Say::text("I see."));
        let (stopped, _, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        let codes: Vec<_> =
            told(&events, "call_settled").iter().map(|event| event["answer"]["code"].clone()).collect();
        let mut codes: Vec<_> = codes.iter().map(|code| code.as_str().unwrap()).collect();
        codes.sort_unstable();
        assert!(
            codes.contains(&"denied")
                && codes.contains(&"invalid_arguments")
                && codes.contains(&"unknown_tool"),
            "{model}: {codes:?}"
        );
        assert!(
            world.log.all().iter().all(|done| !done.starts_with("write")),
            "{model}: {:?}",
            world.log.all()
        );
    }
}

#[tokio::test]
async fn pictures_go_both_ways() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "look", "{}")).say(Say::text("A point."));
        let agent = world.agent(model).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let parts = vec![
            Part::text("what is this?"),
            Part::image("image/png", PNG),
            Part::image("image/png", "bm8gcGljdHVyZQ=="),
        ];
        let stopped = within(conversation.say(parts)).await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        let sent = world.standin.seen().last().unwrap().body.to_string();
        assert_eq!(sent.matches(PNG).count(), 2, "{model}");
        assert!(sent.contains("not a PNG"), "{model}");
    }
}

#[tokio::test]
async fn a_conversation_goes_on_with_another_provider_whatever_its_ids_were() {
    for first in MODELS {
        for then in MODELS {
            let world = World::new().await;
            let long = "i".repeat(60);
            world
                .standin
                .say(
                    Say::text("one")
                        .thinking("hm")
                        .call("c1", "read", r#"{"path":"a"}"#)
                        .call(&long, "fail", "{}"),
                )
                .say(Say::text("two").call("c1_again", "look", "{}"))
                .say(Say::text("three"))
                .say(Say::text("four").call("c1", "read", r#"{"path":"b"}"#))
                .say(Say::text("five"));
            let (_, conversation, _) = world.say(first, "go").await;
            let id = conversation.id().clone();
            drop(conversation);
            let mut conversation = world.agent(then).build().resume(&id).unwrap();
            let stopped = within(conversation.say(vec![Part::text("and now?")])).await;
            world.assert_accepted();
            assert_eq!(stopped.reason, StopReason::Done, "{first} then {then}");
            assert_eq!(stopped.text.as_deref(), Some("five"));
        }
    }
}

#[tokio::test]
async fn an_old_history_that_names_a_tool_by_its_alias_replays_and_goes_on() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "old_read", r#"{"path":"a"}"#)).say(Say::text("read it"));
        let (_, conversation, _) = world.say(model, "go").await;
        let id = conversation.id().clone();
        drop(conversation);
        world.standin.say(Say::text("").call("c2", "old_read", r#"{"path":"b"}"#)).say(Say::text("again"));
        let mut conversation = world.agent(model).build().resume(&id).unwrap();
        let stopped = within(conversation.say(vec![Part::text("more")])).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("again"), "{model}");
        assert_eq!(world.log.all(), ["read a", "read b"], "{model}");
    }
}

#[tokio::test]
async fn a_deferred_tool_is_called_by_its_name_and_found_from_then_on() {
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("").call("c1", "hidden", "{}"))
            .say(Say::text("").call("c2", "hidden", "{}"))
            .say(Say::text("ok"));
        let (stopped, ..) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        assert_eq!(world.log.count("hidden"), 2, "{model}");
    }
}

#[tokio::test]
async fn the_prompt_stays_the_same_to_the_byte_as_far_as_it_was_sent() {
    for model in MODELS {
        let world = World::new().await;
        for at in 0..6 {
            world.standin.say(Say::text("more").call(&format!("c{at}"), "read", r#"{"path":"a"}"#));
        }
        world.standin.say(Say::text("done"));
        world.say(model, "go").await;
        world.assert_accepted();
        let seen = world.standin.seen();
        let list = |at: usize| {
            let body = &seen[at].body;
            let mut messages =
                body.get("messages").or_else(|| body.get("input")).unwrap().as_array().unwrap().clone();
            messages.iter_mut().for_each(without_marks);
            (body["tools"].to_string(), messages)
        };
        for at in 1..seen.len() {
            let ((tools, before), (same, after)) = (list(at - 1), list(at));
            assert_eq!(tools, same, "{model}");
            assert_eq!(before[..], after[..before.len()], "{model} request {at}");
        }
    }
}

/// Cache marks move with the end of the conversation; they are no part of what is cached.
fn without_marks(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.shift_remove("cache_control");
            map.values_mut().for_each(without_marks);
        }
        serde_json::Value::Array(list) => list.iter_mut().for_each(without_marks),
        _ => {}
    }
}

#[tokio::test]
async fn the_purpose_is_shown_to_the_person_and_never_reaches_the_tool() {
    for model in MODELS {
        let world = World::new().await.rules(&[(Stance::Ask, "write")]);
        world
            .standin
            .say(Say::text("").call("c1", "write", r#"{"path":"a","_purpose":"to fix it"}"#))
            .say(Say::text("ok"));
        let (teller, listener) = tollgate_agent::events();
        let agent = world.agent(model).purpose(true).events(teller).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        assert_eq!(world.log.all(), ["write a"], "{model}");
        assert_eq!(world.person.asked.all(), ["write (to fix it)"], "{model}");
        drop(conversation);
        assert_eq!(told(&all(listener), "call_proposed")[0]["purpose"], "to fix it", "{model}");
        assert!(world.standin.seen()[0].body["tools"].to_string().contains("_purpose"));
    }
}

#[tokio::test]
async fn streams_in_any_form_give_the_same_conversation() {
    let deliveries = [
        Delivery::default(),
        Delivery::bytewise(),
        Delivery { crlf: true, ..Delivery::default() },
        Delivery { noisy: true, ..Delivery::default() },
        Delivery { whole: true, ..Delivery::default() },
    ];
    for model in MODELS {
        for delivery in &deliveries {
            let world = World::new().await;
            world
                .standin
                .say(
                    Say::text("I look.")
                        .call("c1", "read", r#"{"path":"ä\n"}"#)
                        .call("c2", "write", r#"{"path":"b"}"#)
                        .delivered(delivery.clone()),
                )
                .say(Say::text("Done.").delivered(delivery.clone()));
            let (stopped, ..) = world.say(model, "go").await;
            world.assert_accepted();
            assert_eq!(stopped.reason, StopReason::Done, "{model} {delivery:?}");
            assert_eq!(world.log.all(), ["read ä\n", "write b"], "{model} {delivery:?}");
        }
    }
}

#[tokio::test]
async fn an_empty_message_is_one_that_every_provider_takes() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("yes?")).say(Say::text("still there"));
        let (_, mut conversation, _) = world.say(model, " ").await;
        let stopped = within(conversation.say(Vec::new())).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("still there"), "{model}");
    }
}

/// Tells the model something along with every result.
struct Notes;

impl tollgate::hook::Hook for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    async fn before(&self, _: &tollgate::hook::HookedCall<'_>) -> tollgate::hook::Before {
        tollgate::hook::Before::Context("the tests are red today".to_owned())
    }
}

#[tokio::test]
async fn what_hooks_add_reaches_the_model_with_the_result() {
    for model in MODELS {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("").call("c1", "read", "{}").call("c2", "fail", "{}"))
            .say(Say::text("I see"));
        let gate = world.builder().approver(world.person.clone()).hook(Notes).build();
        let mut conversation = world.agent_at(model, gate).build().begin(new_session_id()).unwrap();
        within(conversation.say(vec![Part::text("go")])).await;
        world.assert_accepted();
        let sent = world.standin.seen()[1].body.to_string();
        assert_eq!(sent.matches("the tests are red today").count(), 2, "{model}");
    }
}

#[tokio::test]
async fn a_call_that_a_small_model_wrote_into_its_text_runs_where_it_fits() {
    for model in ["openai:any", "chat:any"] {
        let world = World::new().await;
        world
            .standin
            .say(Say::text("I write it:\n{\"name\": \"write\", \"arguments\": {\"path\": \"a\"}}"))
            .say(Say::text("Like {\"name\": \"nothing\", \"arguments\": {}}"));
        let (stopped, ..) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.reason, StopReason::Done, "{model}");
        assert_eq!(world.log.all(), ["write a"], "{model}");
    }
}
