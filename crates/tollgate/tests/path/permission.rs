//! Rules, the tool's own opinion, and people.

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Effects, Opinion, Proposed, Refusal, Registry,
    guard::{BreakerKey, Budget, Repetition, Run, Workspace},
    outcome::{
        Phase::{self, Permit, Resolve},
        RefusalCode::{self, *},
        Status,
    },
    policy::{Answer, Approver, Decision, Digest, Policy, Query, Question, Rules, Verdict},
    tool::{Caller, Route, ToolBuilder},
};

use crate::world::{Bodies, Count, World, fine, reader, refused, tool, writer};

fn opinionated(opinion: Opinion) -> (ToolBuilder, Count) {
    (reader("read").authorize(move |_, _| opinion.clone()), Count::default())
}

#[tokio::test(start_paused = true)]
async fn a_tool_may_ask_where_the_rules_allow() {
    let (tool, runs) = opinionated(Opinion::Ask("it is a holiday".into()));
    let mut world = World::of(tool.answers(&runs, fine())).answers([Answer::Yes]).build();
    assert_eq!(world.call("read", json!({})).await.status(), Status::Ok);
    assert_eq!(world.person.asked()[0]["reason"], "it is a holiday");
    let settled = world.call("read", json!({})).await;
    assert_eq!((refused(&settled), runs.get()), ((Permit, ApprovalRequired), 1));
    let refusal = settled.refusal().unwrap();
    assert!(refusal.reason.contains("(it is a holiday)"), "{}", refusal.reason);
    assert_eq!(refusal.rule, None, "the rule that allows does not ask");
    let (tool, runs) = opinionated(Opinion::Ask("it is a holiday".into()));
    let rules = Rules::new().ask("read").unwrap();
    let mut world = World::of(tool.answers(&runs, fine())).rules(rules).build();
    let settled = world.call("read", json!({})).await;
    let rule = settled.refusal().unwrap().rule.as_ref().unwrap();
    assert_eq!(&*rule.text, "ask read", "one that asks too is named");
}

#[tokio::test(start_paused = true)]
async fn a_workspace_named_from_the_current_folder_is_that_folder() {
    let here = std::env::current_dir().unwrap();
    let cases = [
        (".", "a.txt", true),
        ("./src/../src", "a.txt", true),
        (".", "../a.txt", false),
        ("", "a.txt", true),
        ("", "/etc/passwd", false),
        ("src", "../a.txt", false),
    ];
    for (folder, path, inside) in cases {
        let mut world = World::of(reader("read").answers(&Count::default(), fine())).build();
        world.scope.workspace = Workspace::new(folder);
        let settled = world.call("read", json!({"path": path})).await;
        assert_eq!(settled.status() == Status::Ok, inside, "{path} in {folder}");
        assert!(world.scope.cwd().starts_with(&here));
    }
}

#[test]
fn a_rule_with_a_bracket_that_nothing_opens_is_no_rule() {
    for text in ["write(./s/**))", "wf(path=a))", "wf(path=a)b)", "shell(git push *))", "host(a.b))"] {
        let error = Rules::new().deny(text).unwrap_err().to_string();
        assert!(error.contains("no `(` opens"), "{text}: {error}");
    }
    for text in
        ["read(./a(1).txt)", r"read(./a\).txt)", r#"wf(path="a)")"#, "shell(echo ')')", "wf(/path~[)])"]
    {
        assert!(Rules::new().deny(text).is_ok(), "{text}");
    }
}

/// Offers nothing, because it fails.
struct FailsToOffer;

impl Policy for FailsToOffer {
    fn forbids(&self, _: &Query<'_>) -> Option<Verdict> {
        None
    }

    fn decide(&self, _: &Query<'_>) -> Verdict {
        Verdict::by_default(Decision::Allow, "a test says so")
    }

    fn offers(&self, _: &tollgate::ToolSpec) -> bool {
        unreachable!("a bug in the policy")
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_or_a_policy_that_fails_when_the_list_is_made_offers_nothing() {
    let registry = || {
        Registry::new()
            .with(
                reader("t").enabled(|| unreachable!("a bug in the tool")).answers(&Count::default(), fine()),
            )
            .unwrap()
    };
    let mut world = World::with(registry()).build();
    world.gate.refresh();
    assert_eq!(refused(&world.call("t", json!({})).await), (Resolve, NotEnabled));
    let world = World::of(reader("t").answers(&Count::default(), fine())).policy(FailsToOffer).build();
    world.gate.refresh();
    assert_eq!(world.gate.snapshot().offered(None).count(), 0);
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
