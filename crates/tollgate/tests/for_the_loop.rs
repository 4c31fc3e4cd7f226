//! What an agent's loop asks of the gate: answers as they come, calls that conduct others, reading only, grants of one
//! agent, a list of tools that is kept while it stays the same.

#![allow(clippy::unwrap_used, reason = "a test fails as loudly as it can")]

use std::sync::{
    Arc, Mutex, OnceLock,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use serde_json::json;
use tollgate::{
    Effects, Output, Proposed, Refusal, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    outcome::{RefusalCode, Status, Violation},
    policy::{Decision, Grant, Layers, Lifetime, Policy, Query, Rule, Rules, Stance},
    tool::{CallId, DynTool, ToolBuilder},
};

fn tool(name: &str, effects: Effects, ms: u64) -> DynTool {
    let schema = json!({"type": "object"});
    ToolBuilder::new(name, "A tool.", schema).unwrap().effects(move |_, _| effects.clone()).run(
        move |_, _| {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(Output::text("done"))
            })
        },
    )
}

fn registry() -> Registry {
    let tools = [
        tool("slow", Effects::reading(), 80),
        tool("quick", Effects::reading(), 0),
        tool("write", Effects::writing(), 0),
    ];
    tools.into_iter().fold(Registry::new(), |registry, tool| registry.with(tool).unwrap())
}

fn gate(registry: Registry) -> Tollgate {
    Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build()
}

fn scope() -> Scope {
    Scope::new(Run::new("run"), Workspace::new("/tmp"))
}

#[tokio::test]
async fn answers_are_told_as_they_come_and_given_in_call_order() {
    for eager in [false, true] {
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = told.clone();
        let turn = gate(registry()).turn(&Arc::new(scope())).telling(move |answer| {
            to.lock().unwrap().push(answer.id.to_string());
        });
        let calls = [("a", "slow"), ("b", "quick"), ("c", "write"), ("d", "nonsense")];
        let calls = calls.map(|(id, tool)| Proposed::new(id, tool, "{}"));
        let answers = if eager {
            let mut stream = turn.streaming();
            calls.into_iter().for_each(|call| stream.push(call));
            stream.finish().await
        } else {
            turn.run(calls.into()).await
        };
        let order: Vec<_> = answers.iter().map(|answer| answer.id.to_string()).collect();
        assert_eq!(order, ["a", "b", "c", "d"]);
        assert_eq!(*told.lock().unwrap(), ["b", "a", "c", "d"], "each once, eager or not");
    }
}

#[tokio::test]
async fn what_conducts_others_holds_no_place_so_their_writes_find_one() {
    static GATE: OnceLock<Tollgate> = OnceLock::new();
    let conduct = ToolBuilder::new("conduct", "Calls others.", json!({"type": "object"}))
        .unwrap()
        .spec(|spec| spec.conducts = true)
        .effects(|_, _| Effects::reading())
        .run(|cx, _| {
            let scope = Arc::new((**cx).clone());
            Box::pin(async move {
                let write = Proposed::new("inner", "write", "{}");
                let settled = GATE.get().unwrap().call(&scope, write).await;
                Ok(Output::text(settled.status().to_string()))
            })
        });
    let gate = GATE.get_or_init(|| gate(registry().with(conduct).unwrap()));
    let calls = ["a", "b", "c"].map(|id| Proposed::new(id, "conduct", "{}"));
    let turn = gate.turn(&Arc::new(scope()));
    let answers = tokio::time::timeout(Duration::from_secs(20), turn.run(calls.into()))
        .await
        .expect("they wait for themselves");
    for answer in answers {
        assert_eq!(answer.output(), Some(&Output::text("ok")));
        assert!(answer.was_concurrent);
    }
    // One that begins early could not be thrown away with its turn.
    let mut stream = gate.turn(&Arc::new(scope())).streaming();
    stream.push(Proposed::new("d", "conduct", "{}"));
    tokio::time::sleep(Duration::from_millis(30)).await;
    let cut = stream.cut("It was cut.").await;
    assert_eq!((cut[0].status(), cut[0].attempts), (Status::Refused, 0));
}

#[tokio::test]
async fn where_only_reading_is_allowed_nothing_else_runs_whatever_policy_says() {
    let gate = gate(registry());
    let mut reading = scope();
    reading.reading_only = true;
    let reading = Arc::new(reading);
    let write = gate.call(&reading, Proposed::new("a", "write", "{}")).await;
    assert_eq!(write.refusal().map(|refusal| refusal.code), Some(RefusalCode::Denied));
    assert_eq!(gate.call(&reading, Proposed::new("b", "quick", "{}")).await.status(), Status::Ok);
}

#[test]
fn what_is_granted_for_the_session_is_the_agents_it_was_granted_to() {
    let policy = Layers::new(vec![Rule::parse(Stance::Ask, "write").unwrap()]);
    let spec = tool("write", Effects::writing(), 0).metadata().clone();
    let (args, effects) = (json!({}), Effects::writing());
    let decide = |agent: Option<&str>| {
        let mut scope = scope();
        scope.agent = agent.map(Arc::from);
        policy.decide(&Query::new(&spec, &args, &effects, &scope)).decision
    };
    let grant = Grant { rules: vec!["write".to_owned()], lifetime: Lifetime::Session };
    policy.remember(Stance::Grant, &grant).unwrap();
    assert_eq!([None, Some("a"), Some("b")].map(decide), [Decision::Allow, Decision::Ask, Decision::Ask]);
    policy.remember_for("a", Stance::Grant, &grant).unwrap();
    assert_eq!([None, Some("a"), Some("b")].map(decide), [Decision::Allow, Decision::Allow, Decision::Ask]);
    // A Never holds for all, whoever it was said about.
    policy.remember_for("a", Stance::Deny, &grant).unwrap();
    assert_eq!([None, Some("a"), Some("b")].map(decide), [Decision::Deny; 3]);
}

#[tokio::test]
async fn a_list_of_tools_is_kept_while_it_stays_the_same() {
    let on = Arc::new(AtomicBool::new(true));
    let asked = on.clone();
    let switch = ToolBuilder::new("switch", "Is there or not.", json!({"type": "object"}))
        .unwrap()
        .enabled(move || asked.load(Ordering::Relaxed))
        .run(|_, _| Box::pin(async { Ok(Output::text("on")) }));
    let gate = gate(registry().with(switch).unwrap());
    let before = gate.snapshot();
    gate.refresh();
    assert!(Arc::ptr_eq(&before, &gate.snapshot()));
    on.store(false, Ordering::Relaxed);
    gate.refresh();
    assert_eq!(gate.snapshot().offered(None).count(), before.offered(None).count() - 1);
}

#[test]
fn answers_made_for_a_conversation_are_kept_and_read_back_the_same() {
    let mut refusal = Refusal::new(RefusalCode::InvalidArguments, "no").with_hint("yes");
    let violation =
        Violation { pointer: "/a".into(), message: "is odd".into(), did_you_mean: Some("b".into()) };
    refusal.violations.push(violation);
    let made = [
        Settled::lost(CallId::new("a"), "tool", "nobody saw the end"),
        Settled::never_ran(CallId::new("b"), "tool", refusal),
    ];
    for answer in made {
        let (mut stored, mut again) = (Vec::new(), Vec::new());
        answer.store(&mut stored, None).unwrap();
        let restored = Settled::restore(&stored).unwrap();
        restored.store(&mut again, None).unwrap();
        assert_eq!((restored.status(), restored.attempts, stored), (answer.status(), answer.attempts, again));
        assert_eq!(restored.outcome, answer.outcome);
    }
}
