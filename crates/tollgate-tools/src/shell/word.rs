//! One word of a command: what it is when it runs, as far as that can be said beforehand.

use tree_sitter::Node;

use super::{Why, expand, walk::Walk};

/// A word with quotes and escapes taken off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) value: Value,
    pub(super) source: String,
}

/// What is known of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// Exactly this.
    Static(String),
    /// Names of files that match; none of its other characters can change.
    Glob(String),
    /// The end of a stream that something else writes, as `<(…)`: one word that is no option.
    Stream,
    /// Only known when it runs. `start` is what it certainly begins with.
    Dynamic { start: String, splits: bool },
}

/// Pieces of a word, put together from left to right.
struct Pieces {
    text: String,
    glob: bool,
    /// Where the first unknown piece stands, and whether one of them could be several words.
    unknown: Option<(usize, bool)>,
    stream: bool,
    /// It begins with the home folder by its name.
    home: bool,
}

impl Word {
    pub(super) fn fixed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { value: Value::Static(text.clone()), source: text }
    }

    /// The text where it is known.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Static(text) => Some(text),
            _ => None,
        }
    }

    /// The text where it is known, the source where it is not.
    pub(super) fn shown(&self) -> &str {
        self.text().unwrap_or(&self.source)
    }

    /// A file below the home folder, named without quotes: for rules about it. That it only reads is not said.
    pub(super) fn at_home(&self) -> Option<String> {
        let rest = self.source.strip_prefix("$HOME/").or_else(|| self.source.strip_prefix("${HOME}/"))?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/".contains(c);
        rest.chars().all(plain).then(|| format!("~/{rest}"))
    }

    pub(super) fn dynamic(&self) -> Why {
        Why::Dynamic(self.source.clone())
    }
}

