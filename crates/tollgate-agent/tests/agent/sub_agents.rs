//! Sub-agents, plan mode, questions and lists: under the ceiling of whoever sent them, in one tree.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate::wire::Usage;
use tollgate::{
    BoxFuture,
    policy::{Answer, Grant, Lifetime, Stance},
};
use tollgate_agent::{
    AgentEvent, Desk, Inquiry, Limits, Part, Person, Role, StopReason, machine::Limit,
    session::new_session_id, standin::Say,
};

use crate::world::{MODELS, World, all, told, within};

fn role(tools: &[&str]) -> Role {
    Role {
        description: "looks around".to_owned(),
        instructions: "You look around.".to_owned(),
        tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        ..Role::default()
    }
}

fn desk(role: Role) -> Desk {
    Desk::builder().role("scout", role).build()
}

fn delegate(say: Say, id: &str) -> Say {
    say.call_with(id, "delegate", &json!({"role": "scout", "task": "look"}))
}

/// Whoever's call it is: it is told proposed, started, settled, all of it in the turn it was proposed in.
fn in_order(events: &[AgentEvent]) {
    let events: Vec<Value> = events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let mut started = 0;
    for (at, event) in events.iter().enumerate().filter(|(_, event)| event["event"] == "call_started") {
        let same = |other: &Value, id: &Value| other["run"] == event["run"] && *id == event["id"];
        let proposed =
            events[..at].iter().find(|other| other["event"] == "call_proposed" && same(other, &other["id"]));
        let settled = events[at..]
            .iter()
            .find(|other| other["event"] == "call_settled" && same(other, &other["answer"]["id"]));
        let turns = [proposed, settled].map(|other| other.map(|other| other["turn"].clone()));
        assert_eq!(turns, [Some(event["turn"].clone()), Some(event["turn"].clone())], "{event}");
        started += 1;
    }
    assert!(started >= 2, "{started} calls were told to have started");
}

