//! `tools list` and `tools search`: the tools, what each takes of a prompt, and all of them together.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::{
    ToolSpec,
    catalog::lint::estimated_tokens,
    schema::Target,
    tool::{Origin, Visibility},
};

use super::{Catalogue, USUAL, table};
use crate::{
    exit::{Exit, Fault},
    words,
};

/// One tool of the list.
struct Row {
    name: String,
    origin: String,
    visibility: &'static str,
    /// What its calls do at worst, as far as anything here goes by it.
    effects: &'static str,
    /// What it says of itself, where that is something else and nothing goes by it.
    hint: Option<&'static str>,
    tokens: Option<usize>,
    description: String,
}

pub(super) fn run(catalogue: &Catalogue, target: Option<Target>) -> Result<Exit, Fault> {
    let target = target.unwrap_or(USUAL);
    let tools = catalogue.snapshot.reachable(catalogue.route.as_ref());
    let rows: Vec<_> = tools.map(|(label, spec)| Row::of(catalogue, label, spec, target)).collect();
    // What is deferred is not in the prompt.
    let shown = rows.iter().filter(|row| row.visibility != "deferred");
    let total: usize = shown.filter_map(|row| row.tokens).sum();
    if catalogue.json {
        let mut lines: Vec<_> = rows.iter().map(|row| words::json(&row.json())).collect();
        let all = json!({"tools": rows.len(), "tokens": total, "provider": target.provider, "strict": target.strict,
                         "estimate": "a quarter of the bytes"});
        lines.push(words::json(&json!({ "total": all })));
        words::data(&lines.join("\n"))?;
    } else {
        words::data(&told(&rows))?;
        let count = rows.len();
        words::talk(&format!(
            "tools: {count}, about {total} tokens in all for {} (an estimate: a quarter of the bytes).",
            target.provider
        ));
    }
    Ok(Exit::Done)
}

pub(super) fn search(catalogue: &Catalogue, query: &str, limit: usize) -> Result<Exit, Fault> {
    let found = catalogue.snapshot.search(query, limit, catalogue.route.as_ref());
    let rows: Vec<_> =
        found.into_iter().map(|(label, spec)| Row::of(catalogue, label, spec, USUAL)).collect();
    if rows.is_empty() {
        words::talk("note: no tool fits; try other words, or `tollgate tools list`.");
        return Ok(Exit::Done);
    }
    if catalogue.json {
        let lines: Vec<_> = rows.iter().map(|row| words::json(&row.json())).collect();
        words::data(&lines.join("\n"))?;
    } else {
        words::data(&told(&rows))?;
    }
    Ok(Exit::Done)
}

fn told(rows: &[Row]) -> String {
    let head = ["NAME", "ORIGIN", "VISIBILITY", "EFFECTS", "TOKENS", "DESCRIPTION"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    table(&rows)
}

impl Row {
    fn of(catalogue: &Catalogue, label: &Arc<str>, spec: &ToolSpec, target: Target) -> Self {
        let hints = catalogue.loaded.declared.get(label).and_then(|declared| declared.hints);
        let effects = told_effects(spec.at_worst.read_only, spec.at_worst.destructive);
        let hint = hints.map(|hints| told_effects(hints.read_only, hints.destructive));
        Self {
            name: label.to_string(),
            origin: origin(&spec.id.origin),
            visibility: visibility(spec.visibility),
            effects,
            hint: hint.filter(|hint| *hint != effects),
            tokens: estimated_tokens(label, spec, target),
            description: spec.description.to_string(),
        }
    }

    fn json(&self) -> Value {
        let Self { name, origin, visibility, effects, hint, tokens, description } = self;
        json!({"name": name, "origin": origin, "visibility": visibility, "effects": effects, "says": hint, "tokens": tokens,
               "description": description})
    }

    fn cells(&self) -> [String; 6] {
        let first = self.description.trim().lines().next().unwrap_or_default();
        let mut short: String = words::visible(first).chars().take(60).collect();
        if short.chars().count() < first.chars().count() {
            short.push('…');
        }
        [
            words::visible(&self.name),
            self.origin.clone(),
            self.visibility.to_owned(),
            match self.hint {
                Some(hint) => format!("{} (says: {hint})", self.effects),
                None => self.effects.to_owned(),
            },
            self.tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()),
            short,
        ]
    }
}

/// Where a tool comes from.
pub(super) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Builtin => "builtin".to_owned(),
        Origin::Server(server) => format!("@{server}"),
    }
}

/// Whether a tool's schema is in the prompt.
pub(super) fn visibility(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Normal => "normal",
        Visibility::Deferred => "deferred",
        Visibility::AlwaysLoad => "always_load",
    }
}

fn told_effects(read_only: bool, destructive: bool) -> &'static str {
    match (read_only, destructive) {
        (true, _) => "reads",
        (false, false) => "writes",
        (false, true) => "may destroy",
    }
}