impl Walk<'_> {
    /// The words one node stands for: several after brace expansion.
    pub(super) fn words(&mut self, node: Node<'_>) -> Result<Vec<Word>, Why> {
        let source = self.slice(node);
        if matches!(node.kind(), "word" | "concatenation" | "brace_expression" | "number")
            && expand::may_expand(source)
        {
            let texts = expand::braces(source)
                .ok_or_else(|| Why::Grammar(format!("the brace expansion `{source}`")))?;
            return texts.into_iter().map(|text| expand::plain(&text, source)).collect();
        }
        self.word(node).map(|word| vec![word])
    }

    /// One word.
    pub(super) fn word(&mut self, node: Node<'_>) -> Result<Word, Why> {
        let source = self.slice(node).to_owned();
        if source.starts_with('=') && source.len() > 1 {
            return Err(Why::Grammar(format!("`{source}`, which some shells expand")));
        }
        // A brace on its own is half of a group that the grammar took for a word.
        if matches!(source.as_str(), "{" | "}") {
            return Err(Why::Syntax(format!("`{source}` on its own")));
        }
        let mut pieces =
            Pieces { text: String::new(), glob: false, unknown: None, stream: false, home: false };
        self.piece(node, &mut pieces)?;
        if (source.starts_with('~') || pieces.home) && !(pieces.text == "~" || pieces.text.starts_with("~/"))
        {
            return Err(Why::Grammar(format!("the home folder in `{source}`")));
        }
        let value = match pieces.unknown {
            Some((at, splits)) => {
                pieces.text.truncate(at);
                Value::Dynamic { start: pieces.text, splits }
            }
            None if pieces.stream => Value::Stream,
            None if pieces.glob => Value::Glob(pieces.text),
            None => Value::Static(pieces.text),
        };
        Ok(Word { value, source })
    }

    fn piece(&mut self, node: Node<'_>, pieces: &mut Pieces) -> Result<(), Why> {
        let source = self.slice(node);
        // Outside quotes a blank ends the word, whatever the grammar made of it.
        if source.len() != trimmed(source).len() {
            return Err(Why::Syntax(format!("`{source}` falls apart")));
        }
        match node.kind() {
            "word" | "number" | "variable_name" | "special_variable_name" => {
                pieces.glob |= expand::unquoted(source, &mut pieces.text)?;
            }
            "raw_string" => {
                let inner = source.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.filter(|inner| !inner.contains('\''));
                pieces.text.push_str(inner.ok_or_else(|| Why::Syntax(format!("the quote in `{source}`")))?);
            }
            "ansi_c_string" => pieces.text.push_str(&expand::ansi_c(source)?),
            "string" => self.quoted(node, pieces)?,
            "concatenation" => {
                let mut end = node.start_byte();
                for child in children(node) {
                    if child.start_byte() != end {
                        return Err(Why::Syntax(format!("`{source}` falls apart")));
                    }
                    if child.kind() == "process_substitution" || !child.is_named() {
                        return Err(Why::Grammar(format!("`{source}`")));
                    }
                    end = child.end_byte();
                    self.piece(child, pieces)?;
                }
                if end != node.end_byte() {
                    return Err(Why::Syntax(format!("`{source}` falls apart")));
                }
            }
            "process_substitution" => {
                self.substitution(node, &["<("], ")")?;
                pieces.stream = true;
            }
            _ => self.expansion(node, Quoted::No, pieces)?,
        }
        Ok(())
    }

    /// A double-quoted string: what its children do not cover is text.
    fn quoted(&mut self, node: Node<'_>, pieces: &mut Pieces) -> Result<(), Why> {
        let source = self.slice(node);
        let whole = source.len() >= 2 && source.starts_with('"') && source.ends_with('"');
        if !whole {
            return Err(Why::Grammar(format!("the string {source}")));
        }
        let (mut at, last) = (node.start_byte() + 1, node.end_byte() - 1);
        for child in children(node).filter(|child| child.is_named() && child.kind() != "string_content") {
            // The grammar takes blanks before an expansion for a part of it; they are text.
            let blanks = self.slice(child).len() - trimmed(self.slice(child)).len();
            expand::double_quoted(self.between(at, child.start_byte() + blanks), &mut pieces.text)?;
            self.expansion(child, Quoted::Yes, pieces)?;
            at = child.end_byte();
        }
        expand::double_quoted(self.between(at, last), &mut pieces.text)
    }

    fn expansion(&mut self, node: Node<'_>, quoted: Quoted, pieces: &mut Pieces) -> Result<(), Why> {
        let source = match quoted {
            Quoted::Yes => trimmed(self.slice(node)),
            Quoted::No => self.slice(node),
        };
        let splits = matches!(quoted, Quoted::No);
        match node.kind() {
            "simple_expansion" | "expansion" => {
                if let Some(bound) = expand::variable(source).and_then(|name| self.bound(name)) {
                    let bound = bound.clone();
                    // Where the line says what parts words, any value may be several.
                    if splits && self.given.contains_key("IFS") {
                        pieces.unknown(true);
                    } else {
                        pieces.bound(&bound, splits);
                    }
                    return Ok(());
                }
                // As `~`, unless the line says otherwise. Without quotes, blanks in it would part it.
                let home = matches!(source, "$HOME" | "${HOME}") && !self.given.contains_key("HOME");
                if home && !splits && pieces.text.is_empty() && pieces.unknown.is_none() {
                    pieces.text.push('~');
                    pieces.home = true;
                    return Ok(());
                }
                if !expand::is_plain(source) {
                    return Err(Why::Grammar(format!("the expansion `{source}`")));
                }
                // "$@" is as many words as there are, quoted or not.
                pieces.unknown(splits || source.contains(['@', '*']));
            }
            "command_substitution" => {
                if source.starts_with('`') {
                    if source.contains('\\') {
                        return Err(Why::Grammar("an escape between backticks".to_owned()));
                    }
                    self.substitution(node, &["`"], "`")?;
                } else {
                    self.substitution(node, &["$("], ")")?;
                }
                pieces.unknown(splits);
            }
            "arithmetic_expansion" => {
                if !expand::is_sum(source) {
                    return Err(Why::Grammar(format!("the arithmetic `{source}`")));
                }
                pieces.number();
            }
            kind => return Err(Why::Grammar(format!("`{source}` ({kind})"))),
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Quoted {
    Yes,
    No,
}

impl Pieces {
    fn unknown(&mut self, splits: bool) {
        let (at, split) = self.unknown.unwrap_or((self.text.len(), false));
        self.unknown = Some((at, split | splits));
    }

    /// A whole number, which cannot be several words.
    fn number(&mut self) {
        self.unknown(false);
    }

    /// A variable whose value is known.
    fn bound(&mut self, value: &Value, unquoted: bool) {
        match value {
            // Without quotes an empty value is no word at all, and blanks make several.
            Value::Static(text) if !(unquoted && (text.is_empty() || text.contains(SPLITS))) => {
                self.text.push_str(text);
            }
            Value::Glob(text) if !unquoted => {
                self.text.push_str(text);
                self.glob = true;
            }
            Value::Dynamic { splits: false, .. } if !unquoted => self.unknown(false),
            _ => self.unknown(unquoted),
        }
    }
}

/// Without the blanks it begins with.
pub(super) fn trimmed(source: &str) -> &str {
    source.trim_start_matches([' ', '\t', '\n'])
}

const SPLITS: [char; 6] = [' ', '\t', '\n', '*', '?', '['];

/// All children of a node, without a cursor's life to care for.
pub(super) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        if !more {
            return None;
        }
        let child = cursor.node();
        more = cursor.goto_next_sibling();
        Some(child)
    })
}
