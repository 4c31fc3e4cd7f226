//! The records of the journal, one line of JSON each.
//!
//! A call that needs a claim has `proposed`, `decided`, `started` and `settled`, all under its number `i`. A read or a
//! call refused early has one record, `call`. Those two, `settled` and `call`, are terminal.

use std::{borrow::Cow, io::Write as _};

use tollgate::{
    guard::{CallRecord, End, InputRecord, TraceParent},
    outcome::{NotStored, Redactor, Status},
    policy::{Pending, Reply},
    tool::Concurrency,
};

use crate::{ModelTurn, book::Tally, now_ms};

mod line;

pub use line::{Line, Unreadable};
pub(crate) use line::{lines, records};

/// Longer arguments are recorded by length alone.
const LONGEST_INPUT: usize = 256 << 10;

/// A longer answer of a read is recorded by its hash alone.
const LONGEST_READ: usize = 4 << 10;

pub(crate) const RECOVERED: &str = "The program that ran this call ended before the call did";
pub(crate) const ABANDONED: &str = "Whoever waited for this call went away before it ended";

/// The number of a call: its owner's, and one of the owner's own.
pub(crate) fn id_of(owner: i64, number: u32) -> i64 {
    (owner << 32) | i64::from(number)
}

pub(crate) fn owner_of(id: i64) -> i64 {
    id >> 32
}

/// The numbers an owner can give.
pub(crate) fn ids_of(owner: i64) -> (i64, i64) {
    (owner << 32, (owner << 32) | i64::from(u32::MAX))
}

