//! What a tool does to the world, to a prompt and to a waiting person.

use super::{Finding, Level, Subject};
use crate::tool::ResultLimit;

pub(super) fn unlimited_result(subject: Subject<'_>) -> Option<Finding> {
    if subject.spec.max_result != ResultLimit::Unlimited {
        return None;
    }
    let open = subject.hints().is_some_and(|hints| hints.open_world);
    let message =
        if open { "its results come from outside and are never cut" } else { "its results are never cut" };
    subject.warns(
        "unlimited_result",
        message.to_owned(),
        "set `max_result_chars`; the rest stays readable by reference.",
    )
}

pub(super) fn missing_result_limit(subject: Subject<'_>) -> Option<Finding> {
    if subject.declared?.result_limit {
        return None;
    }
    let message = "it names no limit of its results, so the default holds".to_owned();
    subject.finds(
        "missing_result_limit",
        Level::Info,
        message,
        "set `max_result_chars` to what a model needs of it.",
    )
}

pub(super) fn unchecked_write(subject: Subject<'_>) -> Option<Finding> {
    if subject.hints()?.read_only || subject.declared?.check {
        return None;
    }
    let message = "it changes something, and nothing but its schema is checked before".to_owned();
    subject.warns(
        "unchecked_write",
        message,
        "add a `check` for what the schema cannot say: that the target exists, is allowed, fits.",
    )
}

pub(super) fn destructive_not_idempotent(subject: Subject<'_>) -> Option<Finding> {
    let hints = subject.hints()?;
    if hints.read_only || !hints.destructive || hints.idempotent || subject.spec.requires_idempotency_key {
        return None;
    }
    let message = "it may destroy something, and doing it twice is not doing it once".to_owned();
    subject.warns(
        "destructive_not_idempotent",
        message,
        "make it idempotent, or set `requires_idempotency_key`.",
    )
}

/// Longer, and a person will want to say something before it ends.
const SLOW_SECONDS: u64 = 60;

pub(super) fn undeclared_interrupt(subject: Subject<'_>) -> Option<Finding> {
    let declared = subject.declared?;
    let slow = declared.timeouts && subject.spec.timeouts.total.as_secs() > SLOW_SECONDS;
    let open = subject.hints().is_some_and(|hints| hints.open_world);
    if declared.interrupt || !(slow || open) {
        return None;
    }
    let why = if slow { "it may take long" } else { "it talks to the outside" };
    let message = format!("{why} and does not say what a new message of the person does to it");
    subject.warns(
        "undeclared_interrupt",
        message,
        "set `interrupt` to \"cancel\", or to \"block\" where it must finish.",
    )
}
