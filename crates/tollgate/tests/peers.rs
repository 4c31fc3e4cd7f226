//! A call that came by a connection: its peer hears of progress and can be asked, and the call ends when nobody wants it.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tollgate::{
    BoxFuture, Effects, Output, Proposed, Registry, Scope, Tollgate,
    event::Progress,
    guard::{Run, Workspace},
    outcome::{RefusalCode, Status},
    policy::Rules,
    tool::{Answers, CallId, Peer, PeerFault, PeerRequest, Requests, ToolBuilder},
};

#[derive(Debug, Default)]
struct Person {
    heard: Mutex<Vec<String>>,
}

impl Peer for Person {
    fn can(&self, method: &str) -> bool {
        method == "elicitation/create"
    }

    fn ask(&self, requests: Requests) -> BoxFuture<'_, Result<Answers, PeerFault>> {
        let answers = requests.into_iter().map(|(key, asked)| (key, json!({"of": asked.method}))).collect();
        Box::pin(std::future::ready(Ok(answers)))
    }

    fn notify(&self, method: &str, _: Value) {
        self.heard.lock().unwrap().push(method.to_owned());
    }

    fn progress(&self, call: &CallId, progress: &Progress) {
        self.heard.lock().unwrap().push(format!("{call} {} {}", progress.fraction, progress.message));
    }
}

fn gate() -> Tollgate {
    let asks = ToolBuilder::new("asks", "Asks whoever called.", json!({"type": "object"})).unwrap();
    let asks = asks.always(Effects::reading()).run(|cx, _| {
        Box::pin(async move {
            cx.progress(0.5, "half");
            let peer = cx.peer.clone().unwrap();
            let request = PeerRequest { method: "elicitation/create".into(), params: json!({}) };
            let answers = peer.ask([("name".to_owned(), request)].into()).await.unwrap();
            Ok(Output::json(json!(answers)))
        })
    });
    let waits = ToolBuilder::new("waits", "Waits for ever.", json!({"type": "object"})).unwrap();
    let waits = waits.always(Effects::reading()).run(|_, _| Box::pin(std::future::pending()));
    let registry = Registry::new().with(asks).unwrap().with(waits).unwrap();
    let rules = Rules::new().allow("*").unwrap();
    Tollgate::builder(registry).policy(rules).build()
}

fn scope(peer: Option<Arc<dyn Peer>>) -> Arc<Scope> {
    let mut scope = Scope::new(Run::new("r"), Workspace::new("/work"));
    scope.peer = peer;
    Arc::new(scope)
}

#[tokio::test]
async fn a_body_asks_whoever_called_and_tells_them_how_far_it_is() {
    let person = Arc::new(Person::default());
    let settled = gate().call(&scope(Some(person.clone())), Proposed::new("c1", "asks", "{}")).await;
    let output = settled.output().and_then(Output::structured).cloned();
    assert_eq!(output, Some(json!({"name": {"of": "elicitation/create"}})));
    assert_eq!(*person.heard.lock().unwrap(), ["c1 0.5 half"]);
}

#[tokio::test]
async fn a_call_whose_answer_nobody_wants_any_more_ends_and_is_answered() {
    let (gate, scope, token) = (gate(), scope(None), CancellationToken::new());
    let stop = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        stop.cancel();
    });
    let settled = gate.call_until(&scope, Proposed::new("c1", "waits", "{}"), &token).await;
    assert_eq!(settled.status(), Status::RetryableError);
    assert!(!scope.run.token().is_cancelled());

    let settled = gate.call_until(&scope, Proposed::new("c2", "waits", "{}"), &token).await;
    assert_eq!(settled.refusal().unwrap().code, RefusalCode::Cancelled);
}

#[test]
fn what_a_tool_always_does_is_told_before_there_is_a_call() {
    let gate = gate();
    let snapshot = gate.snapshot();
    let (_, spec) = snapshot.reachable(None).next().unwrap();
    assert_eq!(spec.at_worst, Effects::reading());
}
