//! What must be true after every round.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use tollgate_store::{Entry, Store};

use crate::{
    round::{At, Told},
    worker::BUDGET,
};

/// What the journal says of one call that needed a claim.
#[derive(Default)]
struct Called {
    thing: String,
    proposed: usize,
    started: usize,
    ends: Vec<(String, Option<String>, bool)>,
}

/// Opens the store, which recovers it, and compares journal, downstream and what was acknowledged.
pub(crate) fn all(at: &At, told: &mut Told) -> Vec<String> {
    let mut wrong = Vec::new();
    let store = match Store::open(crate::place_of(at)) {
        Ok(store) => store,
        Err(error) => return vec![format!("the store does not open: {error}")],
    };
    let round = at.round();
    let calls = calls_of(&store, &round, &mut wrong);
    let effects = pairs(&std::fs::read_to_string(at.downstream()).unwrap_or_default(), &round);
    let acks = std::fs::read_to_string(at.acks()).unwrap_or_default();

    let mut settled_ok: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (id, call) in &calls {
        if call.proposed != 1 || call.ends.len() != 1 {
            wrong.push(format!(
                "call {id} ({}) has {} proposals and {} ends",
                call.thing,
                call.proposed,
                call.ends.len()
            ));
            continue;
        }
        let (status, nonce, replayed) = &call.ends[0];
        match status.as_str() {
            "ok" => {
                settled_ok.entry(&call.thing).or_default().insert(nonce.as_deref().unwrap_or("none"));
                if !replayed && call.started != 1 {
                    wrong.push(format!("call {id} is ok and was started {} times", call.started));
                }
            }
            "unknown" => told.unknown += 1,
            _ => told.refused += 1,
        }
    }
    told.proposed += calls.len();
    told.ok += settled_ok.len();
    told.effects += effects.len();
    let yeses = yeses(&store, &round);
    let under_budget = effects.keys().filter(|thing| thing.contains("-spend-")).count() as u64;
    if under_budget > BUDGET {
        wrong.push(format!("{under_budget} calls ran under a budget of {BUDGET}"));
    }
    for (thing, nonces) in &effects {
        // One yes, one effect.
        let most = if is_asked(thing) { yeses.get(thing).copied().unwrap_or(0) } else { 1 };
        if nonces.len() > most {
            wrong.push(format!("{thing} took effect {} times, and {most} were allowed", nonces.len()));
        }
        if !calls.values().any(|call| call.thing == *thing && call.started > 0) {
            wrong.push(format!("{thing} took effect and no start is recorded"));
        }
    }
    for (thing, nonces) in &settled_ok {
        let happened =
            effects.get(*thing).map(|nonces| nonces.iter().map(String::as_str).collect::<HashSet<_>>());
        let fits = match &happened {
            // Others of the same question may be unknown, and have happened.
            Some(happened) if is_asked(thing) => nonces.is_subset(happened),
            happened => happened.as_ref() == Some(nonces),
        };
        if !fits {
            wrong.push(format!("{thing} is ok with {nonces:?}, and downstream saw {happened:?}"));
        }
    }
    for call in calls.values().filter(|call| call.ends.first().is_some_and(|end| end.0 == "refused")) {
        // A thing of one worker alone that was refused did not happen.
        let own = !call.thing.contains("shared") && !is_asked(&call.thing);
        if own && effects.contains_key(call.thing.as_str()) {
            wrong.push(format!("{} is refused and took effect", call.thing));
        }
    }
    for ack in acks.lines().filter(|ack| ack.starts_with(&format!("{round}-"))) {
        let words: Vec<&str> = ack.split(' ').collect();
        let [thing, status, nonce, written] = words[..] else {
            wrong.push(format!("a torn acknowledgement: {ack:?}"));
            continue;
        };
        if status == "answered" && !yeses.contains_key(thing) {
            wrong.push(format!("the answer about {thing} was acknowledged, and the ledger lost it"));
        }
        if status != "ok" {
            continue;
        }
        if effects.get(thing).is_none_or(|nonces| nonces.iter().all(|had| had != nonce)) {
            wrong.push(format!("{thing} was acknowledged as ok and did not happen"));
        }
        let kept = settled_ok.get(thing).is_some_and(|nonces| nonces.contains(nonce));
        if written == "written" && !kept {
            wrong.push(format!("{thing} was acknowledged as ok, and the ledger lost it"));
        }
    }
    match store.verify() {
        Ok(report) if report.is_whole() => {}
        Ok(report) => wrong.push(format!("the chain is broken: {report:?}")),
        Err(error) => wrong.push(format!("the chain cannot be read: {error}")),
    }
    store.close();
    wrong
}

fn is_asked(thing: &str) -> bool {
    thing.contains("-asked-")
}

/// How often each thing was answered, as the journal says.
fn yeses(store: &Store, round: &str) -> HashMap<String, usize> {
    let mut yeses = HashMap::new();
    for name in ["a", "b"] {
        let entries = store.journal(&format!("{round}-{name}"), 0).unwrap_or_default();
        for line in entries.iter().flat_map(Entry::lines).filter(|line| line.r == "answered") {
            *yeses.entry(line.c.as_deref().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    yeses
}

fn calls_of(store: &Store, round: &str, wrong: &mut Vec<String>) -> HashMap<i64, Called> {
    let mut calls: HashMap<i64, Called> = HashMap::new();
    for name in ["a", "b", "budget"] {
        let entries = match store.journal(&format!("{round}-{name}"), 0) {
            Ok(entries) => entries,
            Err(error) => {
                wrong.push(format!("the journal cannot be read: {error}"));
                continue;
            }
        };
        for line in entries.iter().flat_map(Entry::lines) {
            let Some(id) = line.i else { continue };
            let call = calls.entry(id).or_default();
            match &*line.r {
                "proposed" => {
                    call.proposed += 1;
                    line.c.as_deref().unwrap_or_default().clone_into(&mut call.thing);
                }
                "started" => call.started += 1,
                "settled" => {
                    let answer: Value =
                        line.a.and_then(|a| serde_json::from_str(a.get()).ok()).unwrap_or_default();
                    let nonce = answer["output"][0]["json"]["nonce"].as_str().map(str::to_owned);
                    let status = answer["status"].as_str().unwrap_or("none").to_owned();
                    call.ends.push((status, nonce, answer["replayed"] == true));
                }
                _ => {}
            }
        }
    }
    calls
}

fn pairs(text: &str, round: &str) -> HashMap<String, Vec<String>> {
    let mut pairs: HashMap<String, Vec<String>> = HashMap::new();
    for line in text.lines().filter(|line| line.starts_with(&format!("{round}-"))) {
        if let Some((thing, nonce)) = line.split_once(' ') {
            pairs.entry(thing.to_owned()).or_default().push(nonce.to_owned());
        }
    }
    pairs
}