#[tokio::test]
async fn a_sub_agent_works_with_its_own_tools_writes_too_and_hands_in_its_report() {
    for model in MODELS {
        let world = World::new().await.desk(desk(role(&["read", "write"])));
        world
            .standin
            .say(delegate(Say::text(""), "d1"))
            .say(Say::text("").call("c1", "write", r#"{"path":"a"}"#).call("c2", "steady", "{}").call(
                "c3",
                "delegate",
                r#"{"role":"scout","task":"x"}"#,
            ))
            .say(Say::text("").call("c4", "report", r#"{"report":"it is a trap"}"#))
            .say(Say::text("I know enough."));
        let (stopped, _, events) = world.say(model, "go").await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("I know enough."), "{model}");
        assert_eq!(world.log.all(), ["write a"], "{model}: what its role does not name is not there");
        in_order(&events);
        let sent = world.standin.seen().last().unwrap().body.to_string();
        assert!(sent.contains("it is a trap"), "{model}");
        let seen = world.standin.seen();
        let tools = |at: usize| seen[at].body["tools"].to_string();
        assert!(tools(0).contains("delegate") && !tools(0).contains("hands in your report"), "{model}");
        assert!(
            !tools(1).contains("\"delegate\"")
                && tools(1).contains("\"report\"")
                && !tools(1).contains("\"steady\""),
            "{model}"
        );
        let (began, ended) = (told(&events, "agent_began"), told(&events, "agent_ended"));
        assert_eq!((began.len(), ended.len()), (1, 1), "{model}");
        assert_eq!(ended[0]["stop"]["reason"], "reported", "{model}");
        let child = began[0]["child"].as_str().unwrap();
        assert!(child.starts_with(began[0]["run"].as_str().unwrap()), "{model}");
        let of_child = told(&events, "call_settled")
            .iter()
            .filter(|event| event["run"] == child && event["agent"] == "scout")
            .count();
        assert_eq!(of_child, 4, "{model}");
    }
}

#[tokio::test]
async fn several_sub_agents_work_at_once_and_writes_of_theirs_do_not_lock_each_other_out() {
    let world = World::new().await.desk(desk(role(&[])));
    world.standin.say(delegate(delegate(delegate(Say::text(""), "d1"), "d2"), "d3"));
    // Whoever asks next gets the next of these; each agent needs two of them.
    for at in 0..3 {
        world.standin.say(Say::text("").call(&format!("w{at}"), "slow", r#"{"ms":20}"#));
    }
    for at in 0..3 {
        world.standin.say(Say::text("").call(&format!("r{at}"), "report", r#"{"report":"done"}"#));
    }
    world.standin.say(Say::text("all back"));
    let (stopped, ..) = world.say("anthropic:any", "go").await;
    world.assert_accepted();
    assert_eq!(stopped.text.as_deref(), Some("all back"));
    assert_eq!(world.log.count("slow ended"), 3);
}

#[tokio::test]
async fn denies_hold_for_sub_agents_and_a_grant_to_the_main_agent_does_not() {
    let world = World::new()
        .await
        .rules(&[(Stance::Allow, "read"), (Stance::Ask, "write"), (Stance::Deny, "fail")])
        .desk(desk(role(&["write", "fail", "read"])));
    let grant = Grant { rules: vec!["write".to_owned()], lifetime: Lifetime::Session };
    world.person.says(Answer::Always(grant.clone()));
    world
        .standin
        .say(Say::text("").call("c1", "write", r#"{"path":"a"}"#))
        .say(delegate(Say::text("").call("c2", "write", r#"{"path":"b"}"#), "d1"))
        .say(Say::text("").call("c3", "write", r#"{"path":"c"}"#).call("c4", "fail", "{}"))
        .say(Say::text("").call("c5", "write", r#"{"path":"d"}"#))
        .say(Say::text("").call("c6", "report", r#"{"report":"ok"}"#))
        .say(Say::text("").call("c7", "write", r#"{"path":"e"}"#))
        .say(Say::text("end"));
    // The main agent's Always covers c1 and c2; the sub-agent is asked on its own and told Always too.
    world.person.says(Answer::Always(grant));
    let (stopped, _, events) = world.say("chat:any", "go").await;
    world.assert_accepted();
    assert_eq!(stopped.text.as_deref(), Some("end"));
    assert_eq!(world.person.asked.all(), ["write", "write"]);
    let denied =
        told(&events, "call_settled").iter().filter(|event| event["answer"]["code"] == "denied").count();
    assert_eq!(denied, 1);
    assert_eq!(world.log.all().len(), 5);
}

#[tokio::test]
async fn what_sub_agents_spend_is_their_senders_and_its_budget_is_their_ceiling() {
    let usage = Usage { input_tokens: 90, output_tokens: 10, ..Usage::default() };
    let world = World::new().await.desk(desk(role(&[])));
    world.standin.say(delegate(Say::text("").usage(usage), "d1"));
    for at in 0..20 {
        world.standin.say(
            Say::text("")
                .call(&format!("c{at}"), "read", &json!({"path": at.to_string()}).to_string())
                .usage(usage),
        );
    }
    let agent = world.agent("openai:any").limits(Limits { tokens: Some(550), ..Limits::default() }).build();
    let mut conversation = agent.begin(new_session_id()).unwrap();
    let stopped = within(conversation.say(vec![Part::text("go")])).await;
    world.assert_accepted();
    assert_eq!(stopped.reason, StopReason::Budget { limit: Limit::Tokens });
    assert!((550..=650).contains(&stopped.spent.tokens), "{:?}", stopped.spent);
}

#[tokio::test]
async fn plan_mode_only_reads_until_a_person_approves_the_start() {
    for model in MODELS {
        let world = World::new().await.desk(Desk::builder().build());
        world.person.says(Answer::No(Some("think again".to_owned())));
        world
            .standin
            .say(Say::text("").call("c1", "read", r#"{"path":"a"}"#).call("c2", "write", r#"{"path":"a"}"#))
            .say(Say::text("").call("c3", "start_work", r#"{"plan":"write a"}"#))
            .say(Say::text("").call("c4", "write", r#"{"path":"b"}"#))
            .say(Say::text("").call("c5", "start_work", r#"{"plan":"write c, carefully"}"#))
            .say(Say::text("").call("c6", "write", r#"{"path":"c"}"#))
            .say(Say::text("done"));
        let (teller, listener) = tollgate_agent::events();
        let agent = world.agent(model).plan(true).events(teller).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("done"), "{model}");
        assert_eq!(world.log.all(), ["read a", "write c"], "{model}");
        // `allow = ["*"]` does not answer for a person here.
        assert_eq!(world.person.asked.all(), ["start_work", "start_work"], "{model}");
        drop((conversation, agent));
        assert_eq!(told(&all(listener), "plan").len(), 1, "{model}");
    }
}

/// Someone who answers everything the same.
#[derive(Default)]
struct Someone(Mutex<Vec<String>>);

impl Person for Someone {
    fn ask<'a>(&'a self, question: Inquiry<'a>) -> BoxFuture<'a, Option<String>> {
        self.0.lock().unwrap().push(question.question.to_owned());
        Box::pin(async { Some("blue".to_owned()) })
    }
}

#[tokio::test]
async fn the_person_is_asked_where_one_is_there_and_the_list_of_things_to_do_is_shown() {
    let someone = Arc::new(Someone::default());
    let world = World::new().await.desk(Desk::builder().person(someone.clone()).build());
    world
        .standin
        .say(
            Say::text("")
                .call("c1", "ask_user", r#"{"question":"which colour?","choices":["red","blue"]}"#)
                .call(
                    "c2",
                    "todo",
                    r#"{"items":[{"text":"paint","state":"in_progress"},{"text":"dry","state":"pending"}]}"#,
                ),
        )
        .say(Say::text("blue it is"));
    let (_, _, events) = world.say("openai:any", "paint it").await;
    world.assert_accepted();
    assert_eq!(*someone.0.lock().unwrap(), ["which colour?"]);
    let list = told(&events, "todo");
    assert_eq!(list[0]["items"][0], json!({"text": "paint", "state": "in_progress"}));
    assert!(world.standin.seen()[1].body.to_string().contains("blue"));
}

#[tokio::test]
async fn where_nobody_is_there_a_question_is_refused_clearly() {
    let world = World::new().await.desk(Desk::builder().build());
    world
        .standin
        .say(Say::text("").call("c1", "ask_user", r#"{"question":"well?"}"#))
        .say(Say::text("then not"));
    let (_, _, events) = world.say("chat:any", "go").await;
    world.assert_accepted();
    assert_eq!(told(&events, "call_settled")[0]["answer"]["status"], "fatal_error");
}

/// Waits until the log shows something.
async fn shows(log: &crate::world::Log, what: &str) {
    while log.count(what) == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn an_interruption_reaches_sub_agents_and_what_blocks_there_finishes_first() {
    let world = World::new().await.desk(desk(role(&[])));
    world
        .standin
        .say(delegate(Say::text(""), "d1"))
        .say(Say::text("").call("c1", "steady", r#"{"ms":150}"#).call("c2", "write", r#"{"path":"a"}"#));
    let mut conversation = world.agent("anthropic:any").build().begin(new_session_id()).unwrap();
    let (handle, log) = (conversation.handle(), world.log.clone());
    let interrupt = async {
        shows(&log, "steady began").await;
        handle.interrupt();
    };
    let say = conversation.say(vec![Part::text("go")]);
    let (stopped, ()) = within(async { tokio::join!(say, interrupt) }).await;
    assert_eq!(stopped.reason, StopReason::Interrupted);
    assert_eq!(world.log.all(), ["steady began", "steady ended"]);
    world.standin.say(Say::text("well then"));
    let stopped = within(conversation.say(vec![Part::text("never mind")])).await;
    world.assert_accepted();
    assert_eq!(stopped.text.as_deref(), Some("well then"));
}

#[tokio::test]
async fn a_sub_agent_that_was_broken_off_is_taken_up_where_it_was() {
    let world = World::new().await.desk(desk(role(&[])));
    let gate = world.gate();
    world
        .standin
        .say(delegate(Say::text(""), "d1"))
        .say(Say::text("").call("c1", "write", r#"{"path":"a"}"#))
        .say(Say::text("").call("c2", "slow", r#"{"ms":60000}"#));
    let id = new_session_id();
    {
        let mut conversation = world.agent_at("chat:any", gate.clone()).build().begin(id.clone()).unwrap();
        within(async {
            tokio::select! {
                stopped = conversation.say(vec![Part::text("go")]) => panic!("{stopped:?}"),
                () = shows(&world.log, "slow began") => {}
            }
        })
        .await;
    }
    world
        .standin
        .say(Say::text("").call("c3", "report", r#"{"report":"half of it"}"#))
        .say(Say::text("good enough"));
    let mut conversation = world.agent_at("chat:any", gate).durable_ledger(true).build().resume(&id).unwrap();
    let stopped = within(conversation.go_on()).await;
    world.assert_accepted();
    assert_eq!(stopped.text.as_deref(), Some("good enough"));
    assert_eq!(world.log.all(), ["write a", "slow began"], "nothing ran a second time");
    assert!(world.standin.seen().last().unwrap().body.to_string().contains("half of it"));
}

#[tokio::test]
async fn a_role_of_the_main_agent_has_no_report_and_may_delegate() {
    let world = World::new().await.desk(desk(role(&["read", "delegate"])));
    world.standin.say(Say::text("hello"));
    let agent = world.agent("openai:any").role("scout").build();
    within(agent.begin(new_session_id()).unwrap().say(vec![Part::text("go")])).await;
    let tools = world.standin.seen()[0].body["tools"].to_string();
    assert!(tools.contains("\"delegate\"") && tools.contains("\"read\""), "{tools}");
    assert!(!tools.contains("\"report\"") && !tools.contains("\"write\""), "{tools}");
}
