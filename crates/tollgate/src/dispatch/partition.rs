//! Splits a turn: a run of calls that may share is one batch, any other call is a batch of its own.

use std::ops::Range;

use crate::tool::Concurrency;

/// The batches of a turn, in order. `None` is a call that was refused before its class was known: it is
/// answered alone. Safe groups on either side of anything else are never merged.
pub(crate) fn partition(classes: &[Option<Concurrency>]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    for (at, class) in classes.iter().enumerate() {
        let shares = |class: Option<Concurrency>| class == Some(Concurrency::ReadOnly);
        match batches.last_mut() {
            Some(batch) if shares(*class) && shares(classes[batch.start]) => batch.end = at + 1,
            _ => batches.push(at..at + 1),
        }
    }
    batches
}
