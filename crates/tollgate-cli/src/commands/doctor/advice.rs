//! What would be better otherwise, though nothing is broken.

use super::report::Rule;
use crate::{args::Shared, mocks::Loaded, words};

pub(super) fn advice(
    shared: &Shared,
    loaded: &Loaded,
    keeps: bool,
    rules: &[Rule],
    files: bool,
) -> Vec<String> {
    let mut advice = Vec::new();
    if loaded.is_empty() {
        advice.push(words::no_tools(loaded));
    }
    if !keeps && shared.mocks.is_empty() {
        advice.push("what the file tools change cannot be undone: set TOLLGATE_HOME.".to_owned());
    }
    if !keeps {
        advice
            .push("long results are cut and not kept: give --results DIR, or set TOLLGATE_HOME.".to_owned());
    }
    if loaded.set_aside().next().is_some() {
        advice.push("put right what was set aside: until then those tools do not exist.".to_owned());
    }
    advice.extend(loaded.notes().map(|(file, note)| format!("{}: {note}.", file.display())));
    for rule in rules.iter().filter(|rule| !rule.speaks && !loaded.is_empty()) {
        advice.push(format!("{} {} means none of the tools: correct it.", rule.reference.source, rule.given));
    }
    if !loaded.is_empty() && rules.is_empty() && !files {
        advice.push(
            "no rules are given: what needs a yes is refused, with exit code 4; give --allow RULE."
                .to_owned(),
        );
    }
    advice
}
