//! What a person says beyond one call: Always, Never, edited rules, questions that still wait.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as loudly as tests")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Effects, Output, Registry, Scope, Settled, Tollgate, ToolSpec,
    guard::{Run, Workspace},
    outcome::{RefusalCode, Status},
    policy::{
        Answer, Approver, Confirmed, Digest, Grant, Layer, Layers, Lifetime, NotGranted, Query, Question,
        Reach, Rule, Stance, Unfit, fits, reaches,
    },
    tool::{Resource, ToolBuilder},
};

/// Answers each question from a list; when that is empty, waits for ever.
#[derive(Clone, Default)]
struct Person {
    answers: Arc<Mutex<Vec<Answer>>>,
    asked: Arc<Mutex<Vec<Vec<Reach>>>>,
    told: Arc<Mutex<Vec<NotGranted>>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(question.reaches());
        let answer = self.answers.lock().unwrap().pop();
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn not_kept(&self, why: &NotGranted) {
        self.told.lock().unwrap().push(why.clone());
    }
}

struct Place {
    gate: Tollgate,
    scope: Arc<Scope>,
    policy: Layers,
    person: Person,
    calls: AtomicU32,
}

impl Place {
    fn new(rules: &[(Stance, Layer, &str)], answers: Vec<Answer>) -> Self {
        let rule = |(stance, layer, text): &(Stance, Layer, &str)| {
            Rule::parse(*stance, text).unwrap().placed(*layer, "a test")
        };
        let policy = Layers::new(rules.iter().map(rule).collect());
        let edit = ToolBuilder::new(
            "edit",
            "Edits.",
            json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        )
        .unwrap()
        .effects(|_, args| Effects::writing().writes(args["path"].as_str().unwrap_or_default()))
        .run(|_, _| Box::pin(async { Ok(Output::text("done")) }));
        let person = Person { answers: Arc::new(Mutex::new(answers)), ..Person::default() };
        let gate = Tollgate::builder(Registry::new().with(edit).unwrap())
            .policy(policy.clone())
            .approver(person.clone());
        let scope = Arc::new(Scope::new(Run::new("answers"), Workspace::new("/work/app")));
        Self { gate: gate.build(), scope, policy, person, calls: AtomicU32::default() }
    }

    async fn edit(&self, path: &str) -> Settled {
        self.gate
            .call(
                &self.scope,
                tollgate::Proposed::new(
                    format!("c{}", self.calls.fetch_add(1, Ordering::Relaxed)),
                    "edit",
                    json!({ "path": path }).to_string(),
                ),
            )
            .await
    }

    fn asked(&self) -> usize {
        self.person.asked.lock().unwrap().len()
    }
}

fn grant(rule: &str) -> Grant {
    Grant { rules: vec![rule.to_owned()], lifetime: Lifetime::Session }
}

#[tokio::test]
async fn after_an_always_nobody_is_asked_again_about_what_it_means() {
    let place =
        Place::new(&[(Stance::Ask, Layer::User, "edit")], vec![Answer::Always(grant("edit(path in ./src)"))]);
    assert_eq!(place.edit("src/a").await.status(), Status::Ok);
    assert_eq!(place.edit("src/b").await.status(), Status::Ok);
    assert_eq!(place.asked(), 1);
    assert_eq!(&*place.policy.grants().list()[0].text, "allow edit(path in ./src)");
}

