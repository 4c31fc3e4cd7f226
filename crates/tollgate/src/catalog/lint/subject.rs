//! What the rules look at, and what they say of it.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{tool::ToolSpec, wire::Provider};

/// Something to put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name the tool goes by.
    pub tool: String,
    /// Which rule speaks, as `vague_name`.
    #[serde(rename = "kind")]
    pub rule: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Worth changing.
    Warning,
}

/// What a definition says beyond the metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one declaration is there")]
pub struct Declared {
    /// What its calls do, as declared or hinted at; `None` where nothing is said.
    pub hints: Option<Hints>,
    /// It has a check of its own.
    pub check: bool,
    /// It names a limit of its results.
    pub result_limit: bool,
    /// It says what a new message does to a running call.
    pub interrupt: bool,
    /// It says how long it may take.
    pub timeouts: bool,
}

/// What calls of a tool do, whatever their arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub struct Hints {
    /// Changes nothing anywhere.
    pub read_only: bool,
    /// May destroy what cannot be brought back.
    pub destructive: bool,
    /// Doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Talks to the world outside the workspace.
    pub open_world: bool,
}

/// One tool, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The name it goes by.
    pub label: &'a str,
    /// Its metadata.
    pub spec: &'a ToolSpec,
    /// What else its definition says, where that is known.
    pub declared: Option<&'a Declared>,
    /// The providers it has to please.
    pub providers: &'a [Provider],
}

impl Subject<'_> {
    pub(super) fn warns(&self, rule: &'static str, message: String, fix: &str) -> Option<Finding> {
        self.finds(rule, Level::Warning, message, fix)
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is the last word of a rule, which may find nothing")]
    pub(super) fn finds(
        &self,
        rule: &'static str,
        level: Level,
        message: String,
        fix: &str,
    ) -> Option<Finding> {
        Some(Finding { tool: self.label.to_owned(), rule, level, message, fix: fix.to_owned() })
    }

    pub(super) fn hints(&self) -> Option<Hints> {
        self.declared.and_then(|declared| declared.hints)
    }

    pub(super) fn properties(&self) -> Option<&Map<String, Value>> {
        self.spec.input_schema.get("properties").and_then(Value::as_object)
    }

    /// The words of its own name, in lower case.
    pub(super) fn words(&self) -> Vec<String> {
        let name = self.spec.name();
        let own = name.rsplit("__").next().unwrap_or(name);
        let mut words = vec![String::new()];
        let mut was_lower = false;
        for c in own.chars() {
            let cut = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && was_lower);
            if cut && words.last().is_some_and(|word| !word.is_empty()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
                word.push(c.to_ascii_lowercase());
            }
            was_lower = c.is_ascii_lowercase();
        }
        words.retain(|word| !word.is_empty());
        words
    }
}

/// The first few of many names.
pub(super) fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
