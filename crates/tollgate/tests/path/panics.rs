//! Code of others that panics or hangs.

use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Refusal, Tool, ToolSpec,
    guard::{Breaker, BreakerBook, BreakerKey, BreakerSettings},
    outcome::{
        Phase::{Check, Permit, Validate},
        RefusalCode::*,
        Status,
    },
    policy::{Answer, Decision, Grant, Lifetime, NotGranted, Policy, Query, RuleRef, Rules, Stance, Verdict},
    tool::Concurrency,
};

use crate::world::{Bodies, Count, World, fine, reader, refused, tool};

#[tokio::test(start_paused = true)]
async fn effects_that_panic_are_the_worst() {
    let runs = Count::default();
    let broken = tool("t").effects(|_, _| unreachable!("a bug in the tool"));
    let broken = broken.spec(|spec| spec.requires_permission = false);
    let mut world = World::of(broken.answers(&runs, fine())).rules(Rules::new()).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (Permit, ApprovalRequired));
    assert_eq!(world.told("validated")[0]["concurrency"], "unsafe");
    let foreseen = world.gate.explain(&world.scope(), Proposed::new("c", "t", "{}")).await;
    assert_eq!(foreseen.effects, Effects::worst());
    assert_eq!(foreseen.effects.class(), Concurrency::Unsafe);
}

