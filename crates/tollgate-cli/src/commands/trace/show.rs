//! `tollgate trace show`: one run as a tree.

use std::{fmt::Write as _, time::Duration};

use serde_json::Value;
use tollgate::outcome::Phase;
use tollgate_store::{CallTrace, RunTrace, Store};

use super::{meant, time};
use crate::{
    args::{Shared, TraceShow},
    commands::budget::{self, dollars},
    exit::{Exit, Fault},
    store, words,
};

/// How often `--follow` looks.
const PAUSE: Duration = Duration::from_millis(250);

/// What to do about records that cannot be read.
const WHERE: &str = "`tollgate trace verify` names the first row";

/// How much of a value is shown on its line.
const SHOWN: usize = 160;

pub(crate) fn run(show: &TraceShow, shared: &Shared, store: &Store) -> Result<Exit, Fault> {
    let run = meant(store, show.run.as_deref())?;
    let mut after = 0;
    loop {
        let entries = store.journal(&run, after).map_err(|error| store::fault(&error))?;
        if let Some(last) = entries.last() {
            let tree = RunTrace::of(&run, &entries);
            let mut text = match (shared.json, show.brief) {
                (true, _) => words::json(&tree),
                (false, true) => brief(&tree),
                (false, false) => told(&tree, after == 0),
            };
            let spent = store.spending(Some(&run)).map_err(|error| store::fault(&error))?;
            if let (false, Some(spent)) = (shared.json, spent.first()) {
                let _ = writeln!(text, "spent: {}", budget::told(&spent.spent));
            }
            words::data(&text)?;
            after = last.seq;
        }
        if !show.follow {
            return Ok(Exit::Done);
        }
        std::thread::sleep(PAUSE);
    }
}

fn told(tree: &RunTrace, first: bool) -> String {
    let mut text = String::new();
    if first {
        let _ = writeln!(text, "run {}", words::visible(&tree.run));
    }
    if tree.pruned > 0 {
        let _ = writeln!(text, "  [{} rows were pruned]", tree.pruned);
    }
    if tree.unreadable > 0 {
        let _ = writeln!(text, "  [{} records cannot be read: {WHERE}]", tree.unreadable);
    }
    let mut batches = tree.turns.iter().filter(|turn| turn["event"] == "batch").peekable();
    for calls in tree.calls.chunk_by(|one, next| one.turn == next.turn) {
        let _ = writeln!(text, "turn {}", calls[0].turn);
        models(&mut text, tree, calls[0].turn);
        // Batches follow one another as turns do, and a turn's are those of its calls.
        let mut left = calls.len();
        while let Some(batch) = batches.next_if(|batch| of_turn(batch, calls, left)) {
            let ids: Vec<&str> = ids(batch).collect();
            left -= ids.len();
            let _ = writeln!(text, "  batch {}: {}", batch["index"], words::visible(&ids.join(", ")));
        }
        calls.iter().for_each(|call| one(&mut text, call));
    }
    missed(&mut text, tree);
    questions(&mut text, tree);
    if let Some(reason) = &tree.stopped {
        let _ = writeln!(text, "stopped: {}", words::visible(reason));
    }
    text
}

/// What the model took to come to this turn.
fn models(text: &mut String, tree: &RunTrace, turn: u32) {
    for of in tree.models.iter().filter(|model| model.turn == turn).map(|model| &model.of) {
        let cost = of.microdollars.map_or(String::new(), |cost| format!(", {}", dollars(cost)));
        let stop = of.stop_reason.as_ref().map_or(String::new(), |stop| format!(", stopped: {stop}"));
        let line = format!(
            "{} {} tokens in, {} out{cost}{stop}",
            if of.model.is_empty() { "model:" } else { &of.model },
            of.input_tokens,
            of.output_tokens
        );
        let _ = writeln!(text, "  {}", words::visible(&line));
    }
}

fn questions(text: &mut String, tree: &RunTrace) {
    for asked in &tree.questions {
        let said = match (asked.answered_ms, asked.reply["answer"].as_str()) {
            (Some(at), Some(word)) => format!("answered {word} at {}", time(at)),
            _ => "not answered".to_owned(),
        };
        let line = format!(
            "question {} about {} ({}): asked at {}, {said}",
            asked.id,
            asked.call,
            asked.tool,
            time(asked.asked_ms)
        );
        let _ = writeln!(text, "  {}", words::visible(&line));
    }
}

