//! Conversations that were broken off: after every line and every torn one, they go on and nothing runs twice.

use std::{collections::HashMap, fs, path::PathBuf, time::Duration};

use tollgate::{
    policy::{Answer, Stance},
    tool::RunId,
};
use tollgate_agent::{
    Limits, Part, StopReason,
    session::{SessionFault, new_session_id},
    standin::Say,
};

use crate::world::{MODELS, World, within};

fn file(world: &World, id: &RunId) -> PathBuf {
    world.folder.path().join("sessions").join(format!("{id}.jsonl"))
}

#[tokio::test]
async fn a_session_broken_off_after_any_line_goes_on_and_writes_run_once() {
    for model in MODELS {
        let world = World::new().await;
        // One gate for all: its ledger stands for one that outlives the process.
        let gate = world.gate();
        world
            .standin
            .say(
                Say::text("")
                    .call("c1", "read", r#"{"path":"a"}"#)
                    .call("c2", "write", r#"{"path":"a"}"#)
                    .call("c3", "fail", "{}"),
            )
            .say(Say::text("").call("c1", "write", r#"{"path":"b"}"#))
            .say(Say::text("done"));
        let id = new_session_id();
        let mut conversation = world.agent_at(model, gate.clone()).build().begin(id.clone()).unwrap();
        within(conversation.say(vec![Part::text("go")])).await;
        drop(conversation);
        let text = fs::read_to_string(file(&world, &id)).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert!(lines.len() > 8, "{}", lines.len());
        for whole in 2..=lines.len() {
            for torn in [0, 1, 7] {
                let torn = lines.get(whole).map_or("", |line| &line[..torn.min(line.len())]);
                let part = lines[..whole].concat() + torn;
                fs::write(file(&world, &id), part).unwrap();
                for _ in 0..4 {
                    world.standin.say(Say::text("went on"));
                }
                let mut conversation =
                    world.agent_at(model, gate.clone()).durable_ledger(true).build().resume(&id).unwrap();
                let stopped = within(conversation.go_on()).await;
                let refused = world.standin.refused();
                assert!(refused.is_empty(), "{model} after line {whole}: {refused:#?}");
                assert!(stopped.reason.is_done(), "{model} after line {whole}: {:?}", stopped.reason);
                let stopped = within(conversation.say(vec![Part::text("and?")])).await;
                assert!(
                    stopped.reason.is_done() && world.standin.refused().is_empty(),
                    "{model} after line {whole}"
                );
            }
        }
        // Every resumed part that still had the write open found in the ledger that it had run.
        let writes: HashMap<_, _> =
            ["write a", "write b"].into_iter().map(|what| (what, world.log.count(what))).collect();
        assert_eq!(writes, HashMap::from([("write a", 1), ("write b", 1)]), "{model}");
    }
}

#[tokio::test]
async fn an_open_write_whose_ledger_is_gone_is_unknown_and_an_open_read_runs() {
    for model in MODELS {
        let world = World::new().await;
        world.standin.say(Say::text("").call("c1", "read", r#"{"path":"a"}"#).call(
            "c2",
            "slow",
            r#"{"ms":60000}"#,
        ));
        let id = new_session_id();
        {
            let mut conversation = world.agent(model).build().begin(id.clone()).unwrap();
            let log = world.log.clone();
            let began = async {
                while log.count("slow began") == 0 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            };
            within(async {
                tokio::select! {
                    stopped = conversation.say(vec![Part::text("go")]) => panic!("{stopped:?}"),
                    () = began => {}
                }
            })
            .await;
        }
        // The answers of a process that was killed in time are lost with it.
        let text = fs::read_to_string(file(&world, &id)).unwrap();
        let kept: String =
            text.split_inclusive('\n').filter(|line| !line.contains("\"fact\":\"settled\"")).collect();
        fs::write(file(&world, &id), kept).unwrap();
        world.standin.say(Say::text("I will look"));
        let mut conversation = world.agent(model).build().resume(&id).unwrap();
        let stopped = within(conversation.go_on()).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("I will look"), "{model}");
        assert_eq!(world.log.count("slow began"), 1, "{model}");
        assert_eq!(world.log.count("read a"), 2, "{model}");
        assert!(world.standin.seen().last().unwrap().body.to_string().contains("unknown"), "{model}");
    }
}

#[tokio::test]
async fn calls_nobody_was_there_to_approve_stop_the_run_and_are_asked_again_on_resume() {
    for model in MODELS {
        let world = World::new().await.rules(&[(Stance::Allow, "read"), (Stance::Ask, "write")]);
        world.person.says(Answer::Nobody);
        world.standin.say(Say::text("").call("c1", "read", r#"{"path":"a"}"#).call(
            "c2",
            "write",
            r#"{"path":"a"}"#,
        ));
        let id = new_session_id();
        let limits = Limits { wait_for_person: true, ..Limits::default() };
        let mut conversation = world.agent(model).limits(limits.clone()).build().begin(id.clone()).unwrap();
        let stopped = within(conversation.say(vec![Part::text("go")])).await;
        assert_eq!(stopped.reason, StopReason::NeedsPerson { tools: vec!["write".to_owned()] }, "{model}");
        drop(conversation);
        world.standin.say(Say::text("written"));
        let mut conversation = world.agent(model).limits(limits).build().resume(&id).unwrap();
        let stopped = within(conversation.go_on()).await;
        world.assert_accepted();
        assert_eq!(stopped.text.as_deref(), Some("written"), "{model}");
        assert_eq!(world.person.asked.all(), ["write", "write"], "{model}");
        assert_eq!(world.log.all(), ["read a", "write a"], "{model}: what had its answer is not run again");
    }
}

#[tokio::test]
async fn sessions_are_listed_by_their_first_words_and_are_open_once() {
    let world = World::new().await;
    world.standin.say(Say::text("hello")).say(Say::text("hello"));
    let (_, first, _) = world.say("chat:any", "make the tests pass\nplease").await;
    let busy = world.sessions().open(first.id()).err().unwrap();
    assert!(matches!(busy, SessionFault::Busy(_)), "{busy}");
    assert!(world.sessions().read(first.id()).is_ok());
    let (_, second, _) = world.say("chat:any", "another").await;
    let list = world.sessions().list().unwrap();
    let titles: Vec<_> = list.iter().map(|session| (session.title.as_str(), session.turns)).collect();
    assert!(titles.contains(&("make the tests pass", 1)) && titles.contains(&("another", 1)), "{titles:?}");
    drop(second);
    for bad in ["../etc/passwd", "", ".hidden", "a/b"] {
        assert!(matches!(world.sessions().read(&RunId::new(bad)), Err(SessionFault::BadId(_))), "{bad}");
    }
    assert!(matches!(world.sessions().read(&RunId::new("none")), Err(SessionFault::Unknown(_))));
}
