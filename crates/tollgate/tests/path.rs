//! The path of a call: its order, who may look when, what each phase refuses, and that nothing goes around it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

mod world;

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Cx, Effects, Failure, Foreseen, Opinion, Output, Proposed, Refusal, Registry, Tool, ToolSpec,
    guard::{BreakerKey, Budget, Repetition, Run, Workspace},
    hook::{After, Before, HookKind},
    outcome::{
        Outcome,
        Phase::{self, Before as BeforePhase, Check, Execute, Permit, Resolve, Validate},
        RefusalCode::{self, *},
        Status,
    },
    policy::{Answer, Approver, Decision, Digest, Policy, Query, Question, Rules, Verdict, default_verdict},
    tool::{Caller, Concurrency, Route, ToolBuilder},
};
use world::{Bodies, Count, Scripted, World, fine, reader, refused, text, tool, writer};

// Order

#[tokio::test(start_paused = true)]
async fn a_call_walks_every_phase_in_order() {
    let runs = Count::default();
    let mut world = World::of(reader("read").answers(&runs, fine())).hook(Scripted::gate("passes")).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    let expected = [
        "proposed",
        "resolved",
        "validated",
        "checked",
        "prepared",
        "permitted",
        "started",
        "progress",
        "progress",
        "executed",
        "after",
        "settled",
    ];
    assert_eq!(world.steps(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_walks_no_further_and_is_settled() {
    let cases = [
        ("nothing", json!({}), vec!["proposed", "settled"]),
        ("read", json!({"n": "x"}), vec!["proposed", "resolved", "settled"]),
        ("read", json!({"path": "/etc"}), vec!["proposed", "resolved", "validated", "settled"]),
        ("read", json!({"n": 1}), vec!["proposed", "resolved", "validated", "checked", "hook", "settled"]),
    ];
    let hook = Scripted::gate("no").before(|_| Before::Block("no".into()));
    let mut world = World::of(reader("read").answers(&Count::default(), fine())).hook(hook).build();
    for (name, input, expected) in cases {
        let _ = world.call(name, input).await;
        assert_eq!(world.steps(), expected, "{name}");
    }
}

/// A tool, a hook and a check that count who looks at a call.
fn watched(rules: Rules) -> (World, [Count; 3]) {
    let [checks, hooks, runs] = [Count::default(), Count::default(), Count::default()];
    let (check, hook) = (checks.clone(), hooks.clone());
    let tool = reader("read").check(move |_, _| {
        check.up();
        Ok(())
    });
    let hook = Scripted::gate("looks").before(move |_| {
        hook.up();
        Before::Pass
    });
    let world = World::of(tool.answers(&runs, fine())).rules(rules).hook(hook).build();
    (world, [checks, hooks, runs])
}

#[tokio::test(start_paused = true)]
async fn neither_the_check_nor_a_hook_learns_of_what_is_denied() {
    let (mut world, [checks, hooks, runs]) = watched(Rules::new().allow("*").unwrap().deny("read").unwrap());
    let settled = world.call("read", json!({})).await;
    assert_eq!(refused(&settled), (Check, Denied));
    assert_eq!((checks.get(), hooks.get(), runs.get()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn neither_the_check_nor_a_hook_learns_of_what_is_outside_the_roots() {
    let (mut world, [checks, hooks, runs]) = watched(Rules::new().allow("*").unwrap());
    for path in ["/etc/passwd", "../x", "a/../../x", "/work/../x", "/workers"] {
        assert_eq!(
            refused(&world.call("read", json!({"path": path})).await),
            (Check, OutsideRoots),
            "{path}"
        );
    }
    assert_eq!((checks.get(), hooks.get(), runs.get()), (0, 0, 0));
    for path in ["x", "/work/x", "a/../b", "./a", "/work"] {
        assert_eq!(world.call("read", json!({"path": path})).await.status(), Status::Ok, "{path}");
    }
    assert_eq!((checks.get(), hooks.get(), runs.get()), (5, 5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_hook_does_not_see_what_the_tools_own_check_refuses() {
    let (runs, hooks) = (Count::default(), Count::default());
    let seen = hooks.clone();
    let hook = Scripted::gate("looks").before(move |_| {
        seen.up();
        Before::Pass
    });
    let tool = reader("read").check(|_, _| Err(Refusal::invalid_value("/path", "it is a folder")));
    let mut world = World::of(tool.answers(&runs, fine())).hook(hook).build();
    let settled = world.call("read", json!({"path": "a"})).await;
    assert_eq!(settled.refusal(), Some(&Refusal::invalid_value("/path", "it is a folder")));
    assert_eq!((settled.phase, hooks.get(), runs.get()), (Check, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_check_is_not_asked_about_what_the_schema_refuses() {
    let (mut world, [checks, ..]) = watched(Rules::new().allow("*").unwrap());
    let settled = world.call("read", json!({"n": -1, "pth": "a"})).await;
    assert_eq!(refused(&settled), (Validate, InvalidArguments));
    let pointers: Vec<_> = settled.refusal().unwrap().violations.iter().map(|v| &v.pointer[..]).collect();
    assert_eq!(pointers, ["/n", "/pth"]);
    assert_eq!(checks.get(), 0);
}

// Rewrites

/// Denies a call by its arguments, allows every other.
struct NoSecrets;

impl Policy for NoSecrets {
    fn forbids(&self, query: &Query<'_>) -> Option<Verdict> {
        Some(self.decide(query)).filter(|verdict| verdict.decision == Decision::Deny)
    }

    fn decide(&self, query: &Query<'_>) -> Verdict {
        let decision = if query.args["path"] == "secret" { Decision::Deny } else { Decision::Allow };
        Verdict::by_default(decision, "a test says so")
    }
}

#[tokio::test(start_paused = true)]
async fn a_rewrite_is_judged_again_so_hooks_cannot_smuggle() {
    let cases = [
        (json!({"n": "many"}), (Validate, InvalidArguments)),
        (json!([]), (Validate, InvalidArguments)),
        (json!({"path": "secret"}), (Check, Denied)),
        (json!({"path": "/etc/passwd"}), (Check, OutsideRoots)),
        (json!({"n": 13}), (Check, InvalidValue)),
    ];
    for (smuggled, expected) in cases {
        let runs = Count::default();
        let tool = reader("read").check(|_, args| match args["n"].as_u64() {
            Some(13) => Err(Refusal::invalid_value("/n", "no luck")),
            _ => Ok(()),
        });
        let input = smuggled.clone();
        let hook = Scripted::gate("smuggles").before(move |_| Before::Rewrite(input.clone()));
        let mut world = World::of(tool.answers(&runs, fine())).policy(NoSecrets).hook(hook).build();
        let settled = world.call("read", json!({"path": "open"})).await;
        assert_eq!(refused(&settled), expected, "{smuggled}");
        assert_eq!(runs.get(), 0);
    }
}

/// Counts up until `last`, one rewrite each.
fn counts_to(last: u64) -> Scripted {
    Scripted::gate("counts").before(move |args| match args["n"].as_u64().unwrap() {
        n if n < last => Before::Rewrite(json!({"n": n + 1})),
        _ => Before::Pass,
    })
}

#[tokio::test(start_paused = true)]
async fn three_rewrites_are_allowed_and_the_last_one_runs() {
    let runs = Count::default();
    let mut world = World::of(reader("read").echoes(&runs)).hook(counts_to(3)).build();
    let settled = world.call("read", json!({"n": 0})).await;
    assert_eq!(settled.output(), Some(&Output::json(json!({"n": 3}))));
    let rounds: Vec<_> = world.told("rewritten").iter().map(|event| event["round"].clone()).collect();
    assert_eq!(rounds, [1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn the_fourth_rewrite_is_one_too_many() {
    let runs = Count::default();
    let mut world = World::of(reader("read").echoes(&runs)).hook(counts_to(4)).build();
    assert_eq!(refused(&world.call("read", json!({"n": 0})).await), (BeforePhase, RewriteLimit));
    assert_eq!(runs.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_rewrite_equal_to_the_input_is_no_rewrite() {
    let runs = Count::default();
    let hook = Scripted::gate("same").before(|args| Before::Rewrite(args.clone()));
    let mut world = World::of(reader("read").echoes(&runs)).hook(hook).build();
    assert_eq!(world.call("read", json!({"n": 1})).await.status(), Status::Ok);
    assert_eq!(world.told("rewritten"), Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn the_person_is_asked_about_the_rewritten_arguments() {
    let runs = Count::default();
    let world = World::of(reader("read").echoes(&runs)).rules(Rules::new().ask("*").unwrap());
    let mut world = world.answers([Answer::Yes]).hook(counts_to(2)).build();
    let settled = world.call("read", json!({"n": 0})).await;
    assert_eq!(settled.output(), Some(&Output::json(json!({"n": 2}))));
    let asked = world.person.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["args"], json!({"n": 2}));
}

// Hooks

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

// Permission

fn opinionated(opinion: Opinion) -> (ToolBuilder, Count) {
    (reader("read").authorize(move |_, _| opinion.clone()), Count::default())
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_ask_where_the_rules_allow() {
    let (tool, runs) = opinionated(Opinion::Ask("it is a holiday".into()));
    let mut world = World::of(tool.answers(&runs, fine())).answers([Answer::Yes]).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    assert_eq!(world.person.asked()[0]["reason"], "it is a holiday");
    assert_eq!(refused(&world.call("read", json!({})).await), (Permit, ApprovalRequired));
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_deny_where_the_rules_allow() {
    let (tool, runs) = opinionated(Opinion::Deny(Refusal::denied("not on a holiday")));
    let mut world = World::of(tool.answers(&runs, fine())).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(settled.refusal(), Some(&Refusal::denied("not on a holiday")));
    assert_eq!((settled.phase, runs.get()), (Permit, 0));
}

/// Denies in `decide` what it did not forbid before.
struct DeniesLate;

impl Policy for DeniesLate {
    fn forbids(&self, _: &Query<'_>) -> Option<Verdict> {
        None
    }

    fn decide(&self, _: &Query<'_>) -> Verdict {
        Verdict::by_default(Decision::Deny, "a test says so")
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_cannot_widen_what_the_rules_deny() {
    for opinion in [Opinion::Abstain, Opinion::Ask("please".into())] {
        let (tool, runs) = opinionated(opinion);
        let mut world =
            World::of(tool.answers(&runs, fine())).policy(DeniesLate).answers([Answer::Yes]).build();
        assert_eq!(refused(&world.call("read", json!({})).await), (Permit, Denied));
        assert_eq!((runs.get(), world.person.asked().len()), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_rule_speaks_only_a_waived_read_inside_runs_unasked() {
    let waived = |builder: ToolBuilder| builder.spec(|spec| spec.requires_permission = false);
    let cases = [
        (waived(reader("t")), Decision::Allow),
        (reader("t"), Decision::Ask),
        (waived(writer("t")), Decision::Ask),
        (waived(tool("t")), Decision::Ask),
        (waived(tool("t").effects(|_, _| Effects::reading().open_world())), Decision::Ask),
    ];
    for (at, (builder, expected)) in cases.into_iter().enumerate() {
        let runs = Count::default();
        let mut world = World::of(builder.answers(&runs, fine())).rules(Rules::new()).build();
        let settled = world.call("t", json!({})).await;
        match expected {
            Decision::Allow => assert_eq!(settled.status(), Status::Ok, "{at}"),
            _ => assert_eq!(refused(&settled), (Permit, ApprovalRequired), "{at}"),
        }
        assert_eq!(runs.get(), u32::from(expected == Decision::Allow), "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_about_a_call_that_could_not_run() {
    let ask = || Rules::new().ask("*").unwrap();
    let yes = || std::iter::repeat_n(Answer::Yes, 9);
    let asked_after = |world: &World, settled, expected: RefusalCode| {
        assert_eq!(refused(&settled), (Permit, expected));
        world.person.asked().len()
    };
    let runs = Count::default();
    let make = || World::of(reader("read").answers(&runs, fine())).rules(ask()).answers(yes());

    let mut world = make().build();
    world.gate.breakers().open(BreakerKey::Tool("read".into()));
    let settled = world.call("read", json!({})).await;
    assert_eq!(asked_after(&world, settled, CircuitOpen), 0);

    let mut budget = Budget::default();
    budget.calls = Some(0);
    let mut world = make().run(Run::builder("run").budget(budget).build()).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(asked_after(&world, settled, BudgetExhausted), 0);

    let mut world = make().run(Run::builder("run").repetition(Repetition::Turns(1)).build()).build();
    let _ = world.call("read", json!({})).await;
    world.scope.turn = 1;
    let settled = world.call("read", json!({})).await;
    assert_eq!(asked_after(&world, settled, RefusalCode::Repetition), 1);

    let needs_person = reader("read").spec(|spec| spec.requires_interaction = true);
    let mut world = World::of(needs_person.answers(&runs, fine())).rules(ask()).answers(yes()).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(asked_after(&world, settled, RequiresInteraction), 0);
    world.scope.interactive = true;
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);

    let mut world = make().build();
    world.scope.run.token().cancel();
    let settled = world.call("read", json!({})).await;
    assert_eq!(asked_after(&world, settled, Cancelled), 0);
}

/// A headless world whose every call asks, and the digest of `read {"n": 1}` in it.
async fn approved() -> (World, Count, Digest) {
    let runs = Count::default();
    let registry = Registry::new()
        .with(reader("read").answers(&runs, fine()))
        .unwrap()
        .with(reader("other").answers(&runs, fine()))
        .unwrap()
        .with_route(Route::new("day"), vec!["read".into()]);
    let mut world = World::with(registry).rules(Rules::new().ask("*").unwrap()).build();
    let settled = world.call("read", json!({"n": 1})).await;
    assert_eq!(refused(&settled), (Permit, ApprovalRequired));
    let digest = Digest::parse(world.person.asked()[0]["digest"].as_str().unwrap()).unwrap();
    (world, runs, digest)
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_good_for_exactly_one_call() {
    let (mut world, runs, digest) = approved().await;
    world.scope.approvals.grant(digest);
    assert_eq!(world.call("read", json!({"n": 1})).await.status(), Status::Ok);
    assert_eq!(refused(&world.call("read", json!({"n": 1})).await), (Permit, ApprovalRequired));
    assert_eq!(runs.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_void_when_anything_changed() {
    type Change = fn(&mut World) -> (&'static str, Value);
    let changes: [(&str, Change); 7] = [
        ("arguments", |_| ("read", json!({"n": 2}))),
        ("tool", |_| ("other", json!({"n": 1}))),
        ("caller", |world| {
            world.scope.caller = Caller::new("sub-agent");
            ("read", json!({"n": 1}))
        }),
        ("route", |world| {
            world.scope.route = Some(Route::new("day"));
            ("read", json!({"n": 1}))
        }),
        ("folder", |world| {
            world.scope.workspace = Workspace::with_roots("/work/in", vec!["/work".into()]);
            ("read", json!({"n": 1}))
        }),
        ("roots", |world| {
            world.scope.workspace = Workspace::with_roots("/work", vec!["/work".into(), "/etc".into()]);
            ("read", json!({"n": 1}))
        }),
        ("definition", |world| {
            let changed = reader("read").spec(|spec| spec.description = "Reads everything.".into());
            let changed = changed.answers(&Count::default(), fine());
            world.gate.replace(Registry::new().with(changed).unwrap());
            ("read", json!({"n": 1}))
        }),
    ];
    for (what, change) in changes {
        let (mut world, runs, digest) = approved().await;
        world.scope.approvals.grant(digest);
        let (tool, input) = change(&mut world);
        assert_eq!(refused(&world.call(tool, input).await), (Permit, ApprovalRequired), "{what}");
        assert_eq!(runs.get(), 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_persons_no_is_told_in_their_words() {
    let runs = Count::default();
    let world = World::of(reader("read").answers(&runs, fine())).rules(Rules::new().ask("*").unwrap());
    let mut world = world.answers([Answer::No(Some("use the other file".into())), Answer::No(None)]).build();
    let settled = world.call("read", json!({})).await;
    assert_eq!(refused(&settled), (Permit, Denied));
    assert!(settled.refusal().unwrap().reason.contains("use the other file"));
    assert_eq!(refused(&world.call("read", json!({})).await), (Permit, Denied));
    assert_eq!(runs.get(), 0);
}

/// Fails to ask: before it has begun, or on the way.
struct Broken(Phase);

impl Approver for Broken {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        assert_ne!(self.0, Resolve, "broken from the start");
        Box::pin(async { unreachable!("broken on the way") })
    }
}

#[tokio::test(start_paused = true)]
async fn an_approver_that_panics_means_no() {
    for phase in [Resolve, Permit] {
        let runs = Count::default();
        let registry = Registry::new().with(reader("read").answers(&runs, fine())).unwrap();
        let gate = tollgate::Tollgate::builder(registry).approver(Broken(phase)).build();
        let scope = World::of(reader("read").echoes(&runs)).build().scope();
        let settled = gate.call(&scope, Proposed::new("c1", "read", "{}")).await;
        assert_eq!(refused(&settled), (Permit, ApprovalRequired));
        assert_eq!(runs.get(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_ends_the_wait_for_a_person() {
    struct Away;
    impl Approver for Away {
        fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
            Box::pin(std::future::pending())
        }
    }
    let runs = Count::default();
    let registry = Registry::new().with(reader("read").answers(&runs, fine())).unwrap();
    let gate = tollgate::Tollgate::builder(registry).approver(Away).build();
    let scope = World::of(reader("read").echoes(&runs)).build().scope();
    let stop = async {
        tokio::task::yield_now().await;
        scope.run.token().cancel();
    };
    let (settled, ()) = tokio::join!(gate.call(&scope, Proposed::new("c1", "read", "{}")), stop);
    assert_eq!(refused(&settled), (Permit, Cancelled));
    assert_eq!(runs.get(), 0);
}

// Panics

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

// Every answer

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
        ("", Status::Ok),
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
