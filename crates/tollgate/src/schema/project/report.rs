//! What became of a schema's keywords on the way to the wire.

use serde::Serialize;
use serde_json::Value;

use crate::schema::{dialect::Dialect, flatten::Flat, walk::each_child};

/// What became of the original's keywords. Empty lists and no `not_strict` mean: as it was.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// How many keywords of the projection no entry speaks of.
    pub kept: usize,
    /// Said in another way.
    pub rewritten: Vec<ReportEntry>,
    /// Said in words, in a description.
    pub moved: Vec<ReportEntry>,
    /// Not said at all.
    pub dropped: Vec<ReportEntry>,
    /// Why a strict projection was asked for and not given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_strict: Vec<ReportEntry>,
}

/// What became of one keyword.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReportEntry {
    /// Where the schema is that has it, in the schema without references.
    pub pointer: String,
    /// Which keyword.
    pub keyword: String,
    /// What happened, or why.
    pub why: String,
}

impl ReportEntry {
    pub(super) fn new(pointer: impl Into<String>, keyword: &str, why: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), keyword: keyword.to_owned(), why: why.into() }
    }
}

/// How far a report had come, to go back to when an attempt is given up.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize, usize);

impl Report {
    pub(super) fn rewrote(&mut self, pointer: &str, keyword: &str, why: impl Into<String>) {
        self.rewritten.push(ReportEntry::new(pointer, keyword, why));
    }

    pub(super) fn moved(&mut self, pointer: &str, keyword: &str) {
        self.moved.push(ReportEntry::new(pointer, keyword, "said in words in the description"));
    }

    pub(super) fn dropped(&mut self, pointer: &str, keyword: &str, why: impl Into<String>) {
        self.dropped.push(ReportEntry::new(pointer, keyword, why));
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.rewritten.len(), self.moved.len(), self.dropped.len())
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        self.rewritten.truncate(mark.0);
        self.moved.truncate(mark.1);
        self.dropped.truncate(mark.2);
    }

    pub(super) fn note_flattening(&mut self, original: &Value, flat: &Flat) {
        for reference in &flat.cut {
            self.dropped(
                "",
                "$ref",
                format!(
                    "{reference:?} refers to itself and was cut; what is nested deeper is only described"
                ),
            );
        }
        if *original != flat.schema {
            self.rewrote("", "$ref", "references were replaced by what they refer to");
        }
    }

    pub(super) fn count_kept(&mut self, projection: &Value) {
        self.kept = keywords(projection).saturating_sub(self.rewritten.len());
    }
}

fn keywords(schema: &Value) -> usize {
    let Value::Object(map) = schema else { return 0 };
    let mut count = map.len();
    each_child(map, Dialect::Draft2020, &mut |_, child| count += keywords(child));
    count
}
