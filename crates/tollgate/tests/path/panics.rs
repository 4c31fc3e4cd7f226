//! Code of others that panics or hangs.

use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Refusal, Tool, ToolSpec,
    outcome::{
        Phase::{Check, Permit, Validate},
        RefusalCode::*,
        Status,
    },
    policy::Rules,
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
