//! `[ … ]` and `[[ … ]]`: a closed list of tests over words. None of them may look up a name.

use tree_sitter::Node;

use super::{
    Leaf, Why, expand,
    script::test,
    walk::Walk,
    word::{Value, Word, children},
};

impl Walk<'_> {
    pub(super) fn condition(&mut self, node: Node<'_>) {
        let source = self.slice(node);
        self.leaves.push(Leaf { words: source.split_whitespace().map(str::to_owned).collect() });
        let found = if source.starts_with("[[") { self.double(node) } else { self.single(source) };
        if let Err(why) = found {
            self.note(Err(why));
            self.look_inside(node);
        }
    }

    /// `[ … ]` is a command like any other: its words are split here, by blanks outside quotes.
    fn single(&mut self, source: &str) -> Result<(), Why> {
        let inner = source.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let inner = inner.filter(|inner| inner.starts_with([' ', '\t']) && inner.ends_with([' ', '\t']));
        let inner = inner.ok_or_else(|| Why::Syntax(format!("`{source}`")))?;
        let words = split(inner)?;
        test::judge("[", &words)?;
        for path in test::paths(&words) {
            self.reading(&path)?;
        }
        Ok(())
    }

    fn double(&mut self, node: Node<'_>) -> Result<(), Why> {
        self.gaps(node);
        for child in children(node) {
            match child.kind() {
                "[[" | "]]" | "\n" => {}
                _ if child.is_named() => self.expression(child)?,
                other => return Err(Why::Grammar(format!("`{other}` in [[ ]]"))),
            }
        }
        Ok(())
    }

    fn expression(&mut self, node: Node<'_>) -> Result<(), Why> {
        self.gaps(node);
        let source = self.slice(node);
        let odd = || Why::Grammar(format!("the test `{source}`"));
        let parts: Vec<_> = children(node).collect();
        match (node.kind(), &parts[..]) {
            ("parenthesized_expression", [_, inner, _]) => self.expression(*inner),
            ("unary_expression", [sign, inner]) if sign.kind() == "!" => self.expression(*inner),
            ("unary_expression", [operator, operand]) if operator.kind() == "test_operator" => {
                let operator = self.slice(*operator);
                let word = self.tested(*operand)?;
                if !test::UNARY.contains(&operator) {
                    return Err(odd());
                }
                match word.text() {
                    Some(path) if test::of_files(operator) => self.reading(path),
                    _ => Ok(()),
                }
            }
            ("binary_expression", [left, operator, right]) => match self.slice(*operator) {
                "&&" | "||" => self.expression(*left).and_then(|()| self.expression(*right)),
                "=" | "==" | "!=" | "<" | ">" | "-nt" | "-ot" | "-ef" => {
                    self.tested(*left)?;
                    self.pattern(*right)
                }
                "=~" => {
                    self.tested(*left)?;
                    let plain = |c: char| c.is_ascii_alphanumeric() || "^$.*+?[]{}_-/:@%, \\".contains(c);
                    let regex = self.slice(*right);
                    // A dollar sign only as the end of the pattern: `$x` would be a variable.
                    let ends = regex.find('$').is_none_or(|at| at + 1 == regex.len());
                    if regex.chars().all(plain) && ends && !regex.contains('#') { Ok(()) } else { Err(odd()) }
                }
                // Both sides are counted, and a name that is counted can run what its value holds.
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    let number =
                        |text: &str| text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                    let (left, right) = (self.tested(*left)?, self.tested(*right)?);
                    let counted =
                        |word: &Word| word.text().is_some_and(|text| !text.is_empty() && number(text));
                    let status = |word: &Word| {
                        matches!(word.source.as_str(), "$?" | "$#" | "${#}" | "\"$?\"" | "\"$#\"")
                    };
                    let known = |word: &Word| counted(word) || status(word);
                    if known(&left) && known(&right) { Ok(()) } else { Err(odd()) }
                }
                _ => Err(odd()),
            },
            (
                "word" | "string" | "raw_string" | "simple_expansion" | "expansion" | "concatenation"
                | "number",
                _,
            ) => self.tested(node).map(drop),
            _ => Err(odd()),
        }
    }

    /// A word inside `[[ ]]`, where nothing is split. Substitutions are not looked for here.
    fn tested(&mut self, node: Node<'_>) -> Result<Word, Why> {
        let source = self.slice(node);
        if source.contains("$(") || source.contains('`') || source.contains("<(") {
            return Err(Why::Grammar(format!("the substitution in `{source}`")));
        }
        self.word(node)
    }

    /// The right side of a comparison: a word, or a plain pattern.
    fn pattern(&mut self, node: Node<'_>) -> Result<(), Why> {
        let source = self.slice(node);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.*?-/".contains(&byte);
        if source.bytes().all(plain) { Ok(()) } else { self.tested(node).map(drop) }
    }
}

/// Words between blanks, each plain or wholly quoted.
fn split(source: &str) -> Result<Vec<Word>, Why> {
    let odd = |word: &str| Why::Grammar(format!("`{word}` in a test"));
    let mut words = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map(|at| at + 2).ok_or_else(|| odd(rest))?,
            _ => rest.find([' ', '\t', '\n']).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(length);
        if !(after.is_empty() || after.starts_with([' ', '\t', '\n'])) {
            return Err(odd(rest));
        }
        words.push(one(word).ok_or_else(|| odd(word))?);
        rest = after.trim_start();
    }
    Ok(words)
}

fn one(source: &str) -> Option<Word> {
    let value = if let Some(inner) = source.strip_prefix('\'') {
        Value::Static(inner.strip_suffix('\'')?.to_owned())
    } else if let Some(inner) = source.strip_prefix('"') {
        let inner = inner.strip_suffix('"')?;
        if expand::is_plain(inner) && !inner.contains(['@', '*']) {
            Value::Dynamic { start: String::new(), splits: false }
        } else {
            let mut text = String::new();
            expand::double_quoted(inner, &mut text).ok()?;
            Value::Static(text)
        }
    } else if expand::is_plain(source) {
        Value::Dynamic { start: String::new(), splits: true }
    } else if matches!(source, "\\(" | "\\)" | "\\<" | "\\>") {
        Value::Static(source[1..].to_owned())
    } else {
        let mut text = String::new();
        let glob = expand::unquoted(source, &mut text).ok()?;
        if glob || text.starts_with('~') || expand::may_expand(source) {
            return None;
        }
        Value::Static(text)
    };
    Some(Word { value, source: source.to_owned() })
}
