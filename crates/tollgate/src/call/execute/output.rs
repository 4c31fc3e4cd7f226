//! What a body gave back: held against the tool's own schema, and secrets taken out, before anyone sees it.

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{
    super::{Ran, settle::BIG, validate::Invocation},
    Guards,
};
use crate::{
    guard::off_thread,
    outcome::{Failure, Item, Outcome, Output, Redactor},
    schema::Compiled,
};

/// True for an output that one thread should not look through while others wait.
pub(super) fn is_long(output: &Output) -> bool {
    output.items.iter().map(text_len).sum::<usize>() > BIG
}

/// Takes secrets out, on a thread that may take its time. What is lost there is told as lost, and never shown as it was.
#[cold]
pub(super) fn redact_apart<'a>(
    outcome: &'a mut Outcome,
    redactor: &Redactor,
    guards: &'a Guards,
    invocation: &Invocation,
) -> BoxFuture<'a, ()> {
    let lost = "The tool ran, and its result was lost before it could be shown.";
    let read_only = invocation.effects.read_only;
    let lost = if read_only { Failure::retryable(lost) } else { Failure::unknown(lost) };
    // Until it comes back, it is lost.
    let mut whole = std::mem::replace(outcome, Outcome::Failed(lost));
    let redactor = redactor.clone();
    let work = move || {
        redactor.outcome(&mut whole);
        whole
    };
    Box::pin(async move {
        if let Some(clean) = off_thread(guards.spawner.as_deref(), work).await {
            *outcome = clean;
        }
    })
}

fn text_len(item: &Item) -> usize {
    match item {
        Item::Text { text } => text.len(),
        Item::Json { .. } | Item::Image { .. } => 0,
    }
}

/// An output that breaks the tool's own schema does not reach the model as if it were right.
pub(super) fn checked_output(invocation: &Invocation, ran: Option<Ran>) -> Outcome {
    let output = match ran {
        Some(Ok(Ok(output))) => output,
        Some(Ok(Err(failure))) => return Outcome::Failed(failure),
        Some(Err(_)) | None => return Outcome::Failed(untold()),
    };
    let Some(schema) = &invocation.tool.output else { return Outcome::Ok(output) };
    match output.structured() {
        Some(value) if schema.accepts(value) => Outcome::Ok(output),
        value => undeclared(invocation, schema, value),
    }
}

/// A body that came to no end has been told of before this.
#[cold]
fn untold() -> Failure {
    Failure::unknown("Nobody knows what became of this call after it had started.")
        .with_hint("Find out whether it took effect before you do anything like it again.")
}

#[cold]
fn undeclared(invocation: &Invocation, schema: &Compiled, value: Option<&Value>) -> Outcome {
    let broken: Vec<String> = match value {
        Some(value) => {
            schema.violations(value).into_iter().map(|v| format!("{} {}", v.pointer, v.message)).collect()
        }
        None => vec!["no JSON came at all".to_owned()],
    };
    let done = if invocation.effects.read_only { "" } else { " What it was asked to do may have happened." };
    Outcome::Failed(
        Failure::fatal(format!("The tool ran, but its output is not what it declares.{done}"))
            .with_hint("The same call will fail again; look for the result another way.")
            .caused_by(broken.join("; ")),
    )
}

/// The operator's causes of a failure.
pub(super) fn chain(outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::Failed(failure) => failure.chain(),
        _ => Vec::new(),
    }
}
