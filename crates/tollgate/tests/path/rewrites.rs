//! What a rewrite by a hook leads to.

use serde_json::{Value, json};
use tollgate::{
    Output, Refusal,
    hook::Before,
    outcome::{
        Phase::{Before as BeforePhase, Check, Validate},
        RefusalCode::*,
        Status,
    },
    policy::{Answer, Decision, Policy, Query, Rules, Verdict},
};

use crate::world::{Bodies, Count, Scripted, World, fine, reader, refused};

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
        let by_hook = expected.0 == Validate;
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
        let reason = &settled.refusal().unwrap().reason;
        assert_eq!(reason.starts_with("A hook rewrote"), by_hook, "the model is not blamed for it: {reason}");
        assert_eq!(runs.get(), 0);
    }
}

/// Counts up until `last`, one rewrite each.
pub(crate) fn counts_to(last: u64) -> Scripted {
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
