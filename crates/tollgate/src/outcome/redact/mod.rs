//! Secrets leave a tool's answer before model, ledger, log and screen see it. What kind is said, never what it was.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{Failure, Item, Outcome, Output};

mod form;
mod key_block;
mod name;
mod stream;
mod words;

pub use stream::RedactStream;

/// Finds secrets: known key formats, values that were marked secret, and values under secret-looking names.
///
/// It takes the sure cases. What has no known form, no telling name and was not marked is not recognised.
#[derive(Clone, Default)]
pub struct Redactor {
    // Shared by every clone; most look for no value of their own, and cost nothing to clone.
    marked: Option<Arc<Vec<Marked>>>,
}

/// A value that is a secret, and what it is called.
type Marked = (Box<str>, Box<str>);

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: Cow<'static, str>,
}

/// Shorter values are too common to be looked for everywhere.
const SHORTEST_MARKED: usize = 6;

impl Redactor {
    /// Knows the usual key formats and secret-looking names.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and it takes this very value wherever it stands. Too short ones are not looked for.
    #[must_use]
    pub fn marking(mut self, name: &str, value: &str) -> Self {
        if value.len() >= SHORTEST_MARKED {
            let marked = Arc::make_mut(self.marked.get_or_insert_default());
            marked.push((name.into(), value.into()));
            // The longest first, so that one value inside another does not leave the rest of it behind.
            marked.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
        }
        self
    }

    /// The text without its secrets. Nothing is copied where there is none.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for Span { from, to, kind } in spans {
            clean.push_str(&text[at..from]);
            clean.push_str("[redacted: ");
            clean.push_str(&kind);
            clean.push(']');
            at = to;
        }
        clean.push_str(&text[at..]);
        Cow::Owned(clean)
    }

    /// Takes the secrets out of every text of a value, and out of fields with secret-looking names.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.in_place(text),
            Value::Array(items) => self.items(items),
            Value::Object(map) => {
                for (key, item) in map.iter_mut() {
                    match item {
                        Value::String(text) if name::is_secret_under(key, text) => {
                            *text = format!("[redacted: value of {key}]");
                        }
                        other => self.value(other),
                    }
                }
            }
            _ => {}
        }
    }

    /// True when there is a secret anywhere in the value.
    pub fn finds_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => !self.spans(text).is_empty(),
            Value::Array(items) => items.iter().any(|item| self.finds_in(item)),
            Value::Object(map) => map.iter().any(|(key, item)| {
                matches!(item, Value::String(text) if name::is_secret_under(key, text)) || self.finds_in(item)
            }),
            _ => false,
        }
    }

    /// Takes the secrets out of an outcome, also where one is split between two texts.
    pub(crate) fn outcome(&self, outcome: &mut Outcome) {
        match outcome {
            Outcome::Ok(output) => self.output(output),
            Outcome::Failed(failure) => self.failure(failure),
            Outcome::Refused(_) => {}
        }
    }

    pub(crate) fn output(&self, output: &mut Output) {
        if output.is_bare() {
            return;
        }
        for item in &mut output.items {
            match item {
                Item::Text { text } => self.in_place(text),
                Item::Json { json } => self.value(json),
                Item::Image { .. } => {}
            }
        }
        self.across(&mut output.items);
    }

    /// A secret whose parts end one text and begin the next.
    fn across(&self, items: &mut [Item]) {
        for at in 1..items.len() {
            let (before, after) = items.split_at_mut(at);
            let (Some(Item::Text { text: one }), Some(Item::Text { text: two })) =
                (before.last_mut(), after.first_mut())
            else {
                continue;
            };
            let border = one.len();
            // Each alone is clean already: what is found now is found only together.
            for Span { from, to, kind } in self.spans(&format!("{one}{two}")).into_iter().rev() {
                let words = format!("[redacted: {kind}]");
                if from >= border {
                    two.replace_range(from - border..to - border, &words);
                } else {
                    two.replace_range(..to.saturating_sub(border), "");
                    one.replace_range(from..to.min(border), &words);
                }
            }
        }
    }

    fn failure(&self, failure: &mut Failure) {
        if let Cow::Owned(clean) = self.text(&failure.message) {
            failure.message = clean;
        }
        if let Some(Cow::Owned(clean)) = failure.hint.as_deref().map(|hint| self.text(hint)) {
            failure.hint = Some(clean);
        }
        failure.reword_causes(|cause| match self.text(cause) {
            Cow::Owned(clean) => Some(clean),
            Cow::Borrowed(_) => None,
        });
    }

    pub(crate) fn in_place(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.text(text) {
            *text = clean;
        }
    }

    fn items(&self, items: &mut [Value]) {
        items.iter_mut().for_each(|item| self.value(item));
    }

    fn marked(&self) -> &[Marked] {
        self.marked.as_ref().map_or(&[], |marked| marked)
    }

    /// Every secret, in order, none inside another.
    pub(crate) fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans = Vec::new();
        for (name, value) in self.marked() {
            let kind = || Cow::Owned(format!("value of {name}"));
            spans.extend(text.match_indices(&**value).map(|(from, found)| Span {
                from,
                to: from + found.len(),
                kind: kind(),
            }));
        }
        form::find(text, &mut spans);
        name::find(text, &mut spans);
        words::find(text, &mut spans);
        if spans.len() > 1 {
            spans.sort_by(|a, b| a.from.cmp(&b.from).then(b.to.cmp(&a.to)));
            spans.dedup_by(|later, first| {
                let overlap = later.from < first.to;
                if overlap {
                    first.to = first.to.max(later.to);
                }
                overlap
            });
        }
        spans
    }
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("marked", &self.marked().len()).finish()
    }
}
