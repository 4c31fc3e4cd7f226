//! What is odd about rules: those that can mean nothing, that others make idle, that are wider than they look.

use serde::Serialize;

use super::{
    Layer, Pattern, Query, Rule, RuleRef, Stance,
    engine::Engine,
    rule::{Reading, Touch},
    trust::{Care, care},
};
use crate::{
    guard::{Run, Workspace},
    tool::{Effects, Scope, ToolSpec},
};

/// One oddity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// The rule.
    pub rule: RuleRef,
    /// Which kind of oddity.
    pub kind: OddityKind,
    /// In words.
    pub message: String,
    /// What to do.
    pub fix: String,
}

/// The kinds of oddities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OddityKind {
    /// It means none of the tools there are.
    NoTool,
    /// Another rule decides whatever it could decide.
    Shadowed,
    /// It lets more run than it seems to.
    Wide,
    /// In a run with nobody to ask, the call would be refused.
    Headless,
}

/// Looks at all rules against the tools there are. Without tools, only at the rules.
pub fn lint(rules: &[Rule], tools: &[&ToolSpec]) -> Vec<Oddity> {
    let mut found = Vec::new();
    for rule in rules {
        found.extend(no_tool(rule, tools));
        found.extend(wide(rule));
    }
    found.extend(shadowed(rules));
    found.extend(headless(rules, tools));
    found
}

fn oddity(rule: &Rule, kind: OddityKind, message: String, fix: &str) -> Oddity {
    Oddity { rule: rule.reference(), kind, message, fix: fix.to_owned() }
}

fn no_tool(rule: &Rule, tools: &[&ToolSpec]) -> Option<Oddity> {
    if rule.tool.is_none() || tools.is_empty() || tools.iter().any(|tool| rule.speaks_of(tool)) {
        return None;
    }
    let narrow = rule.reading() == Reading::Narrow;
    let named = rule.tool.as_ref().is_some_and(|pattern| tools.iter().any(|tool| pattern.covers(tool)));
    let (message, fix) = if narrow && named {
        (
            "a server's tool has that name, and a rule that allows means the built-in one",
            "write `@server/name`.",
        )
    } else {
        ("it means none of the tools there are", "correct the name, or take the rule out.")
    };
    Some(oddity(rule, OddityKind::NoTool, message.to_owned(), fix))
}

fn wide(rule: &Rule) -> Option<Oddity> {
    if !rule.stance.widens() {
        return None;
    }
    let found = |message: String, fix: &str| Some(oddity(rule, OddityKind::Wide, message, fix));
    match &rule.touch {
        Some(Touch::Command(pattern)) => {
            let Some(program) = pattern.program() else {
                return found("it lets any program run".to_owned(), "name the program.");
            };
            let words: Vec<_> =
                [Some(program), pattern.subcommand()].into_iter().flatten().map(str::to_owned).collect();
            match care(&words) {
                Care::Never => {
                    found(format!("`{program}` runs whatever it is told"), "leave it to a person each time.")
                }
                Care::Exact if pattern.is_open() => found(
                    format!("with other words `{program}` runs, fetches or removes anything"),
                    "write the words out, without ` *`.",
                ),
                Care::Subcommand(_) if pattern.is_bare() => {
                    found(format!("it lets every subcommand of `{program}` run"), "name the subcommand.")
                }
                _ => None,
            }
        }
        Some(Touch::Path { pattern, .. })
            if matches!(pattern.glob(), "**" | "/**" | "**/*")
                && *pattern.anchored_at() == super::rule::Anchor::Top =>
        {
            found("it is for every path there is".to_owned(), "begin it with `./`.")
        }
        Some(Touch::Host(pattern)) if pattern.key().is_none() => {
            found("it is for hosts nobody has named".to_owned(), "name the hosts.")
        }
        None if rule.is_conditional() => None,
        None if rule.tool.as_ref().is_some_and(Pattern::is_everything) => {
            found("it lets every tool run, with whatever arguments".to_owned(), "name the tools.")
        }
        None if rule
            .tool
            .as_ref()
            .and_then(|tool| tool.exact_name())
            .is_some_and(|name| matches!(name, "shell" | "bash")) =>
        {
            found("it lets every command run".to_owned(), "write `shell(program subcommand *)`.")
        }
        Some(_) | None => None,
    }
}

/// Rules that a stricter one makes idle because it means all that they mean; and those said twice.
fn shadowed(rules: &[Rule]) -> Vec<Oddity> {
    let mut found = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let stronger = rules
            .iter()
            .enumerate()
            .find(|(other_at, other)| *other_at != at && shadows(other, rule, *other_at < at));
        if let Some((_, other)) = stronger {
            let by = other.reference();
            let message = format!("`{}` ({}) decides whatever it could decide", by.text, by.source);
            found.push(oddity(rule, OddityKind::Shadowed, message, "take it out."));
        }
    }
    found
}

fn shadows(other: &Rule, rule: &Rule, earlier: bool) -> bool {
    let twice = other.text == rule.text && other.stance == rule.stance && other.layer == rule.layer;
    if twice {
        return earlier;
    }
    let stricter = match (other.stance, rule.stance) {
        (Stance::Deny, Stance::Deny) => other.is_outright(),
        (Stance::Deny, _)
        | (Stance::AskAlways, Stance::Ask | Stance::Grant | Stance::Allow)
        | (Stance::Ask, Stance::Allow) => true,
        (Stance::Ask, Stance::Grant) => other.layer == Layer::Managed,
        _ => false,
    };
    stricter && other.includes(rule)
}

/// Tools of which every call would ask: in a headless run each is refused.
fn headless(rules: &[Rule], tools: &[&ToolSpec]) -> Vec<Oddity> {
    let engine = Engine::new(rules.to_vec());
    let scope = Scope::new(Run::new("lint"), Workspace::new("/"));
    let mut found = Vec::new();
    for rule in rules.iter().filter(|rule| matches!(rule.stance, Stance::Ask | Stance::AskAlways)) {
        let reached = tools.iter().find(|tool| {
            let (args, effects) = (serde_json::Value::Null, Effects::reading());
            rule.is_outright()
                && rule.speaks_of(tool)
                && engine.decide(&Query::new(tool, &args, &effects, &scope)).rule == Some(rule.reference())
        });
        if rule.touch.is_some() || rule.is_conditional() || reached.is_some() {
            let what =
                reached.map_or_else(|| "calls it means".to_owned(), |tool| format!("calls of `{}`", tool.id));
            let message = format!("with nobody to ask, {what} are refused");
            found.push(oddity(
                rule,
                OddityKind::Headless,
                message,
                "say `deny` or `allow` where runs are headless.",
            ));
        }
    }
    found
}
