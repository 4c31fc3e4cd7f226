//! Patterns over tools: `read_file`, `rea*`, `*`, `@server`, `@server/get_*`.

use std::fmt;

use crate::{
    catalog::label,
    tool::{Origin, ToolName, ToolSpec},
};

/// Which tools are meant.
///
/// Patterns that widen are read narrowly: [`Pattern::matches`] takes a bare name for a built-in (by its name or
/// an alias), so that no server can be allowed by calling its tool the same; a bridged tool is meant by
/// `@server/…`, by the full name a model calls it by, or by `*`. Patterns that tighten are read widely:
/// [`Pattern::covers`] takes a bare name for every tool of that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    server: Option<String>,
    name: String,
    wild: bool,
}

/// Why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// Nothing there.
    #[error("a rule cannot be empty")]
    Empty,
    /// A character no tool name has.
    #[error(
        "{0:?} cannot stand in a tool pattern; write a name, a glob like `rea*`, `@server` or `@server/glob`"
    )]
    Character(char),
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let (server, name) = match text.strip_prefix('@') {
            Some(rest) => {
                let (server, name) = rest.split_once('/').unwrap_or((rest, "*"));
                (Some(server), name)
            }
            None => (None, text),
        };
        if name.is_empty() || server == Some("") {
            return Err(BadPattern::Empty);
        }
        let odd = |c: &char| !(c.is_ascii_alphanumeric() || "_-./*?:".contains(*c));
        if let Some(odd) = name.chars().chain(server.unwrap_or("").chars()).find(odd) {
            return Err(BadPattern::Character(odd));
        }
        let wild = name.contains(['*', '?']);
        Ok(Self { text: text.to_owned(), server: server.map(str::to_owned), name: name.to_owned(), wild })
    }

    /// True when a pattern that widens means this tool. An `explicit_only` tool is meant by no wildcard.
    pub fn matches(&self, tool: &ToolSpec) -> bool {
        if tool.explicit_only && self.wild {
            return false;
        }
        let everything = self.server.is_none() && self.name == "*";
        match tool.id.origin {
            Origin::Builtin => self.covers(tool),
            Origin::Server(_) if self.server.is_some() || everything => self.covers(tool),
            Origin::Server(_) => glob(&self.name, &label(&tool.id)),
        }
    }

    /// True when a pattern that tightens means this tool: any tool of that name, whatever its origin.
    pub fn covers(&self, tool: &ToolSpec) -> bool {
        let origin = &tool.id.origin;
        self.matches_name(origin, &tool.id.name)
            || tool.aliases.iter().any(|alias| self.matches_name(origin, alias))
            || (self.server.is_none() && *origin != Origin::Builtin && glob(&self.name, &label(&tool.id)))
    }

    /// The name it means, where it means one; its server may still be a glob.
    pub(crate) fn exact_name(&self) -> Option<&str> {
        (!self.wild).then_some(&self.name)
    }

    /// True when it means the tools of one server, or of servers of one kind.
    pub(crate) fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// True when it means every tool of this name, whatever its origin.
    pub(crate) fn is_bare_glob_over(&self, name: &str) -> bool {
        self.server.is_none() && glob(&self.name, name)
    }

    /// True when it is for every tool there is.
    pub(crate) fn is_everything(&self) -> bool {
        self.server.is_none() && self.name.chars().all(|c| c == '*')
    }

    fn matches_name(&self, origin: &Origin, name: &ToolName) -> bool {
        let server = match (&self.server, origin) {
            (None, _) => true,
            (Some(wanted), Origin::Server(server)) => glob(wanted, server),
            (Some(_), Origin::Builtin) => false,
        };
        server && glob(&self.name, name.as_str())
    }
}

/// Matches `*` (any run) and `?` (one character), in time linear in both for patterns people write.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    star = Some((after, from + 1));
                    p = after;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
