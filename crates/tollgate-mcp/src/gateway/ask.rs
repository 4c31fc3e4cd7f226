//! Who is asked: answers given elsewhere first, then the person at the client, then whoever looks at the queue.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture,
    outcome::visible,
    policy::{Answer, Approver, Desk, Pending, Question},
    tool::{Answers, PeerFault, PeerRequest},
};

/// The approver of a gateway.
///
/// An answer is bound to the digest of the call wherever it comes from. What a client answers is taken for its
/// person's word, once, for exactly the call that was shown.
#[derive(Clone, Default)]
pub struct Asking {
    desk: Option<Arc<dyn Desk>>,
    elicits: bool,
    waits: Duration,
}

/// How long a parked question can be answered, and its answer used.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// How often a waiting call looks whether its question was answered.
const LOOK: Duration = Duration::from_millis(300);

/// Arguments that are longer cannot be read in a form: such a question goes to the queue.
const LONGEST_QUESTION: usize = 32 << 10;

/// The key of our question among those of a call.
pub(super) const KEY: &str = "tollgate_approval";

/// As many digits of the digest as people type.
const SHORT: usize = 12;

impl Asking {
    /// Asks nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and clients that can show a form are asked.
    #[must_use]
    pub fn by_elicitation(mut self) -> Self {
        self.elicits = true;
        self
    }

    /// The same, and what no client can be asked waits here for somebody else; the call itself waits for `waits` and
    /// is then refused, to be made again.
    #[must_use]
    pub fn by_desk(mut self, desk: Arc<dyn Desk>, waits: Duration) -> Self {
        self.desk = Some(desk);
        self.waits = waits;
        self
    }

    /// What the refusal of a call that waits for a person says beside its reason.
    pub(crate) fn way_on(&self, digest: &str) -> Option<String> {
        self.desk.as_ref()?;
        let id: String = digest.chars().take(SHORT).collect();
        Some(format!(
            "A person can allow it with `tollgate approvals answer {id} yes`; then make the same call again."
        ))
    }

    /// An answer somebody gave to exactly this call. A desk that fails has none.
    async fn given(&self, question: &Question<'_>) -> Option<Answer> {
        let reply = self.desk.as_ref()?.take(&question.digest).await.ok().flatten();
        reply.map(|reply| reply.about(&question.query()))
    }

    async fn at_client(&self, question: &Question<'_>) -> Option<Answer> {
        let peer = question.scope.peer.as_ref().filter(|_| self.elicits)?;
        if !peer.can("elicitation/create") {
            return None;
        }
        let params = form(question)?;
        let request = PeerRequest { method: "elicitation/create".to_owned(), params };
        match peer.ask([(KEY.to_owned(), request)].into()).await {
            Ok(answers) => Some(said(&answers)),
            Err(PeerFault::Unable(_)) => None,
            Err(PeerFault::Refused { .. } | PeerFault::Gone) => Some(Answer::Nobody),
        }
    }

    /// Leaves the question and waits a while for its answer.
    async fn at_desk(&self, question: &Question<'_>) -> Answer {
        let Some(desk) = &self.desk else { return Answer::Nobody };
        let id: String = question.digest.as_str().chars().take(SHORT).collect();
        if desk.park(&Pending::of(question, id, LIFE)).await.is_err() {
            return Answer::Nobody;
        }
        let until = tokio::time::Instant::now() + self.waits;
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK).await;
            if let Some(answer) = self.given(question).await {
                return answer;
            }
        }
        Answer::Nobody
    }
}

impl Approver for Asking {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if let Some(answer) = self.given(&question).await {
                return answer;
            }
            match self.at_client(&question).await {
                // A form that was put away says nothing: somebody else may still answer.
                None | Some(Answer::Nobody) => self.at_desk(&question).await,
                Some(answer) => answer,
            }
        })
    }
}

/// The question as a form; `None` where it is too long to be read in one.
fn form(question: &Question<'_>) -> Option<Value> {
    let args = serde_json::to_string_pretty(question.args).ok()?;
    if args.len() > LONGEST_QUESTION {
        return None;
    }
    let scope = question.scope;
    let mut message = format!(
        "Allow this call?\n\ntool: {}\narguments: {}\n\nwhy it is asked: {}",
        question.tool.id,
        visible(&args),
        visible(&question.reason)
    );
    if let Some(rule) = &question.rule {
        let _ = write!(message, "\nrule: {} ({})", visible(&rule.text), rule.source);
    }
    let _ = write!(message, "\ncaller: {}", visible(scope.caller.as_str()));
    if question.effects.destructive {
        message.push_str("\nit may destroy something for good");
    }
    if question.effects.open_world {
        message.push_str("\nit talks to the outside");
    }
    Some(json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Decision",
                    "description": "`yes` runs exactly this call, once.",
                    "enum": ["yes", "no"],
                },
                "message": {
                    "type": "string",
                    "title": "A word for the model",
                    "description": "With a no: what it should do instead.",
                    "maxLength": 500,
                },
            },
            "required": ["decision"],
        },
    }))
}

/// Only an accepted form with a clear yes is one.
fn said(answers: &Answers) -> Answer {
    let Some(answer) = answers.get(KEY) else { return Answer::Nobody };
    let content = |key: &str| answer.pointer(&format!("/content/{key}")).and_then(Value::as_str);
    match (answer.get("action").and_then(Value::as_str), content("decision")) {
        (Some("accept"), Some("yes")) => Answer::Yes,
        (Some("accept"), Some("no")) => {
            Answer::No(content("message").filter(|text| !text.is_empty()).map(str::to_owned))
        }
        (Some("decline"), _) => Answer::No(None),
        _ => Answer::Nobody,
    }
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking")
            .field("elicits", &self.elicits)
            .field("desk", &self.desk.is_some())
            .finish_non_exhaustive()
    }
}
