//! Every call has its one answer.

use serde_json::json;
use tollgate::{
    Effects, Failure, Foreseen, Proposed, Registry, ToolSpec,
    guard::{Repetition, Run, Workspace},
    hook::Before,
    outcome::{
        Phase::{Check, Execute, Permit, Resolve, Validate},
        RefusalCode::*,
        Status,
    },
    policy::{Answer, Decision, Policy, Query, Rules, default_verdict},
    tool::Route,
};

use crate::world::{Bodies, Count, Scripted, World, fine, reader, refused, writer};

#[tokio::test(start_paused = true)]
async fn each_refusal_has_its_code_at_its_phase() {
    let runs = Count::default();
    let off = reader("off").enabled(|| false);
    let keyed = writer("keyed").spec(|spec| spec.requires_idempotency_key = true);
    let registry = Registry::new()
        .with(reader("read").answers(&runs, fine()))
        .and_then(|registry| registry.with(reader("denied").answers(&runs, fine())))
        .and_then(|registry| registry.with(reader("asks").answers(&runs, fine())))
        .and_then(|registry| registry.with(off.answers(&runs, fine())))
        .and_then(|registry| registry.with(keyed.answers(&runs, fine())))
        .unwrap()
        .with_route(Route::new("day"), vec!["asks".into()]);
    let rules = Rules::new().allow("*").unwrap().deny("denied").unwrap().ask("asks").unwrap();
    let mut world = World::with(registry).rules(rules).build();
    let cases = [
        ("reed", "{}", (Resolve, UnknownTool)),
        ("off", "{}", (Resolve, NotEnabled)),
        ("read", "{", (Validate, InvalidJson)),
        ("read", r#"{"n": "x"}"#, (Validate, InvalidArguments)),
        ("denied", "{}", (Check, Denied)),
        ("read", r#"{"path": "/"}"#, (Check, OutsideRoots)),
        ("asks", "{}", (Permit, ApprovalRequired)),
        ("keyed", "{}", (Execute, MissingIdempotencyKey)),
    ];
    for (tool, input, expected) in cases {
        assert_eq!(refused(&world.propose(tool, input).await), expected, "{tool} {input}");
    }
    let cut = world.proposed("read", "{}").broken("The turn was cut.");
    assert_eq!(refused(&world.gate.call(&world.scope(), cut).await), (Resolve, ProtocolError));
    world.scope.route = Some(Route::new("day"));
    assert_eq!(refused(&world.call("read", json!({})).await), (Resolve, NotDisclosed));
    world.scope.route = Some(Route::new("a route nobody defined"));
    assert_eq!(refused(&world.call("asks", json!({})).await), (Resolve, NotDisclosed));
    assert_eq!(runs.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_answered_with_the_nearest_name_that_is_offered() {
    let registry = Registry::new()
        .with(reader("read_file").answers(&Count::default(), fine()))
        .and_then(|registry| registry.with(reader("read_fire").answers(&Count::default(), fine())))
        .unwrap();
    let rules = Rules::new().allow("*").unwrap().deny("read_fire").unwrap();
    let mut world = World::with(registry).rules(rules).build();
    let settled = world.call("read_fir", json!({})).await;
    assert_eq!(settled.refusal().unwrap().hint.as_deref(), Some("Did you mean `read_file`?"));
}

#[tokio::test(start_paused = true)]
async fn every_call_of_a_turn_is_answered_in_order_under_its_own_id() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(reader("read").answers(&runs, fine()))
        .and_then(|registry| registry.with(writer("write").answers(&runs, Err(Failure::unknown("lost")))))
        .and_then(|registry| registry.with(reader("panics").run(|_, _| unreachable!("a bug"))))
        .unwrap();
    let world = World::with(registry).build();
    let calls = vec![
        Proposed::new("a", "read", "{}"),
        Proposed::new("b", "nothing", "{}"),
        Proposed::new("c", "write", "{}"),
        Proposed::new("d", "panics", "{}"),
        Proposed::new("e", "read", "not json"),
        Proposed::new("f", "read", r#"{"n": 1}"#),
        Proposed::new("f", "read", r#"{"n": 2}"#),
        Proposed::new("", "read", r#"{"n": 3}"#),
    ];
    let answers = world.gate.turn(&world.scope()).run(calls).await;
    let told: Vec<_> = answers.iter().map(|answer| (answer.id.as_str(), answer.status())).collect();
    let expected = [
        ("a", Status::Ok),
        ("b", Status::Refused),
        ("c", Status::Unknown),
        ("d", Status::FatalError),
        ("e", Status::Refused),
        ("f", Status::Refused),
        // It came without one.
        ("call_missing_8", Status::Ok),
    ];
    assert_eq!(told, expected);
    assert_eq!(refused(&answers[5]), (Resolve, ProtocolError));
}

#[tokio::test(start_paused = true)]
async fn an_explanation_runs_nothing_asks_nobody_and_counts_nothing() {
    let [runs, hooks] = [Count::default(), Count::default()];
    let see = hooks.clone();
    let hook = Scripted::gate("looks").before(move |_| {
        see.up();
        Before::Pass
    });
    let run = Run::builder("run").repetition(Repetition::Turns(1)).build();
    let world = World::of(writer("write").answers(&runs, fine())).rules(Rules::new().ask("*").unwrap());
    let mut world = world.answers([Answer::Yes]).hook(hook).run(run).build();
    for turn in 0..5 {
        world.scope.turn = turn;
        let told = world.gate.explain(&world.scope(), Proposed::new("c", "write", r#"{"path": "a"}"#)).await;
        assert_eq!((told.status, told.decision, told.phase), (Foreseen::Ask, Decision::Ask, Permit));
        assert_eq!(told.hooks, ["looks"]);
        assert_eq!(told.effects, Effects::writing().writes("a"));
        assert_eq!(&*told.rule.unwrap().text, "ask *");
    }
    assert_eq!((runs.get(), hooks.get(), world.person.asked().len()), (0, 0, 0));
    assert_eq!(world.steps(), Vec::<String>::new());
    assert_eq!(world.call("write", json!({"path": "a"})).await.status(), Status::Ok);
}

#[tokio::test(start_paused = true)]
async fn an_explanation_agrees_with_what_happens() {
    let runs = Count::default();
    let registry = Registry::new()
        .with(reader("read").answers(&runs, fine()))
        .and_then(|registry| registry.with(reader("denied").answers(&runs, fine())))
        .unwrap();
    let rules = Rules::new().allow("*").unwrap().deny("denied").unwrap();
    let mut world = World::with(registry).rules(rules).build();
    for (tool, input) in
        [("read", "{}"), ("denied", "{}"), ("x", "{}"), ("read", "["), ("read", r#"{"n":-1}"#)]
    {
        let foreseen = world.gate.explain(&world.scope(), Proposed::new("c", tool, input)).await;
        let settled = world.propose(tool, input).await;
        assert_eq!(foreseen.code, settled.refusal().map(|refusal| refusal.code), "{tool} {input}");
        assert_eq!(foreseen.phase, settled.phase, "{tool} {input}");
    }
}

#[test]
fn the_default_policy_is_what_rules_without_rules_say() {
    let spec = ToolSpec::new("t", "A tool.", json!({"type": "object"})).unwrap();
    let world_scope = tollgate::Scope::new(Run::new("run"), Workspace::new("/work"));
    for effects in [Effects::worst(), Effects::reading(), Effects::writing()] {
        let args = json!({});
        let query = Query::new(&spec, &args, &effects, &world_scope);
        assert_eq!(Rules::new().decide(&query), default_verdict(&query));
    }
}

#[tokio::test(start_paused = true)]
async fn two_turns_keep_the_tools_they_began_with() {
    let runs = Count::default();
    let world = World::of(reader("read").answers(&runs, fine())).build();
    let turn = world.gate.turn(&world.scope());
    world.gate.replace(Registry::new());
    let old = turn.run(vec![Proposed::new("a", "read", "{}")]).await;
    let new = world.gate.turn(&world.scope()).run(vec![Proposed::new("b", "read", "{}")]).await;
    assert_eq!(old[0].status(), Status::Ok);
    assert_eq!(refused(&new[0]), (Resolve, UnknownTool));
}

/// A policy that fails where it is asked.
struct Failing {
    on_forbids: bool,
}

impl tollgate::policy::Policy for Failing {
    fn forbids(&self, _: &tollgate::policy::Query<'_>) -> Option<tollgate::policy::Verdict> {
        assert!(!self.on_forbids, "the rules are gone");
        None
    }

    fn decide(&self, _: &tollgate::policy::Query<'_>) -> tollgate::policy::Verdict {
        unreachable!("the rules are gone")
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_panics_lets_nothing_run() {
    for on_forbids in [true, false] {
        let runs = Count::default();
        let registry = tollgate::Registry::new().with(reader("read").answers(&runs, fine())).unwrap();
        let gate = tollgate::Tollgate::builder(registry).policy(Failing { on_forbids }).build();
        let run = tollgate::guard::Run::new("r");
        let scope = std::sync::Arc::new(tollgate::Scope::new(run, tollgate::guard::Workspace::new("/work")));
        let settled = gate.call(&scope, tollgate::Proposed::new("1", "read", "{}")).await;
        assert_eq!(settled.refusal().unwrap().code, tollgate::outcome::RefusalCode::Internal);
        assert_eq!(runs.get(), 0);
    }
}
