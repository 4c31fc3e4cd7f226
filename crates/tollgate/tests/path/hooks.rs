//! What hooks may do, and what their failure means.

use std::time::Duration;

use serde_json::json;
use tollgate::{
    Failure, Output, ToolSpec,
    hook::{After, Before, Hook, HookKind, HookedCall},
    outcome::{Outcome, Phase::Before as BeforePhase, RefusalCode::*, Status},
};

use crate::rewrites::counts_to;
use crate::world::{Bodies, Count, Scripted, World, fine, reader, refused, text};

#[tokio::test(start_paused = true)]
async fn what_hooks_add_reaches_the_result_in_order() {
    let hook = |name: &'static str| {
        Scripted::gate(name)
            .before(move |_| Before::Context(format!("{name} before")))
            .after(move |_| After::Context(format!("{name} after")))
    };
    let tool = reader("read").answers(&Count::default(), fine());
    let mut world = World::of(tool).hook(hook("a")).hook(hook("b")).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(settled.context, ["a before", "b before", "a after", "b after"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_says_again_after_a_rewrite_is_told_once() {
    let talks = Scripted::gate("talks").before(|_| Before::Context("mind the gap".into()));
    let tool = reader("read").answers(&Count::default(), fine());
    let mut world = World::of(tool).hook(talks).hook(counts_to(3)).build();
    assert_eq!(world.call("read", json!({"n": 0})).await.context, ["mind the gap"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_blocks_is_the_last_one_asked_and_nothing_runs() {
    let (later, runs) = (Count::default(), Count::default());
    let seen = later.clone();
    let blocks = Scripted::gate("blocks").before(|_| Before::Block("not today".into()));
    let looks = Scripted::gate("looks").before(move |_| {
        seen.up();
        Before::Pass
    });
    let mut world = World::of(reader("read").answers(&runs, fine())).hook(blocks).hook(looks).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(refused(&settled), (BeforePhase, BlockedByHook));
    assert!(settled.refusal().unwrap().reason.contains("not today"));
    assert_eq!((later.get(), runs.get()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_or_hangs_blocks() {
    let broken = [
        Scripted::gate("panics").before(|_| unreachable!("a bug in the hook")),
        Scripted::gate("hangs").hangs_before(),
    ];
    for hook in broken {
        let runs = Count::default();
        let mut world = World::of(reader("read").answers(&runs, fine())).hook(hook).build();
        assert_eq!(refused(&world.call("read", json!({})).await), (BeforePhase, BlockedByHook));
        assert_eq!(runs.get(), 0);
    }
}

/// Blocks its thread for longer than it may take, before or after.
struct Blocking {
    before: bool,
}

impl Hook for Blocking {
    fn name(&self) -> &'static str {
        "blocking"
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(5)
    }

    async fn before(&self, _: &HookedCall<'_>) -> Before {
        if self.before {
            std::thread::sleep(Duration::from_millis(20));
        }
        Before::Pass
    }

    async fn after(&self, _: &HookedCall<'_>, _: &Outcome) -> After {
        if !self.before {
            std::thread::sleep(Duration::from_millis(20));
        }
        After::Keep
    }
}

#[tokio::test]
async fn a_gate_that_blocks_its_thread_beyond_its_timeout_lets_nothing_pass() {
    let world = |before| {
        World::of(reader("read").answers(&Count::default(), fine())).hook(Blocking { before }).build()
    };
    assert_eq!(refused(&world(true).call("read", json!({})).await), (BeforePhase, BlockedByHook));
    assert!(text(&world(false).call("read", json!({})).await).contains("withheld"));
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_hangs_blocks_or_rewrites_changes_nothing() {
    let odd = [
        Scripted::observer("panics").before(|_| unreachable!("a bug in the hook")),
        Scripted::observer("hangs").hangs_before(),
        Scripted::observer("blocks").before(|_| Before::Block("no".into())),
        Scripted::observer("rewrites").before(|_| Before::Rewrite(json!({"n": 2}))),
        Scripted::observer("panics after").after(|_| unreachable!("a bug in the hook")),
        Scripted::observer("hangs after").hangs_after(),
        Scripted::observer("replaces").after(|_| After::Replace(Output::text("other"))),
    ];
    for hook in odd {
        let runs = Count::default();
        let mut world = World::of(reader("read").echoes(&runs)).hook(hook).build();
        let settled = world.call("read", json!({"n": 1})).await;
        assert_eq!(settled.output(), Some(&Output::json(json!({"n": 1}))));
        assert_eq!(world.told("hook").len(), 1, "what it wanted is told");
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_see_the_outcome_of_every_execution_and_of_no_refusal() {
    let outcomes = [
        (fine(), Status::Ok, 1),
        (Err(Failure::retryable("later")), Status::RetryableError, 1),
        (Err(Failure::fatal("never")), Status::FatalError, 1),
        (Err(Failure::unknown("who knows")), Status::Unknown, 1),
    ];
    for (answer, status, expected) in outcomes {
        let seen = Count::default();
        let see = seen.clone();
        let hook = Scripted::gate("sees").after(move |outcome| {
            assert_eq!(outcome.status(), status);
            see.up();
            After::Keep
        });
        let mut world = World::of(reader("read").answers(&Count::default(), answer)).hook(hook).build();
        assert_eq!(world.call("read", json!({})).await.status(), status);
        assert_eq!(seen.get(), expected);
        let _ = world.call("read", json!({"n": "x"})).await;
        let _ = world.call("read", json!({"path": "/etc"})).await;
        assert_eq!(seen.get(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_replaces_the_output() {
    let hook = Scripted::gate("redacts").after(|outcome| match outcome {
        Outcome::Ok(_) => After::Replace(Output::text("[redacted]")),
        _ => After::Keep,
    });
    let mut world = World::of(reader("read").answers(&Count::default(), fine())).hook(hook).build();
    assert_eq!(text(&world.call("read", json!({})).await), "[redacted]");
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_fails_after_withholds_what_it_could_not_judge() {
    let answers = [
        (Ok(Output::text("the secret")), Status::Ok),
        (Err(Failure::fatal("the secret").with_hint("the secret")), Status::FatalError),
    ];
    for (answer, status) in answers {
        for hangs in [false, true] {
            let mut hook = Scripted::gate("redacts").after(|_| unreachable!("a bug in the hook"));
            if hangs {
                hook = hook.hangs_after();
            }
            let tool = reader("read").answers(&Count::default(), answer.clone());
            let mut world = World::of(tool).hook(hook).build();
            let settled = world.call("read", json!({})).await;
            assert_eq!(settled.status(), status);
            assert!(!serde_json::to_string(&settled).unwrap().contains("the secret"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_asks_to_replace_a_failure_leaves_it() {
    let hook = Scripted::of("lies", HookKind::Gate).after(|_| After::Replace(Output::text("all is well")));
    let tool = reader("read").answers(&Count::default(), Err(Failure::fatal("broken")));
    let mut world = World::of(tool).hook(hook).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::FatalError);
}

/// A hook that fails to say what it is.
struct Speechless;

impl Hook for Speechless {
    fn name(&self) -> &'static str {
        unreachable!("a bug in the hook")
    }
    fn kind(&self) -> HookKind {
        unreachable!("a bug in the hook")
    }
    fn matches(&self, _: &ToolSpec) -> bool {
        unreachable!("a bug in the hook")
    }
    fn timeout(&self) -> Duration {
        unreachable!("a bug in the hook")
    }
    async fn before(&self, _: &HookedCall<'_>) -> Before {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_to_say_what_it_is_is_the_strictest_there_is() {
    let runs = Count::default();
    let mut world = World::of(reader("read").answers(&runs, fine())).hook(Speechless).build();
    assert_eq!(refused(&world.call("read", json!({})).await), (BeforePhase, BlockedByHook));
    assert_eq!(runs.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_hook_says_or_puts_in_the_place_of_an_output_is_redacted_like_a_tools_own_words() {
    let secret = "password=Zx81-hunter2-ab";
    let says = Scripted::gate("says")
        .before(move |_| Before::Context(format!("before: {secret}")))
        .after(move |_| After::Context(format!("after: {secret}")));
    let replaces = Scripted::gate("replaces").after(move |_| {
        After::ReplaceWith(Output::text(format!("new: {secret}")), format!("with: {secret}"))
    });
    let tool = reader("read").answers(&Count::default(), fine());
    let mut world = World::of(tool).hook(says).hook(replaces).build();
    let settled = world.call("read", json!({})).await;
    let clean = "password=[redacted: value of password]";
    assert_eq!(text(&settled), format!("new: {clean}"));
    assert_eq!(
        settled.context,
        [format!("before: {clean}"), format!("after: {clean}"), format!("with: {clean}")]
    );
    for hook in [
        Scripted::gate("blocks").before(move |_| Before::Block(format!("for {secret}"))),
        Scripted::gate("fails").before(move |_| Before::Failed(format!("for {secret}"))),
        Scripted::gate("fails after").after(move |_| After::Failed(format!("for {secret}"))),
    ] {
        let mut world = World::of(reader("read").answers(&Count::default(), fine())).hook(hook).build();
        let settled = world.call("read", json!({})).await;
        let told = format!("{settled:?} {:?}", world.events());
        assert!(!told.contains("hunter2") && told.contains("[redacted: value of password]"), "{told}");
    }
}