fn ids(batch: &Value) -> impl Iterator<Item = &str> {
    batch["calls"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn of_turn(batch: &Value, calls: &[CallTrace], left: usize) -> bool {
    ids(batch).count() <= left && ids(batch).all(|id| calls.iter().any(|call| call.id == id))
}

/// One line for each call: when it came, what it was, how it ended, and who said so.
fn brief(tree: &RunTrace) -> String {
    let line = |call: &CallTrace| {
        let answer = &call.answer;
        let said = answer["rule"]["text"].as_str().or(answer["code"].as_str());
        let why = call.by.as_deref().or(said).unwrap_or_default();
        let took = call.duration.map_or(String::new(), duration);
        format!(
            "turn {:<3} {:<10} {:<8} {took:>9}  {}\n",
            call.turn,
            words::visible(&call.tool),
            call.status(),
            words::visible(why)
        )
    };
    let mut text: String = tree.calls.iter().map(line).collect();
    if tree.unreadable > 0 {
        let _ = writeln!(text, "[{} records cannot be read: {WHERE}]", tree.unreadable);
    }
    text
}

/// What observers could not keep up with.
fn missed(text: &mut String, tree: &RunTrace) {
    for missed in tree.turns.iter().filter(|event| event["event"] == "missed") {
        let _ = writeln!(text, "  [{} steps came too fast to be kept]", missed["count"]);
    }
}

fn one(text: &mut String, call: &CallTrace) {
    let took = call.duration.map_or(String::new(), |took| format!("  {}", duration(took)));
    let _ = writeln!(
        text,
        "  {}  {}  {}{took}  {}",
        words::visible(&call.id),
        words::visible(&call.tool),
        call.status(),
        time(call.proposed_ms)
    );
    let mut entry = |word: &str, value: &str| {
        let _ = writeln!(text, "    {word:<9} {}", short(value));
    };
    entry("input", &call.input.to_string());
    if call.caller != "main" {
        entry("caller", &call.caller);
    }
    if let Some(route) = &call.route {
        entry("route", route);
    }
    if let Some(key) = &call.key {
        entry("key", key);
    }
    if let Some(by) = &call.by {
        entry("allowed", by);
    }
    let answer = &call.answer;
    if let Some(phase) = answer["phase"].as_str() {
        entry("phase", titled(phase));
    }
    for field in ["code", "reason", "hint"] {
        if let Some(said) = answer[field].as_str() {
            entry(field, said);
        }
    }
    if let Some(rule) = answer["rule"]["text"].as_str() {
        entry("rule", rule);
    }
    if !answer["output"].is_null() {
        entry("result", &output(&answer["output"]));
    }
    if let Some(kept) = answer["offloaded"]["ref"].as_str() {
        entry("kept as", kept);
    }
    if let Some(evidence) = &call.evidence_ref {
        entry("evidence", evidence);
    }
    if let Some(sandbox) = &call.sandbox {
        entry("sandbox", sandbox);
    }
    if let Some(attempts) = answer["attempts"].as_u64().filter(|attempts| *attempts > 1) {
        entry("attempts", &attempts.to_string());
    }
    if answer["trust"] == "untrusted_content" {
        entry("trust", "untrusted_content");
    }
    if answer["replayed"] == true {
        entry("replayed", "the answer of an earlier call under the same key");
    }
    if call.recovered {
        entry("recovered", "its program ended before it did");
    }
    if !call.steps.is_empty() {
        let steps: Vec<String> = call.steps.iter().map(step).collect();
        let _ = writeln!(text, "    steps     {}", words::visible(&steps.join(" ▸ ")));
    }
}

/// A phase by its number and name.
fn titled(phase: &str) -> &str {
    let phases =
        [Phase::Resolve, Phase::Validate, Phase::Check, Phase::Before, Phase::Permit, Phase::Execute];
    phases.into_iter().map(Phase::title).find(|title| title.ends_with(phase)).unwrap_or(phase)
}

fn output(items: &Value) -> String {
    let shown = items.as_array().into_iter().flatten().map(|item| match &item["type"] {
        Value::String(kind) if kind == "text" => item["text"].as_str().unwrap_or_default().to_owned(),
        Value::String(kind) if kind == "json" => item["json"].to_string(),
        _ => "[a picture]".to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn step(step: &Value) -> String {
    let name = step["event"].as_str().unwrap_or("?");
    let us = step["took_us"].as_f64().unwrap_or(0.0);
    let took = Duration::try_from_secs_f64(us / 1e6).unwrap_or_default();
    if us < 1.0 { name.to_owned() } else { format!("{name} {}", duration(took)) }
}

fn duration(took: Duration) -> String {
    let us = took.as_micros();
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
    }
}

fn short(text: &str) -> String {
    // On one line: where lines end is seen, and control characters are.
    let shown: String = words::visible(&text.replace('\n', "⏎ ")).chars().take(SHOWN).collect();
    let more = text.chars().count().saturating_sub(SHOWN);
    if more == 0 { shown } else { format!("{shown} … {more} more") }
}
