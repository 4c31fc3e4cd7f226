//! What an agent tells becomes what a person sees.

use std::{collections::HashMap, fmt::Write as _, time::Duration};

use tollgate::{
    tool::{CallId, RunId},
    wire::Usage,
};
use tollgate_agent::{AgentEvent, Spent, TodoItem, TodoState, event::What};

use super::screen::{Expand, Key, Screen, about, counted};
use crate::words::visible;

/// Shows the events of a run.
pub(crate) struct Watcher {
    screen: Screen,
    expand: Expand,
    /// How deep each agent is below the main one.
    depths: HashMap<RunId, usize>,
    /// The latest call of each id: providers repeat ids, though never while a call is open.
    latest: HashMap<(RunId, CallId), Key>,
    /// Calls of the turn that comes, which may be void yet.
    proposed: Vec<Key>,
    /// Something of the turn that comes is on screen.
    came: bool,
    /// How many calls were proposed.
    count: u32,
}

impl Watcher {
    pub(crate) fn new(screen: Screen, expand: Expand) -> Self {
        Self {
            screen,
            expand,
            depths: HashMap::new(),
            latest: HashMap::new(),
            proposed: Vec::new(),
            came: false,
            count: 0,
        }
    }

    /// Shows one event.
    pub(crate) fn see(&mut self, event: AgentEvent) {
        let depth = self.depths.get(&event.run).copied().unwrap_or(0);
        match event.what {
            What::CallProposed { id, tool, input, purpose } => {
                let mut title = about::title(&tool, &input);
                if let Some(purpose) = purpose {
                    let _ = write!(title, "  ({})", visible(purpose.trim()));
                }
                let key = self.propose(&event.run, id, depth);
                self.screen.proposed(key, depth, title);
            }
            What::CallAsked { .. } => {}
            What::CallStarted { id, .. } => {
                let key = self.key(&event.run, id, depth);
                self.screen.started(&key);
            }
            What::CallProgress { id, fraction, message } => {
                let key = self.key(&event.run, id, depth);
                self.screen.progress(&key, fraction, &message);
            }
            What::CallSettled { answer } => {
                let told = about::about(&answer, self.expand);
                let key = self.key(&event.run, answer.id.clone(), depth);
                // What never ran took no time of its own.
                let took = if answer.attempts == 0 { Duration::ZERO } else { answer.duration };
                self.screen.call_settled(&key, told, took);
            }
            What::CallDiscarded { id } => {
                let key = self.key(&event.run, id, depth);
                self.screen.discarded(&key);
            }
            What::AgentBegan { child, role, task, .. } => {
                self.depths.insert(child, depth + 1);
                let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
                self.screen.lines(&format!("{}▸ {role}: {task}", "  ".repeat(depth + 1)));
            }
            What::AgentEnded { stop, spent, .. } => {
                let told =
                    format!("{}▹ {}, {}", "  ".repeat(depth + 1), stop.sentence(), money(spent.microdollars));
                self.screen.note(told.trim_end_matches(", "));
            }
            What::RetryWaiting { why, hint, delay_ms, attempt, of } => {
                let seconds = delay_ms.div_ceil(1_000);
                self.screen.note(&format!("{why}; again in {seconds} s (attempt {attempt} of {of})"));
                if attempt + 1 >= of {
                    self.screen.note(&format!("hint: {hint}"));
                }
            }
            What::Fault { message } => self.screen.note(&format!("note: {message}")),
            what if depth == 0 => self.main(what),
            _ => {}
        }
    }

    fn propose(&mut self, run: &RunId, id: CallId, depth: usize) -> Key {
        self.count += 1;
        let agent = (depth > 0).then(|| run.as_str().into());
        let key = Key { agent, number: self.count, id: id.as_str().into() };
        self.latest.insert((run.clone(), id), key.clone());
        self.proposed.push(key.clone());
        key
    }

    /// The call that is meant. One that nobody proposed is as good as proposed.
    fn key(&mut self, run: &RunId, id: CallId, depth: usize) -> Key {
        match self.latest.get(&(run.clone(), id.clone())) {
            Some(key) => key.clone(),
            None => self.propose(run, id, depth),
        }
    }

