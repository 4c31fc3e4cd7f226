//! How far an Always or a Never reaches: rules computed from the call itself, the narrowest first.

use super::{BadRule, Decision, Query, Rule, Stance, engine::Engine};
use crate::tool::Resource;

mod never;
mod commands;
mod arguments;

pub(crate) use arguments::fingerprint;
pub(crate) use never::{Care, care};

/// One way far: what it means in words, and the rules that say it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Reach {
    /// For the person, as `cargo test with any arguments`.
    pub title: String,
    /// The rules as they would be written, without a stance.
    pub rules: Vec<String>,
}

/// Whether a person was told how wide a rule is and wants it all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    /// Not yet.
    No,
    /// Yes.
    Yes,
}

/// Why a rule that a person wrote is not taken for an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It cannot be read.
    #[error("this is no rule: {0}")]
    NoRule(BadRule),
    /// It does not mean the call that was asked about.
    #[error("this rule does not mean the call that is asked about")]
    Elsewhere,
    /// It means far more than the call. Taken once it is confirmed.
    #[error("{0}")]
    Wide(String),
}

/// The ways far, from exactly this call outwards. Empty where nothing but a Yes should be said.
pub fn reaches(query: &Query<'_>) -> Vec<Reach> {
    let commands: Vec<&[String]> = query
        .effects
        .touches
        .iter()
        .filter_map(|resource| match resource {
            Resource::Command { command } => Some(command.as_slice()),
            _ => None,
        })
        .collect();
    let mut found = match &commands[..] {
        [] => arguments::reaches(query),
        commands => commands::reaches(query, commands),
    };
    // What is offered is held to the same as what a person writes.
    found.retain(|reach| {
        !reach.rules.is_empty()
            && reach.rules.iter().all(|rule| fits(Stance::Grant, rule, query, Confirmed::No).is_ok())
            && let_run(&reach.rules, query)
    });
    found.dedup_by(|later, kept| later.rules == kept.rules);
    found
}

/// Rules that would let the call run where nothing but the defaults asks: its tool's name where that is enough,
/// else the narrowest that are.
pub fn rules_that_allow(query: &Query<'_>) -> Vec<String> {
    let of_tool = vec![query.tool.id.to_string()];
    if let_run(&of_tool, query) {
        return of_tool;
    }
    reaches(query).into_iter().next().map_or(Vec::new(), |reach| reach.rules)
}

/// True when the rules alone would let the call run: what is protected, for one, needs a rule that names it.
fn let_run(rules: &[String], query: &Query<'_>) -> bool {
    let placed = |rule: Rule| {
        let layer = rule.layer();
        rule.placed(layer, "")
    };
    let rules = rules.iter().filter_map(|text| Rule::parse(Stance::Grant, text).ok().map(placed));
    Engine::new(rules.collect()).decide(query).decision == Decision::Allow
}

/// Checks a rule a person wrote or changed: it must mean the call, and what is very wide must be confirmed.
pub fn fits(stance: Stance, text: &str, query: &Query<'_>, confirmed: Confirmed) -> Result<(), Unfit> {
    let rule = Rule::parse(stance, text).map_err(Unfit::NoRule)?;
    // Wide reading is for rules that tighten; the person sees the narrow one, and that must mean the call.
    if !rule.means(query) {
        return Err(Unfit::Elsewhere);
    }
    match never::too_wide(&rule, query) {
        Some(why) if stance.widens() && confirmed == Confirmed::No => Err(Unfit::Wide(why)),
        _ => Ok(()),
    }
}
