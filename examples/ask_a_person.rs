//! A rule that asks, a person who answers, and an approval that is good for exactly one call.
//!
//! The person is a script here, so that the program runs by itself; a real one would read a line.

use std::{
    collections::VecDeque,
    error::Error,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::json;
use tollgate::{
    BoxFuture, Effects, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    policy::{Answer, Approver, Digest, Question, Rules},
    tool,
};

/// Deletes a file.
#[tool(effects = |_, args| Effects::writing().destructive().writes(&args.path))]
async fn delete(
    /// Which one.
    path: String,
) -> String {
    format!("deleted {path}")
}

/// Shows each question and gives the next answer of a list. When the list is empty, nobody is there.
#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Digest>>>,
}

impl Approver for Script {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        let rule = question.rule.as_ref().map_or("", |rule| &rule.text);
        println!(
            "  ? {} {} ({rule}; destructive: {})",
            question.tool.name(),
            question.args,
            question.effects.destructive
        );
        lock(&self.asked).push(question.digest);
        let answer = lock(&self.answers).pop_front();
        Box::pin(std::future::ready(answer.unwrap_or(Answer::Nobody)))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn show(settled: &Settled) {
    match (settled.output(), settled.refusal()) {
        (Some(output), _) => println!("{} ok: {}", settled.id, json!(output)),
        (_, Some(refusal)) => println!("{} {}: {refusal}", settled.id, refusal.code),
        _ => println!("{} {}", settled.id, settled.status()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let person = Script::default();
    let answers = [Answer::Yes, Answer::No(Some("that one is still needed.".into()))];
    lock(&person.answers).extend(answers);
    let gate = Tollgate::builder(Registry::new().with(delete)?)
        .policy(Rules::new().ask("delete")?)
        .approver(person.clone())
        .build();
    let scope = Arc::new(Scope::new(Run::new("clean up"), Workspace::new("/work")));
    let propose = |id, path| gate.call(&scope, Proposed::new(id, "delete", &json!({"path": path})));

    show(&propose("c1", "old.log").await);
    show(&propose("c2", "new.log").await);
    // The list is empty: nobody answers.
    show(&propose("c3", "big.log").await);

    // The yes that comes later is bound to the digest of the question: tool, arguments, caller, folder.
    if let Some(digest) = lock(&person.asked).last() {
        scope.approvals.grant(digest.clone());
    }
    show(&propose("c4", "other.log").await);
    show(&propose("c5", "big.log").await);
    // And it is used up.
    show(&propose("c6", "big.log").await);
    Ok(())
}
