//! Tables read strictly: every key is known, every value of the kind it must be.

use std::ops::Range;

use toml_edit::{Item, TableLike, Value};

use super::{BadConfig, place::Source};
use crate::schema::nearest;

/// One table, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) source: Source<'a>,
    pub(super) table: &'a dyn TableLike,
    /// As people call it: `[policy]`.
    pub(super) name: &'a str,
}

impl<'a> Table<'a> {
    pub(super) fn of(source: Source<'a>, name: &'a str, item: &'a Item) -> Result<Self, BadConfig> {
        let table = item.as_table_like().ok_or_else(|| {
            let message = format!("{name} must be a table, and this is {}", kind(item));
            source.bad(item.span(), message, format!("write it as {name} with keys below it."))
        })?;
        Ok(Self { source, table, name })
    }

    /// Refuses any key but these.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), BadConfig> {
        for (key, item) in self.table.iter() {
            if !known.contains(&key) {
                let span = self.table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
                let hint = match nearest(key, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("{} knows {}.", self.name, listed(known)),
                };
                return Err(self.source.bad(span, format!("`{key}` is no key of {}", self.name), hint));
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Item> {
        self.table.get(key).filter(|item| !item.is_none())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<(&'a str, Option<Range<usize>>)>, BadConfig> {
        let Some(item) = self.get(key) else { return Ok(None) };
        match item.as_str() {
            Some(text) => Ok(Some((text, item.span()))),
            None => Err(self.wrong(key, item, "a text")),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, BadConfig> {
        let Some(item) = self.get(key) else { return Ok(None) };
        item.as_bool().map(Some).ok_or_else(|| self.wrong(key, item, "true or false"))
    }

    pub(super) fn list(&self, key: &str) -> Result<Vec<&'a Value>, BadConfig> {
        let Some(item) = self.get(key) else { return Ok(Vec::new()) };
        match item.as_array() {
            Some(list) => Ok(list.iter().collect()),
            None => Err(self.wrong(key, item, "a list")),
        }
    }

    pub(super) fn wrong(&self, key: &str, item: &Item, wanted: &str) -> BadConfig {
        let message = format!("`{key}` must be {wanted}, and this is {}", kind(item));
        self.source.bad(item.span(), message, format!("give `{key}` {wanted}."))
    }
}

pub(super) fn kind(item: &Item) -> &'static str {
    match item.type_name() {
        "string" => "a text",
        "integer" | "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a time",
        "array" => "a list",
        "array of tables" => "a list of tables",
        _ => "a table",
    }
}

pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
