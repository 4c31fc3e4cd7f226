//! An explanation in words: how far the call would come, what it would do, and who says so.

use tollgate::{
    Effects, Explanation, Foreseen, Refusal,
    outcome::{Phase, RefusalCode},
    policy::{Decision, Reach, RuleRef},
    tool::{Access, Concurrency, Part, Resource},
};

use super::{
    answer::{allowing, or_trusting, way_on},
    entry, visible,
};
use crate::world::World;

const PHASES: [Phase; 6] =
    [Phase::Resolve, Phase::Validate, Phase::Check, Phase::Before, Phase::Permit, Phase::Execute];

/// What would let a call run that asks.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    pub(crate) reaches: Vec<Reach>,
    /// The rules the hint names.
    pub(crate) allow: Vec<String>,
    /// What makes the tool known, where it is one of a server's that nobody asked.
    pub(crate) server: Option<String>,
    /// The rule that would let it run, did its file count.
    pub(crate) inert: Option<RuleRef>,
}

/// The lines that tell what would happen.
pub(crate) fn forecast(explanation: &Explanation, ways: &Ways, world: &World) -> String {
    let end = match explanation.status {
        Foreseen::Ok => "would run",
        Foreseen::Ask => "would ask a person",
        Foreseen::Refused => "would be refused",
    };
    let mut lines = vec![format!("{} {end}", visible(&explanation.tool))];
    lines.extend(PHASES.map(|phase| format!("  {:<12} {}", phase.title(), verdict(explanation, phase))));
    lines.push(line("effects", &effects(&explanation.effects)));
    lines.extend(explanation.effects.touches.iter().map(|resource| line("touches", &touched(resource))));
    lines.push(line("decision", decision(explanation.decision)));
    if let Some(rule) = &explanation.rule {
        lines.push(line("rule", &format!("{}   {}", rule.text, rule.source)));
    }
    if let Some(reason) = &explanation.reason {
        lines.push(line("reason", reason));
    }
    lines.extend(ways.reaches.iter().map(|reach| {
        line("would do", &format!("allow {}   ({})", reach.rules.join(", allow "), reach.title))
    }));
    if let Some(hint) = hint(explanation, ways, world) {
        let hint = or_trusting(ways.inert.as_ref(), &hint);
        lines.push(line("hint:", &hint));
    }
    lines.join("\n")
}

/// What becomes of several calls of one turn: which run together, and in which order.
pub(crate) fn plan(explanations: &[Explanation]) -> String {
    let mut batches: Vec<(bool, Vec<&str>)> = Vec::new();
    for explanation in explanations {
        let together = explanation.effects.may_run_together();
        match batches.last_mut() {
            Some((true, calls)) if together => calls.push(explanation.id.as_str()),
            _ => batches.push((together, vec![explanation.id.as_str()])),
        }
    }
    let batch = |(at, (_, calls)): (usize, &(bool, Vec<&str>))| {
        let how = if calls.len() > 1 { "together" } else { "alone" };
        line(&format!("batch {}", at + 1), &format!("{} {how}", calls.join(", ")))
    };
    let lines: Vec<_> = batches.iter().enumerate().map(batch).collect();
    format!("plan\n{}", lines.join("\n"))
}

fn line(word: &str, text: &str) -> String {
    entry::<12>(word, text)
}

/// What a phase would say.
fn verdict(explanation: &Explanation, phase: Phase) -> String {
    let code = explanation.code.map_or("", RefusalCode::as_str);
    match (phase.cmp(&explanation.phase), explanation.status) {
        (std::cmp::Ordering::Greater, _) => "not reached".to_owned(),
        (std::cmp::Ordering::Equal, Foreseen::Refused) => format!("refuses: {code}"),
        (std::cmp::Ordering::Equal, Foreseen::Ask) => "asks a person".to_owned(),
        (std::cmp::Ordering::Equal, Foreseen::Ok) => "would run".to_owned(),
        (std::cmp::Ordering::Less, _) if phase == Phase::Before => hooks(&explanation.hooks),
        (std::cmp::Ordering::Less, _) => "passes".to_owned(),
    }
}

fn hooks(hooks: &[String]) -> String {
    if hooks.is_empty() {
        return "passes: no hook looks at it".to_owned();
    }
    format!("would ask the hooks {}; none was run", hooks.join(", "))
}

pub(crate) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// What a call would do, in a few words.
pub(crate) fn effects(effects: &Effects) -> String {
    let class = match effects.class() {
        Concurrency::ReadOnly => "may run beside other reads",
        Concurrency::WriteExclusive => "runs alone in its workspace",
        Concurrency::Unsafe => "unsafe, runs alone in its workspace",
    };
    let facts = [
        (effects.read_only, "changes nothing", "changes something"),
        (effects.destructive, "may destroy", "destroys nothing"),
        (effects.idempotent, "may be repeated", "not to be repeated"),
        (effects.open_world, "talks to the outside", "stays inside"),
    ];
    let words = facts.map(|(fact, yes, no)| if fact { yes } else { no });
    format!("{class}; {}", words.join(", "))
}

/// One thing a call touches.
pub(crate) fn touched(resource: &Resource) -> String {
    match resource {
        Resource::Path { path, access: Access::Read } => format!("reads {}", path.display()),
        Resource::Path { path, access: Access::Write } => format!("writes {}", path.display()),
        Resource::Host { host } => format!("host {host}"),
        Resource::Command { command } => format!("command {}", command.join(" ")),
        Resource::Unclear { unclear } if unclear.is_empty() => "a command only known when it runs".to_owned(),
        Resource::Unclear { unclear } => {
            let part = |part: &Part| match part {
                Part::Word(word) => word.clone(),
                Part::Files(start) | Part::Begins(start) | Part::Splits(start) => format!("{start}…"),
            };
            let words = unclear.iter().map(part).collect::<Vec<_>>().join(" ");
            format!("a command only known when it runs: {words}")
        }
        Resource::Key { key } => format!("key {key}"),
    }
}

/// So long a rule can still be typed.
const SHORT: usize = 120;

/// The narrowest rules that would do, where they are narrower than those that are usually named.
fn narrowest(ways: &Ways) -> Option<&Vec<String>> {
    let short = |rules: &&Vec<String>| rules.iter().map(String::len).sum::<usize>() <= SHORT;
    ways.reaches.iter().map(|reach| &reach.rules).find(short).filter(|rules| **rules != ways.allow)
}

fn hint(explanation: &Explanation, ways: &Ways, world: &World) -> Option<String> {
    let code = explanation.code?;
    if let (RefusalCode::UnknownTool, Some(way)) = (code, &ways.server) {
        return Some(way.clone());
    }
    if code == RefusalCode::ApprovalRequired
        && explanation.rule.is_none()
        && let Some(narrow) = narrowest(ways)
    {
        let wide = ways.allow.join(", ");
        return Some(format!(
            "give {} to let it run; {wide} would let more run than this.",
            allowing(narrow)
        ));
    }
    let mut refusal = Refusal::new(code, "");
    refusal.hint.clone_from(&explanation.hint);
    refusal.rule.clone_from(&explanation.rule);
    refusal.would_allow.clone_from(&ways.allow);
    let own = refusal.hint.is_some() || code == RefusalCode::ApprovalRequired;
    own.then(|| way_on(&refusal, &explanation.tool, world))
}
