//! One file: the rules of its `[policy]`, each with its line.

use std::{io::Read as _, path::Path};

use toml_edit::{Document, Value};

use super::{BadConfig, long, place::Source, table::Table};
use crate::policy::{BadRule, Layer, Rule, Stance};

/// No file of rules is larger; what has no end must not be read to it.
const MOST: u64 = 16 << 20;

/// What a file says.
#[derive(Debug)]
pub struct ConfigFile {
    rules: Vec<Rule>,
    document: Document<String>,
}

/// The lists of the short form.
const LISTS: [(&str, Stance); 5] = [
    ("deny", Stance::Deny),
    ("ask_always", Stance::AskAlways),
    ("granted", Stance::Grant),
    ("ask", Stance::Ask),
    ("allow", Stance::Allow),
];

/// What stands around the rules of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) layer: Layer,
    /// What `./` means in it; the working folder of each call where there is none.
    pub(super) folder: Option<&'a Path>,
    pub(super) home: Option<&'a Path>,
}

impl ConfigFile {
    /// Reads a file's text. Beside `[policy]` it may have these other sections, which somebody else reads.
    pub fn parse(
        file: &Path,
        text: &str,
        layer: Layer,
        home: Option<&Path>,
        sections: &[&str],
    ) -> Result<Self, BadConfig> {
        let source = Source { file, text };
        let document = Document::parse(text.to_owned()).map_err(|error| {
            let message = error.message().replace('\n', ", ");
            source.bad(error.span(), message, "put the TOML right; nothing runs on half a policy.")
        })?;
        let folder = file.parent().filter(|_| layer == Layer::Project);
        let around = Around { layer, folder, home };
        let known: Vec<&str> = std::iter::once("policy").chain(sections.iter().copied()).collect();
        Table { source, table: document.as_table(), name: "the file" }.only(&known)?;
        let rules = match document.get("policy") {
            Some(item) => policy(Table::of(source, "[policy]", item)?, around)?,
            None => Vec::new(),
        };
        Ok(Self { rules, document })
    }

    /// The rules, in the file's order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Another section, for whoever reads it.
    pub fn section(&self, name: &str) -> Option<&toml_edit::Item> {
        self.document.get(name)
    }

    /// The whole text, for whoever reads another section with its places.
    pub fn text(&self) -> &str {
        self.document.raw()
    }

    /// What is wrong with a place of the file, told as every other fault of it.
    pub fn fault(
        &self,
        file: &Path,
        span: Option<std::ops::Range<usize>>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> BadConfig {
        Source { file, text: self.document.raw() }.bad(span, message, hint)
    }
}

fn policy(table: Table<'_>, around: Around<'_>) -> Result<Vec<Rule>, BadConfig> {
    let mut known = LISTS.map(|(key, _)| key).to_vec();
    known.push("rule");
    table.only(&known)?;
    let mut rules = Vec::new();
    for (key, stance) in LISTS {
        for value in table.list(key)? {
            rules.push(short(table.source, key, stance, value, around)?);
        }
    }
    if let Some(item) = table.get("rule") {
        let tables = item.as_array_of_tables().ok_or_else(|| {
            let hint = "write each rule as a table of its own, headed [[policy.rule]].";
            table.source.bad(item.span(), "`rule` must be a list of tables", hint)
        })?;
        for rule in tables {
            rules.push(long::read(
                Table { source: table.source, table: rule, name: "[[policy.rule]]" },
                rule.span(),
                around,
            )?);
        }
    }
    Ok(rules)
}

fn short(
    source: Source<'_>,
    key: &str,
    stance: Stance,
    value: &Value,
    around: Around<'_>,
) -> Result<Rule, BadConfig> {
    let text = value.as_str().ok_or_else(|| {
        let message = format!("a rule of `{key}` must be a text, and this is no text");
        source.bad(value.span(), message, "write it as \"shell(git status *)\", or use [[policy.rule]].")
    })?;
    let rule = Rule::parse(stance, text).map_err(|bad| of_rule(source, value.span(), text, &bad))?;
    place(source, value.span(), rule, around)
}

/// The rule where it stands, with what its `./` and `~/` mean.
pub(super) fn place(
    source: Source<'_>,
    span: Option<std::ops::Range<usize>>,
    rule: Rule,
    around: Around<'_>,
) -> Result<Rule, BadConfig> {
    let line = source.line(span.clone());
    let rule = rule
        .anchored(around.folder, around.home)
        .placed(around.layer, format!("{}:{line}", source.file.display()));
    if rule.is_homeless() {
        let hint = "set HOME, or write the folder out.";
        return Err(source.bad(
            span,
            "`~/` stands in a rule, and nothing says where the home folder is",
            hint,
        ));
    }
    Ok(rule)
}

/// A bad rule, with the column of what is bad in it.
pub(super) fn of_rule(
    source: Source<'_>,
    span: Option<std::ops::Range<usize>>,
    text: &str,
    bad: &BadRule,
) -> BadConfig {
    // Where the text stands as it is between its quotes, the place inside it can be told.
    let span = span.map(|span| match source.text.get(span.clone()) {
        Some(raw) if raw.len() == text.len() + 2 => {
            let inner: usize = text.chars().take(bad.at).map(char::len_utf8).sum();
            span.start + 1 + inner..span.end
        }
        _ => span,
    });
    let hint = bad.hint.clone().unwrap_or_else(|| {
        "a rule is a tool's name, a glob, `@server/glob`, `read(./**)`, `write(…)`, `host(…)`, `shell(git status *)` or \
         `tool(argument=value)`."
            .to_owned()
    });
    source.bad(span, format!("{text:?} is no rule: {}", bad.message), hint)
}

/// Reads a file's text; `None` where there is no file.
pub(super) fn read(file: &Path) -> Result<Option<String>, BadConfig> {
    let open = match std::fs::File::open(file) {
        Ok(open) => open,
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(file, &error)),
    };
    let mut bytes = Vec::new();
    open.take(MOST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > MOST {
        let message = format!("it is larger than {} MiB", MOST >> 20);
        return Err(BadConfig::unread(file, message, "no policy is that long; look at what it holds."));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let message = format!("it is not UTF-8 text, at byte {}", error.utf8_error().valid_up_to());
        BadConfig::unread(file, message, "save it as UTF-8.")
    })
}

fn unreadable(file: &Path, error: &std::io::Error) -> BadConfig {
    let hint = "nothing runs while a policy is there that cannot be read: make it readable, or take it away.";
    BadConfig::unread(file, format!("it cannot be read: {error}"), hint)
}

/// The names of the lists, for messages and for whoever writes one.
pub(super) fn list_of(stance: Stance) -> &'static str {
    LISTS.iter().find(|(_, of)| *of == stance).map_or("allow", |(key, _)| key)
}
