//! Tables of `tollgate.toml` read strictly: every key is known, every value of the kind it must be.

use std::path::Path;

use tollgate::{policy::config::ConfigFile, schema::nearest};
use toml_edit::{Item, TableLike};

use crate::{config::unusable, exit::Fault};

/// One table of a file.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    path: &'a Path,
    file: &'a ConfigFile,
    inner: &'a dyn TableLike,
}

impl<'a> Table<'a> {
    /// The section of a file, where it has one.
    pub(super) fn section(path: &'a Path, file: &'a ConfigFile, name: &str) -> Result<Option<Self>, Fault> {
        let Some(item) = file.section(name) else { return Ok(None) };
        Self::of(path, file, name, item).map(Some)
    }

    fn of(path: &'a Path, file: &'a ConfigFile, name: &str, item: &'a Item) -> Result<Self, Fault> {
        let inner = item.as_table_like().ok_or_else(|| {
            let message = format!("[{name}] must be a table, and this is {}", item.type_name());
            unusable(file.fault(
                path,
                item.span(),
                message,
                format!("write it as [{name}] with keys below it."),
            ))
        })?;
        Ok(Self { path, file, inner })
    }

    /// The keys, with the tables below them.
    pub(super) fn tables(&self, name: &str) -> Result<Vec<(&'a str, Self)>, Fault> {
        let below = |(key, item): (&'a str, &'a Item)| {
            Ok((key, Self::of(self.path, self.file, &format!("{name}.{key}"), item)?))
        };
        self.inner.iter().map(below).collect()
    }

    /// The table below this key.
    pub(super) fn table(&self, name: &str, key: &str) -> Result<Option<Self>, Fault> {
        let Some(item) = self.get(key) else { return Ok(None) };
        Self::of(self.path, self.file, &format!("{name}.{key}"), item).map(Some)
    }

    /// Refuses any key but these.
    pub(super) fn only(&self, name: &str, known: &[&str]) -> Result<(), Fault> {
        let Some((key, item)) = self.inner.iter().find(|(key, _)| !known.contains(key)) else {
            return Ok(());
        };
        let span = self.inner.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
        let hint = match nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("[{name}] knows {}.", known.join(", ")),
        };
        Err(unusable(self.file.fault(self.path, span, format!("`{key}` is no key of [{name}]"), hint)))
    }

    fn get(&self, key: &str) -> Option<&'a Item> {
        self.inner.get(key).filter(|item| !item.is_none())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, Fault> {
        self.read(key, "a text", "write it between quotes.", Item::as_str)
    }

    pub(super) fn yes(&self, key: &str) -> Result<Option<bool>, Fault> {
        self.read(key, "true or false", "write true or false, without quotes.", Item::as_bool)
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Fault> {
        let whole = |item: &Item| item.as_integer().and_then(|number| u64::try_from(number).ok());
        self.read(key, "a whole number from 0 on", "write it without quotes, as 100.", whole)
    }

    /// An amount from 0 on, with or without decimals.
    pub(super) fn amount(&self, key: &str) -> Result<Option<f64>, Fault> {
        #[expect(clippy::cast_precision_loss, reason = "no amount of money is that large")]
        let amount = |item: &Item| {
            let number = item.as_float().or_else(|| item.as_integer().map(|whole| whole as f64));
            number.filter(|number| number.is_finite() && *number >= 0.0)
        };
        self.read(key, "an amount from 0 on", "write it without quotes, as 0.50.", amount)
    }

    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Fault> {
        let list = |item: &Item| {
            let list = item.as_array()?.iter().map(|value| value.as_str().map(str::to_owned));
            list.collect::<Option<Vec<_>>>()
        };
        self.read(key, "a list of texts", "write it as [\"read*\", \"grep\"].", list)
    }

    fn read<T>(
        &self,
        key: &str,
        kind: &str,
        hint: &str,
        read: impl FnOnce(&'a Item) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let message = || format!("`{key}` must be {kind}, and this is {}", item.type_name());
        read(item).map(Some).ok_or_else(|| self.fault(key, message(), hint))
    }

    /// What is wrong with the value of a key.
    pub(super) fn fault(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) -> Fault {
        let span = self.get(key).and_then(Item::span);
        unusable(self.file.fault(self.path, span, message, hint))
    }
}