#[tokio::test(start_paused = true)]
async fn a_check_or_an_opinion_that_panics_refuses_and_the_operator_is_told() {
    let broken = [
        (reader("t").check(|_, _| unreachable!("a bug in the tool")), Check),
        (reader("t").authorize(|_, _| unreachable!("a bug in the tool")), Permit),
    ];
    for (builder, phase) in broken {
        let runs = Count::default();
        let mut world = World::of(builder.answers(&runs, fine())).build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(refused(&settled), (phase, Internal));
        assert!(!settled.refusal().unwrap().reason.contains("a bug in the tool"));
        assert!(world.told("fault")[0]["message"].as_str().unwrap().contains("a bug in the tool"));
        assert_eq!(runs.get(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_and_panics_when_it_is_given_up_blocks_and_the_call_is_answered() {
    struct Stuck;
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            unreachable!("a bug in a drop")
        }
    }
    impl tollgate::hook::Hook for Stuck {
        fn name(&self) -> &'static str {
            "stuck"
        }
        async fn before(&self, _: &tollgate::hook::HookedCall<'_>) -> tollgate::hook::Before {
            let _bomb = Bomb;
            std::future::pending().await
        }
    }
    let runs = Count::default();
    let mut world = World::of(reader("t").answers(&runs, fine())).hook(Stuck).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (tollgate::outcome::Phase::Before, BlockedByHook));
    assert_eq!(runs.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_hangs_refuses() {
    struct Stuck(ToolSpec);
    impl Tool for Stuck {
        type Args = Value;
        fn spec(&self) -> ToolSpec {
            self.0.clone()
        }
        async fn check(&self, _: &tollgate::Scope, _: &Value) -> Result<(), Refusal> {
            std::future::pending().await
        }
        async fn run(&self, _: &Cx, _: &Value) -> Result<Output, Failure> {
            fine()
        }
    }
    let spec = ToolSpec::new("t", "Hangs.", json!({"type": "object"})).unwrap();
    let mut world = World::of(Stuck(spec)).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (Check, Internal));
}

/// Arguments that cannot be read.
struct Unreadable;

impl<'de> serde::Deserialize<'de> for Unreadable {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        unreachable!("a bug in the arguments")
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_whose_reading_panics_are_refused() {
    struct Tooly;
    impl Tool for Tooly {
        type Args = Unreadable;
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("t", "Reads.", json!({"type": "object"})).unwrap()
        }
        async fn run(&self, _: &Cx, _: &Unreadable) -> Result<Output, Failure> {
            fine()
        }
    }
    let mut world = World::of(Tooly).build();
    assert_eq!(refused(&world.call("t", json!({})).await), (Validate, InvalidArguments));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_is_a_fatal_error_and_only_the_operator_learns_why() {
    for inline in [false, true] {
        let broken = reader("t").spec(|spec| spec.inline = inline);
        let mut world = World::of(broken.run(|_, _| unreachable!("a bug in the body"))).build();
        let settled = world.call("t", json!({})).await;
        assert_eq!(settled.status(), Status::FatalError);
        assert!(!serde_json::to_string(&settled).unwrap().contains("a bug in the body"));
        assert!(world.told("executed")[0]["chain"][0].as_str().unwrap().contains("a bug in the body"));
    }
}

/// Decides as it is told to, or fails.
struct Failing(&'static str);

impl Policy for Failing {
    fn forbids(&self, _: &Query<'_>) -> Option<Verdict> {
        None
    }

    fn decide(&self, _: &Query<'_>) -> Verdict {
        assert!(self.0 != "decide", "a bug in the policy");
        let mut verdict = Verdict::by_default(Decision::Allow, "fine");
        if self.0 == "remember" {
            verdict.decision = Decision::Ask;
        }
        verdict
    }

    fn remember(&self, _: Stance, _: &Grant) -> Result<Vec<RuleRef>, NotGranted> {
        unreachable!("a bug in the policy")
    }
}

#[tokio::test]
async fn a_policy_that_panics_while_a_model_still_writes_has_not_said_yes_and_the_call_is_answered() {
    let runs = Count::default();
    let world = World::of(reader("t").answers(&runs, fine())).policy(Failing("decide")).build();
    let mut turn = world.gate.turn(&world.scope()).streaming();
    turn.push(Proposed::new("a", "t", "{}"));
    let answers = turn.finish().await;
    assert_eq!((answers.len(), refused(&answers[0])), (1, (Permit, Internal)));
    assert_eq!(runs.get(), 0);
}

#[tokio::test]
async fn whoever_panics_at_hearing_an_answer_takes_it_away_from_nobody() {
    let mut world = World::of(reader("t").answers(&Count::default(), fine())).build();
    let turn = || world.gate.turn(&world.scope()).telling(|_| unreachable!("a bug in the listener"));
    let calls = || ["a", "b"].map(|id| Proposed::new(id, "t", "{}"));
    let answers = turn().run(calls().into()).await;
    assert_eq!(answers.iter().map(tollgate::Settled::status).collect::<Vec<_>>(), [Status::Ok; 2]);
    let mut early = turn().streaming();
    calls().into_iter().for_each(|call| early.push(call));
    let answers = early.finish().await;
    assert_eq!(answers.iter().map(tollgate::Settled::status).collect::<Vec<_>>(), [Status::Ok; 2]);
    assert_eq!(world.told("fault").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_panics_at_an_always_has_forgotten_it_and_the_yes_stands() {
    let always = Answer::Always(Grant { rules: vec!["t".to_owned()], lifetime: Lifetime::Session });
    let tool = reader("t").answers(&Count::default(), fine());
    let mut world = World::of(tool).policy(Failing("remember")).answers([always]).build();
    assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    assert!(world.told("fault")[0]["message"].as_str().unwrap().contains("a bug in the policy"));
}

/// A book of breakers and budgets that fails at everything.
struct Burnt;

impl BreakerBook for Burnt {
    fn load(&self) -> Vec<Breaker> {
        unreachable!("a bug in the book")
    }

    fn note(&self, _: &BreakerKey, _: Option<&Breaker>) {
        unreachable!("a bug in the book")
    }
}

#[tokio::test(start_paused = true)]
async fn breakers_without_end_and_books_that_panic_lose_no_answer() {
    let settings = BreakerSettings { failures: 1, cooldown: std::time::Duration::MAX };
    let sick = reader("t").answers(&Count::default(), Err(Failure::retryable("down")));
    let mut world = World::of(sick).gate(|gate| gate.breakers(settings).breaker_book(Burnt)).build();
    assert_eq!(world.call("t", json!({})).await.status(), Status::RetryableError);
    assert_eq!(refused(&world.call("t", json!({"n": 2})).await), (Permit, CircuitOpen));
}