#[tokio::test]
async fn after_a_never_it_is_denied_without_a_question() {
    let place = Place::new(&[], vec![Answer::Never(grant("edit(path in ./src)"))]);
    assert_eq!(place.edit("src/a").await.refusal().unwrap().code, RefusalCode::Denied);
    let again = place.edit("src/b").await;
    let rule = again.refusal().unwrap().rule.clone().unwrap();
    assert_eq!((&*rule.text, rule.layer), ("deny edit(path in ./src)", Some(Layer::Session)));
    assert_eq!(place.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_always_answers_the_questions_that_still_wait_and_leaves_the_others() {
    let place = Arc::new(Place::new(&[], Vec::new()));
    let edit = |path: &'static str| {
        let place = place.clone();
        tokio::spawn(async move { place.edit(path).await })
    };
    // Writes of one workspace wait for each other only once they run: all three are asked about at once.
    let (meant, denied, other) = (edit("src/a"), edit("src/locked"), edit("b"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(place.asked(), 3);
    place.policy.grants().give(Stance::Deny, &grant("write(**/locked)")).unwrap();
    assert_eq!(denied.await.unwrap().refusal().unwrap().code, RefusalCode::Denied);
    place.policy.grants().give(Stance::Grant, &grant("write(./src/**)")).unwrap();
    assert_eq!(meant.await.unwrap().status(), Status::Ok);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!other.is_finished(), "nothing was said about it");
    other.abort();
}

#[tokio::test]
async fn an_always_never_beats_a_deny_or_an_ask_marked_always() {
    let rules = [(Stance::AskAlways, Layer::User, "edit")];
    let place = Place::new(&rules, vec![Answer::No(None), Answer::Always(grant("edit"))]);
    assert_eq!(place.edit("a").await.status(), Status::Ok);
    assert_eq!(place.edit("a").await.refusal().unwrap().code, RefusalCode::Denied);
    assert_eq!(place.asked(), 2);
    let place = Place::new(&[(Stance::Deny, Layer::Project, "write(./a)")], Vec::new());
    place.policy.grants().give(Stance::Grant, &grant("edit")).unwrap();
    assert_eq!(place.edit("a").await.refusal().unwrap().code, RefusalCode::Denied);
}

#[tokio::test(start_paused = true)]
async fn a_yes_given_before_is_good_for_one_call_and_not_for_ever() {
    let place = Place::new(&[], vec![Answer::No(None), Answer::No(None)]);
    let tool = place.gate.snapshot().reachable(None).next().unwrap().1.clone();
    let args = json!({"path": "a"});
    let effects = Effects::writing().writes("a");
    let digest = |scope: &Scope| Digest::of(&Query::new(&tool, &args, &effects, scope));
    place.scope.approvals.grant(digest(&place.scope));
    assert_eq!(place.edit("a").await.status(), Status::Ok);
    assert_eq!(place.edit("a").await.status(), Status::Refused, "it is used up");
    place.scope.approvals.grant_for(digest(&place.scope), Duration::from_secs(10));
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(place.edit("a").await.status(), Status::Refused, "it has ended");
    let mut other = Scope::clone(&place.scope);
    other.sandbox = "L1".into();
    assert_ne!(digest(&place.scope), digest(&other));
}

/// The rules offered for a call, in their order.
fn offered(tool: &str, args: &Value, effects: &Effects) -> Vec<String> {
    let tool = ToolSpec::new(tool, "", json!({})).unwrap();
    let scope = Scope::new(Run::new("answers"), Workspace::new("/work/app"));
    reaches(&Query::new(&tool, args, effects, &scope))
        .into_iter()
        .map(|reach| reach.rules.join("; "))
        .collect()
}

fn shell(commands: &[&str]) -> Effects {
    let command = |text: &&str| Resource::Command { command: text.split(' ').map(str::to_owned).collect() };
    commands.iter().map(command).fold(Effects::worst(), Effects::touching)
}

#[test]
fn what_is_offered_begins_with_exactly_the_call_and_never_goes_too_far() {
    let none = json!({});
    let cases: [(Effects, &[&str]); 14] = [
        (shell(&["cargo test -p x"]), &["shell(cargo test -p x)", "shell(cargo test *)"]),
        (shell(&["ls -l"]), &["shell(ls -l)", "shell(ls *)"]),
        (shell(&["git"]), &["shell(git)"]),
        (shell(&["git -C x status"]), &["shell(git -C x status)"]),
        (shell(&["git config a b"]), &["shell(git config a b)"]),
        (shell(&["npm run build"]), &["shell(npm run build)", "shell(npm run build *)"]),
        (shell(&["python3.12 a.py"]), &["shell(python3.12 a.py)"]),
        (shell(&["python -c x"]), &[]),
        (shell(&["sh -c x"]), &[]),
        (shell(&["sudo ls"]), &[]),
        (shell(&["rm -rf x"]), &["shell(rm -rf x)"]),
        (
            shell(&["ls", "cargo test x"]),
            &["shell(ls); shell(cargo test x)", "shell(ls *); shell(cargo test *)"],
        ),
        (
            shell(&["cargo fmt"]).writes("out.txt"),
            &["shell(cargo fmt); write(./out.txt)", "shell(cargo fmt *); write(./out.txt)"],
        ),
        (shell(&["ls", ""]), &[]),
    ];
    for (effects, wanted) in cases {
        let mut effects = effects;
        for resource in &mut effects.touches {
            if let Resource::Command { command } = resource {
                command.retain(|word| !word.is_empty());
            }
        }
        assert_eq!(offered("shell", &none, &effects), wanted, "{effects:?}");
    }
    let words = json!({"command": "a b"});
    let spaced = Effects::worst()
        .touching(Resource::Command { command: vec!["echo".into(), "a b*".into(), "(".into()] });
    assert_eq!(offered("shell", &words, &spaced)[0], r#"shell(echo "a b*" "(")"#);
}

#[test]
fn what_is_offered_for_a_tool_is_its_call_its_folder_its_arguments() {
    let args = json!({"path": "src/a.rs", "mode": "fast"});
    assert_eq!(
        offered("edit", &args, &Effects::writing().writes("src/a.rs")),
        [
            "edit(path=\"src/a.rs\", mode=\"fast\", only)",
            "edit(path in ./src)",
            "edit(path=\"src/a.rs\")",
            "edit(mode=\"fast\")"
        ]
    );
    assert_eq!(
        offered("read", &json!({"path": "a"}), &Effects::reading().reads("a"))[0],
        "tool:read(path=\"a\", only)"
    );
    let long = json!({"path": "a", "content": "x".repeat(1_000)});
    let exact = offered("edit", &long, &Effects::writing()).swap_remove(0);
    assert!(exact.starts_with("edit(#") && exact.len() == "edit(#)".len() + 64, "{exact}");
}

#[test]
fn an_edited_rule_must_mean_the_call_and_a_wide_one_must_be_confirmed() {
    let tool = ToolSpec::new("shell", "", json!({})).unwrap();
    let scope = Scope::new(Run::new("answers"), Workspace::new("/work/app"));
    let (args, effects) = (json!({}), shell(&["cargo test x"]));
    let query = Query::new(&tool, &args, &effects, &scope);
    let fit = |text: &str, confirmed| fits(Stance::Grant, text, &query, confirmed);
    assert_eq!(fit("shell(cargo test *)", Confirmed::No), Ok(()));
    assert_eq!(fit("shell(cargo build *)", Confirmed::Yes), Err(Unfit::Elsewhere));
    assert!(matches!(fit("shell(cargo", Confirmed::Yes), Err(Unfit::NoRule(_))));
    for wide in ["shell(cargo *)", "shell(*)", "shell", "*", "sh*"] {
        assert!(matches!(fit(wide, Confirmed::No), Err(Unfit::Wide(_))), "{wide}");
        assert_eq!(fit(wide, Confirmed::Yes), Ok(()), "{wide}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_hears_that_an_always_could_not_be_written_down() {
    let grant = Grant { rules: vec!["write(./**)".to_owned()], lifetime: Lifetime::User };
    let place = Place::new(&[], vec![Answer::Always(grant)]);
    assert_eq!(place.edit("a").await.status(), Status::Ok);
    let told = place.person.told.lock().unwrap().clone();
    assert!(
        matches!(&told[..], [NotGranted::NotKept(why)] if why.contains("where rules are kept")),
        "{told:?}"
    );
    assert_eq!(place.edit("b").await.status(), Status::Ok, "it holds for the session");
}
