//! A server's name, checked once: it becomes the first half of every one of its tools' names.

use std::{fmt, sync::Arc};

/// What a server is called: letters, digits, `-`, `.` and single `_`, and nothing that could pass for us.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerName(Arc<str>);

/// The longest name; with it and `__`, most tools' names still fit every provider.
const LONGEST: usize = 40;

/// Names people read as ours, written without `-`, `_`, `.` and case.
const OURS: [&str; 8] =
    ["builtin", "builtins", "builtintools", "tollgate", "mcp", "system", "native", "internal"];

/// Why a text is no server's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadServerName {
    /// Nothing there, or too much.
    #[error("a server's name has 1 to {LONGEST} characters, this one has {0}")]
    Length(usize),
    /// A character outside the allowed set.
    #[error("a server's name is made of A-Z a-z 0-9 - . _ and begins with a letter or a digit, not {0:?}")]
    Character(char),
    /// It could be taken apart at another place.
    #[error("a server's name has no `__` and does not end in `_`: `__` stands between a server and its tool")]
    Separator,
    /// It could pass for ours.
    #[error("the name `{0}` would pass for Tollgate's own tools")]
    Ours(String),
}

impl ServerName {
    /// Checks and keeps a name.
    pub fn new(name: &str) -> Result<Self, BadServerName> {
        let length = name.chars().count();
        if length == 0 || length > LONGEST {
            return Err(BadServerName::Length(length));
        }
        let odd = |(at, c): &(usize, char)| !(c.is_ascii_alphanumeric() || *at > 0 && "-._".contains(*c));
        if let Some((_, odd)) = name.chars().enumerate().find(odd) {
            return Err(BadServerName::Character(odd));
        }
        if name.contains("__") || name.ends_with('_') {
            return Err(BadServerName::Separator);
        }
        let bare: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if OURS.contains(&&*bare.to_ascii_lowercase()) {
            return Err(BadServerName::Ours(name.to_owned()));
        }
        Ok(Self(name.into()))
    }

    /// The nearest name to a text that another client takes as one, as `My Files` is.
    pub fn nearest(text: &str) -> Result<Self, BadServerName> {
        let mut near = String::new();
        for c in text.trim().chars() {
            match c {
                _ if c.is_ascii_alphanumeric() || c == '.' => near.push(c),
                // One sign stands for a row of them.
                _ if near.is_empty() || near.ends_with(['-', '_']) => {}
                '_' => near.push('_'),
                _ => near.push('-'),
            }
        }
        Self::new(near.trim_end_matches(['-', '_', '.']))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        self.0.clone()
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_could_pass_for_ours_or_hide_a_separator_is_none() {
        for name in ["github", "a", "my-files", "v1.2", "a_b", "9p"] {
            assert_eq!(ServerName::new(name).unwrap().as_str(), name);
        }
        for name in
            ["", "a__b", "a_", "_a", "-a", "a b", "é", "a/b", "a:b", "built-in", "Builtin", "tollgate", "MCP"]
        {
            assert!(ServerName::new(name).is_err(), "{name:?}");
        }
        assert!(ServerName::new(&"a".repeat(41)).is_err());
    }

    #[test]
    fn names_of_other_clients_become_the_nearest_one() {
        for (text, near) in
            [("My Files", "My-Files"), ("a__b", "a_b"), (" x! ", "x"), ("@scope/pkg", "scope-pkg")]
        {
            assert_eq!(ServerName::nearest(text).unwrap().as_str(), near);
        }
        assert!(ServerName::nearest("built in").is_err());
    }
}
