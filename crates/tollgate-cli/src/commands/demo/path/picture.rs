//! Batches over time, drawn from the events of a turn.

use std::collections::HashMap;

use tollgate::{
    event::{EventRecord, What},
    tool::CallId,
};

/// Milliseconds that one character stands for.
const STEP: u64 = 20;

/// Nothing shorter is worth a picture.
const WORTHWHILE: u64 = 50;

struct Bar {
    batch: usize,
    call: CallId,
    from: u64,
    to: u64,
}

/// One line for each call that was started, in the order of the batches; nothing when all went by at once.
pub(super) fn picture(events: &[EventRecord]) -> Vec<String> {
    let bars = bars(events);
    let Some(end) = bars.iter().map(|bar| bar.to).max().filter(|end| *end >= WORTHWHILE) else {
        return Vec::new();
    };
    let mut lines = vec![scale(end)];
    let mut last = None;
    for bar in &bars {
        let batch = if last == Some(bar.batch) { String::new() } else { format!("batch {}", bar.batch + 1) };
        last = Some(bar.batch);
        let (from, to) = (columns(bar.from), columns(bar.to).max(columns(bar.from) + 1));
        lines.push(format!(
            "  {batch:<8} {:<4} {}{}",
            bar.call.as_str(),
            " ".repeat(from),
            "=".repeat(to - from)
        ));
    }
    lines.extend(together(&bars));
    lines
}

/// What a batch of several took, and what they would have taken one after the other.
fn together(bars: &[Bar]) -> Vec<String> {
    let batches = bars.chunk_by(|one, next| one.batch == next.batch).filter(|batch| batch.len() > 1);
    let told = batches.map(|batch| {
        let from = batch.iter().map(|bar| bar.from).min().unwrap_or(0);
        let to = batch.iter().map(|bar| bar.to).max().unwrap_or(0);
        let each: u64 = batch.iter().map(|bar| bar.to - bar.from).sum();
        let (number, calls, took) = (batch[0].batch + 1, batch.len(), to - from);
        format!("  batch {number}: {calls} calls in {took} ms; one after the other they would have taken {each} ms")
    });
    told.collect()
}

fn bars(events: &[EventRecord]) -> Vec<Bar> {
    let begin = events.iter().map(|event| event.at_ms).min().unwrap_or(0);
    let mut times: HashMap<&CallId, (u64, u64)> = HashMap::new();
    for event in events {
        let Some(call) = &event.call else { continue };
        let at = event.at_ms - begin;
        match event.what {
            What::Started { .. } => {
                times.insert(call, (at, at));
            }
            What::Executed { .. } => {
                if let Some((_, to)) = times.get_mut(call) {
                    *to = at;
                }
            }
            _ => {}
        }
    }
    let batches = events.iter().filter_map(|event| match &event.what {
        What::Batch(batch) => Some(batch.calls.iter().map(|call| (batch.index, call))),
        _ => None,
    });
    let started = batches.flatten().filter_map(|(batch, call)| {
        times.get(call).map(|(from, to)| Bar { batch, call: call.clone(), from: *from, to: *to })
    });
    started.collect()
}

/// A mark every 100 ms.
fn scale(end: u64) -> String {
    let width = columns(100);
    let marks: Vec<_> = (0..=end / 100).map(|mark| format!("{:<width$}", mark * 100)).collect();
    format!("  {:<8} {:<4} {}", "", "ms", marks.concat().trim_end())
}

fn columns(ms: u64) -> usize {
    usize::try_from(ms / STEP).unwrap_or(usize::MAX)
}