/// A call is proposed.
pub(crate) fn proposed(out: &mut Vec<u8>, id: i64, call: &CallRecord<'_>, redactor: &Redactor) {
    let began = began_ms(call);
    let _ = write!(out, r#"{{"r":"proposed","i":{id},"at":{began}"#);
    subject(out, call);
    text(out, "c", call.id.as_str());
    text(out, "tool", call.tool);
    if let Some(key) = call.key {
        text(out, "key", key.as_str());
    }
    purpose(out, call, redactor);
    input(out, &call.input, redactor);
    out.extend_from_slice(b"}\n");
}

/// It may run, by a rule that may quote the arguments it is about.
pub(crate) fn decided(out: &mut Vec<u8>, id: i64, by: &str, redactor: &Redactor) {
    let _ = write!(out, r#"{{"r":"decided","i":{id},"at":{}"#, now_ms());
    text(out, "by", &redactor.text(by));
    out.extend_from_slice(b"}\n");
}

/// It starts.
pub(crate) fn started(out: &mut Vec<u8>, id: i64) {
    let _ = writeln!(out, r#"{{"r":"started","i":{id},"at":{}}}"#, now_ms());
}

/// How well what ran was kept apart. Only calls that may run anything are kept apart at all, and only after one of
/// them ran is the answer known without looking.
fn sandbox(out: &mut Vec<u8>, end: &End<'_>) {
    let unsafe_one = end.call.effects.is_some_and(|effects| effects.concurrency == Concurrency::Unsafe);
    if unsafe_one
        && end.settled.attempts > 0
        && let Some(word) = end.call.scope.sandbox.word()
    {
        text(out, "sandbox", word);
    }
}

/// The end of a call that was noted. The answer whole: it may be asked for again.
pub(crate) fn settled(
    out: &mut Vec<u8>,
    id: i64,
    end: &End<'_>,
    redactor: &Redactor,
) -> Result<(), NotStored> {
    let us = end.call.began.elapsed().as_micros();
    let _ = write!(out, r#"{{"r":"settled","i":{id},"at":{},"us":{us}"#, now_ms());
    sandbox(out, end);
    out.extend_from_slice(br#","a":"#);
    end.settled.store_redacted(out, None, redactor)?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// A call that needed no claim, from proposal to end.
pub(crate) fn call(out: &mut Vec<u8>, end: &End<'_>, redactor: &Redactor) -> Result<(), NotStored> {
    let took = end.call.began.elapsed();
    let now = now_ms();
    let us = took.as_micros();
    let _ = write!(out, r#"{{"r":"call","at":{now},"us":{us}"#);
    subject(out, &end.call);
    if let Some(by) = end.by {
        text(out, "by", &redactor.text(by));
    }
    purpose(out, &end.call, redactor);
    input(out, &end.call.input, redactor);
    out.extend_from_slice(br#","a":"#);
    let most = if end.settled.replayed { 0 } else { LONGEST_READ };
    end.settled.store_redacted(out, Some(most), redactor)?;
    out.extend_from_slice(b"}\n");
    Ok(())
}

/// A question waits for somebody.
pub(crate) fn asked(out: &mut Vec<u8>, id: &str, pending: &Pending, redactor: &Redactor) {
    let _ = write!(out, r#"{{"r":"asked","at":{}"#, now_ms());
    text(out, "q", id);
    text(out, "c", &pending.call);
    text(out, "tool", &pending.tool);
    if let Some((rule, _)) = &pending.rule {
        text(out, "by", &redactor.text(rule));
    }
    if let Some(sandbox) = &pending.sandbox {
        text(out, "sandbox", sandbox);
    }
    out.extend_from_slice(b"}\n");
}

/// Somebody answered it. Rules in the reply may quote the arguments.
pub(crate) fn answered(out: &mut Vec<u8>, pending: &Pending, reply: &Reply, redactor: &Redactor) {
    let _ = write!(out, r#"{{"r":"answered","at":{}"#, now_ms());
    text(out, "q", &pending.id);
    text(out, "c", &pending.call);
    text(out, "tool", &pending.tool);
    let mut said = serde_json::to_value(reply).unwrap_or_default();
    redactor.value(&mut said);
    let _ = write!(out, r#","steps":{said}"#);
    out.extend_from_slice(b"}\n");
}

/// A model was asked for a turn, and this is what it took.
pub(crate) fn model(out: &mut Vec<u8>, turn: u32, of: &ModelTurn) {
    let _ = write!(out, r#"{{"r":"model","at":{},"t":{turn},"steps":"#, now_ms());
    let _ = serde_json::to_writer(&mut *out, of);
    out.extend_from_slice(b"}\n");
}

/// The run is a part of a larger trace.
pub(crate) fn traced(out: &mut Vec<u8>, under: TraceParent) {
    let _ = writeln!(out, r#"{{"r":"traced","at":{},"by":"{under}"}}"#, now_ms());
}

/// The run came to its end.
pub(crate) fn stopped(out: &mut Vec<u8>, reason: &str) {
    let _ = write!(out, r#"{{"r":"stopped","at":{}"#, now_ms());
    text(out, "by", reason);
    out.extend_from_slice(b"}\n");
}

/// Answers were handed to whoever asked.
pub(crate) fn delivered(out: &mut Vec<u8>, turn: u32, calls: &[&str]) {
    let calls = serde_json::to_string(calls).unwrap_or_default();
    let _ = writeln!(out, r#"{{"r":"delivered","at":{},"t":{turn},"steps":{calls}}}"#, now_ms());
}

/// The end that recovery gives a call.
pub(crate) fn concluded(id: i64, proposed: Option<&Line<'_>>, started: bool, why: &str) -> Vec<u8> {
    let name = |of: Option<&Cow<'_, str>>| of.map_or_else(String::new, ToString::to_string);
    let (call, tool) =
        (name(proposed.and_then(|line| line.c.as_ref())), name(proposed.and_then(|line| line.tool.as_ref())));
    let answer = if started {
        serde_json::json!({
            "id": call, "tool": tool, "status": "unknown", "attempts": 1,
            "reason": format!("{why}; nobody knows whether it took effect."),
            "hint": "Find out whether it took effect before you do anything like it again.",
        })
    } else {
        serde_json::json!({
            "id": call, "tool": tool, "status": "refused", "code": "cancelled", "phase": "4 permit",
            "reason": format!("{why}; it had not started, and nothing happened."),
            "hint": "Propose it again if it is still wanted.",
        })
    };
    let line = serde_json::json!({"r": "settled", "i": id, "at": now_ms(), "recovered": true, "a": answer});
    let mut bytes = line.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

/// What an end adds to its run.
pub(crate) fn tally(status: Status) -> Tally {
    let mut tally = Tally { calls: 1, ..Tally::default() };
    match status {
        Status::Ok => tally.ok = 1,
        Status::Refused => tally.refused = 1,
        Status::RetryableError | Status::FatalError => tally.failed = 1,
        Status::Unknown => tally.unknown = 1,
    }
    tally
}

fn began_ms(call: &CallRecord<'_>) -> i64 {
    now_ms() - i64::try_from(call.began.elapsed().as_millis()).unwrap_or(0)
}

fn subject(out: &mut Vec<u8>, call: &CallRecord<'_>) {
    let _ = write!(out, r#","t":{},"p":{}"#, call.scope.turn, call.position);
    if call.scope.caller.as_str() != "main" {
        text(out, "who", call.scope.caller.as_str());
    }
    if let Some(route) = &call.scope.route {
        text(out, "route", route.as_str());
    }
    if let Some(agent) = &call.scope.agent {
        text(out, "agent", agent);
    }
    if let Some(parent) = call.scope.traced_under {
        text(out, "parent", &parent.to_string());
    }
}

fn purpose(out: &mut Vec<u8>, call: &CallRecord<'_>, redactor: &Redactor) {
    if let Some(purpose) = call.purpose {
        text(out, "why", &redactor.text(purpose));
    }
}

fn input(out: &mut Vec<u8>, input: &InputRecord<'_>, redactor: &Redactor) {
    match input {
        InputRecord::Args(args) => {
            let from = out.len();
            out.extend_from_slice(br#","in":"#);
            let began = out.len();
            if redactor.finds_in(args) {
                let mut clean = (*args).clone();
                redactor.value(&mut clean);
                let _ = serde_json::to_writer(&mut *out, &clean);
            } else {
                let _ = serde_json::to_writer(&mut *out, args);
            }
            let length = out.len() - began;
            if length > LONGEST_INPUT {
                out.truncate(from);
                text(out, "text", &format!("[arguments of {length} bytes, too long to be recorded]"));
            }
        }
        InputRecord::Text(written) => {
            let most = written.char_indices().nth(LONGEST_READ).map_or(written.len(), |(at, _)| at);
            text(out, "text", &redactor.text(&written[..most]));
        }
    }
}

fn text(out: &mut Vec<u8>, name: &str, value: &str) {
    let _ = write!(out, r#","{name}":"#);
    let _ = serde_json::to_writer(&mut *out, value);
}
