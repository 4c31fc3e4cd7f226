//! A question as a person sees it: the whole call, nothing shortened, nothing hidden.

use serde_json::Value;
use tollgate::{
    policy::{Lifetime, Pending, Question, Reach},
    tool::Route,
};

use super::diff::{Change, change};
use crate::words::{self, entry, visible};

/// What is shown of a question, wherever it comes from.
pub(crate) struct Shown<'a> {
    pub(crate) tool: &'a str,
    pub(crate) call: &'a str,
    pub(crate) args: &'a Value,
    pub(crate) effects: Vec<String>,
    pub(crate) rule: Option<(&'a str, &'a str)>,
    pub(crate) reason: &'a str,
    /// Why the model says it calls this.
    pub(crate) purpose: Option<&'a str>,
    pub(crate) sandbox: Option<&'a str>,
    pub(crate) caller: &'a str,
    pub(crate) route: Option<&'a str>,
    pub(crate) folder: &'a std::path::Path,
    pub(crate) digest: &'a str,
}

/// The whole question of a call that waits.
pub(crate) fn question(question: &Question<'_>) -> String {
    let (tool, effects, scope) = (question.tool.id.to_string(), question.effects, question.scope);
    let told = std::iter::once(words::effects(effects)).chain(effects.touches.iter().map(words::touched));
    let shown = Shown {
        tool: &tool,
        call: question.call.as_str(),
        args: question.args,
        effects: told.collect(),
        rule: question.rule.as_ref().map(|rule| (&*rule.text, &*rule.source)),
        reason: &question.reason,
        purpose: question.purpose,
        sandbox: scope.sandbox.word(),
        caller: scope.caller.as_str(),
        route: scope.route.as_ref().map(Route::as_str),
        folder: scope.cwd(),
        digest: question.digest.as_str(),
    };
    shown.text()
}

/// The whole question that somebody parked.
pub(crate) fn pending(pending: &Pending) -> String {
    let shown = Shown {
        tool: &pending.tool,
        call: &pending.call,
        args: &pending.args,
        effects: vec![pending.effects.to_string()],
        rule: pending.rule.as_ref().map(|(text, source)| (text.as_str(), source.as_str())),
        reason: &pending.reason,
        purpose: None,
        sandbox: pending.sandbox.as_deref(),
        caller: &pending.caller,
        route: pending.route.as_deref(),
        folder: &pending.cwd,
        digest: pending.digest.as_str(),
    };
    shown.text()
}

impl Shown<'_> {
    fn text(&self) -> String {
        let mut lines =
            vec![format!("tollgate asks: may {} run? (call {})", visible(self.tool), visible(self.call))];
        let mut line = |word: &str, text: &str| lines.push(entry::<8>(word, text));
        match self.rule {
            Some((text, source)) => line("rule", &format!("{text}   {source}")),
            None => line("rule", "none speaks of it"),
        }
        line("reason", self.reason);
        if let Some(purpose) = self.purpose {
            line("purpose", &format!("the model says: {purpose}"));
        }
        for effect in &self.effects {
            line("effects", effect);
        }
        line("sandbox", self.sandbox.unwrap_or("none: what it starts has all your rights"));
        line("caller", self.caller);
        if let Some(route) = self.route {
            line("route", route);
        }
        line("folder", &self.folder.display().to_string());
        line("digest", self.digest);
        let input = format!("{:#}", self.args);
        line("input", &format!("whole, {} characters", input.chars().count()));
        lines.extend(input.lines().map(|text| format!("    {}", visible(text))));
        if let Some(change) = change(self.args, self.folder) {
            lines.extend(changed(&change));
        }
        lines.join("\n") + "\n"
    }
}

fn changed(change: &Change) -> Vec<String> {
    let mut lines = vec![entry::<8>("diff", &change.path.display().to_string())];
    lines.extend(change.note.iter().map(|note| entry::<8>("note", note)));
    if change.diff.is_empty() {
        lines.push("    nothing would change".to_owned());
    }
    lines.extend(change.diff.lines().map(|text| format!("    {}", visible(text))));
    lines
}

/// How far an answer could reach, each with a number.
pub(crate) fn reaches(reaches: &[Reach]) -> String {
    let one = |(number, reach): (usize, &Reach)| {
        let rules: Vec<_> = reach.rules.iter().map(|rule| format!("\n       {}", visible(rule))).collect();
        format!("  {}  {}{}\n", number + 1, visible(&reach.title), rules.concat())
    };
    reaches.iter().enumerate().map(one).collect()
}

/// For how long, in a person's words.
pub(crate) fn lifetime(lifetime: Lifetime) -> &'static str {
    match lifetime {
        Lifetime::Session => "for this session",
        Lifetime::Project => "in this project",
        Lifetime::User => "everywhere",
    }
}