    /// What is shown of the main agent only.
    fn main(&mut self, what: What) {
        match what {
            What::TurnBegan => {
                // Where the turn before brought no usage, nothing else ended its text.
                self.screen.end_text();
                self.proposed.clear();
                self.came = false;
                self.screen.waits(Some("waiting for the model"));
            }
            What::Text { text } => {
                self.came = true;
                self.screen.text(&text);
            }
            What::Thinking { .. } => self.screen.thinks(),
            What::Discarded { why } => {
                self.screen.end_text();
                let came = std::mem::take(&mut self.came) || !self.proposed.is_empty();
                self.proposed.drain(..).for_each(|key| self.screen.discarded(&key));
                if came {
                    self.screen.note(&format!("what came of this turn does not count: {why}"));
                }
            }
            What::Usage { usage, microdollars, total } => {
                self.screen.end_text();
                self.screen.note(&costs(usage, microdollars, &total));
            }
            What::Compacted { results, chars } => {
                let what = counted(results, "old result");
                self.screen.note(&format!("{what} put aside ({chars} characters) to make room"));
            }
            What::Repaired { notes } => {
                notes.iter().for_each(|note| self.screen.note(&format!("put right: {note}")));
            }
            What::Context { text, from } if self.expand == Expand::Whole => {
                self.screen.note(&format!("told the model ({from}): {text}"));
            }
            What::Todo { items } => self.screen.lines(&todo(&items)),
            What::Plan { on } => self.screen.note(if on {
                "plan mode: it may only look until the plan is approved"
            } else {
                "plan mode is over: it may change things, as far as the rules allow"
            }),
            What::Interrupting { everything } => self.screen.note(if everything {
                "stopping everything"
            } else {
                "interrupted: what runs is brought to an end; Ctrl-C again stops all"
            }),
            What::Stopped { .. } => self.screen.end_text(),
            _ => {}
        }
    }
}

/// What a turn cost, and the run so far.
fn costs(usage: Usage, microdollars: u64, total: &Spent) -> String {
    let mut line = format!("{} in", grouped(usage.input_tokens));
    if usage.cache_read_tokens > 0 {
        let _ = write!(line, " ({} cached)", grouped(usage.cache_read_tokens));
    }
    let _ = write!(line, ", {} out", grouped(usage.output_tokens));
    if total.microdollars > 0 {
        let _ = write!(line, ", {}; in all {}", money(microdollars), money(total.microdollars));
    }
    line
}

/// What a run cost, in a line. Refused calls cost nothing and are not among those that ran.
pub(crate) fn total(spent: &Spent) -> String {
    let mut parts = vec![
        counted(usize::try_from(spent.turns).unwrap_or(usize::MAX), "turn"),
        format!("{} ran", counted(usize::try_from(spent.calls).unwrap_or(usize::MAX), "call")),
        format!("{} tokens", grouped(spent.tokens)),
    ];
    if spent.microdollars > 0 {
        parts.push(money(spent.microdollars));
    }
    parts.join(", ")
}

/// Dollars with as many decimals as tell something.
#[expect(clippy::cast_precision_loss, reason = "no run costs that much")]
pub(crate) fn money(microdollars: u64) -> String {
    match microdollars {
        0 => String::new(),
        1..100_000 => format!("${:.4}", microdollars as f64 / 1e6),
        _ => format!("${:.2}", microdollars as f64 / 1e6),
    }
}

/// A number in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn todo(items: &[TodoItem]) -> String {
    let line = |item: &TodoItem| {
        let sign = match item.state {
            TodoState::Pending => "[ ]",
            TodoState::InProgress => "[>]",
            TodoState::Done => "[x]",
        };
        format!("  {sign} {}\n", item.text.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    items.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_people_read_them() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0, 120, 9_999, 100_000, 1_500_000].map(money),
            ["", "$0.0001", "$0.0100", "$0.10", "$1.50"]
        );
    }
}
