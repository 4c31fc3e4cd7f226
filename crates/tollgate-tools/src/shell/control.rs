//! Loops, cases and assignments: known when their words are, and when their variables steer nothing else.

use tree_sitter::Node;

use super::{
    Why, expand, table,
    walk::{DEEPEST, Walk},
    word::{Value, Word, children},
};

/// A loop over more words than this is walked once, with none of them known.
const MOST_TURNS: usize = 16;

impl Walk<'_> {
    /// `for name in words; do …; done`: the body is looked at with each word in turn.
    pub(super) fn for_each(&mut self, node: Node<'_>) {
        self.gaps(node);
        let (mut name, mut body, mut words, mut listed) = (None, None, Vec::new(), false);
        for child in children(node) {
            match child.kind() {
                "for" | ";" | "\n" => {}
                "in" => listed = true,
                "variable_name" => name = Some(self.slice(child)),
                "do_group" => body = Some(child),
                "comment" => self.statement(child),
                _ if child.is_named() => match self.words(child) {
                    Ok(more) => words.extend(more),
                    Err(why) => self.not_known(child, why),
                },
                other => self.note(Err(Why::Grammar(format!("`{other}`")))),
            }
        }
        let (Some(name), Some(body)) = (name, body) else {
            self.note(Err(Why::Syntax("a loop without a body".to_owned())));
            return;
        };
        if !listed {
            self.note(Err(Why::Dynamic(format!("for {name}"))));
        }
        self.note(table::may_be_given(name));
        // Inside the body it has these values, unless the body itself gives it another.
        let values = if self.gives(body, name) { vec![unknown()] } else { turns(&words) };
        for value in values {
            self.bind(name, value);
            self.again(|walk| walk.statement(body));
        }
        self.unbind(name);
    }

    /// `case word in pattern) …;; esac`: all arms are looked at.
    pub(super) fn case(&mut self, node: Node<'_>) {
        self.gaps(node);
        for child in children(node) {
            match child.kind() {
                "case" | "in" | "esac" | ";" | "\n" => {}
                "case_item" => self.arm(child),
                "comment" => self.statement(child),
                _ if child.is_named() => {
                    if let Err(why) = self.word(child) {
                        self.not_known(child, why);
                    }
                }
                other => self.note(Err(Why::Syntax(format!("`{other}`")))),
            }
        }
    }

    fn arm(&mut self, node: Node<'_>) {
        self.gaps(node);
        let (folders, mut pattern) = (self.folders.clone(), true);
        for child in children(node) {
            match child.kind() {
                "(" | "|" if pattern => {}
                ")" if pattern => pattern = false,
                ";;" | ";" | "\n" if !pattern => {}
                _ if pattern => {
                    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.*?-/\"'[]".contains(&byte);
                    if !self.slice(child).bytes().all(plain) {
                        let why = Why::Grammar(format!("the pattern `{}`", self.slice(child)));
                        self.not_known(child, why);
                    }
                }
                _ if child.is_named() => self.statement(child),
                other => self.note(Err(Why::Syntax(format!("`{other}`")))),
            }
        }
        self.perhaps(folders);
    }

    /// `name=value` on its own.
    pub(super) fn assignment(&mut self, node: Node<'_>) {
        match self.assigned(node) {
            Err(why) => self.not_known(node, why),
            Ok((name, word)) => {
                self.note(table::may_be_given(&name));
                self.steered_by(&name, &word);
                // Outside loops and branches what comes after has this value, unless another gives it one too.
                let once = self.given.get(&name) == Some(&1) && self.at_the_top(node);
                self.bind(&name, if once { word.value } else { unknown() });
                // It runs nothing, and still is a part that somebody may want to see.
                if self.leaves.is_empty() {
                    self.leaves.push(super::Leaf { words: vec![self.slice(node).to_owned()] });
                }
            }
        }
    }

    /// Name and value of an assignment.
    pub(super) fn assigned(&mut self, node: Node<'_>) -> Result<(String, Word), Why> {
        let source = self.slice(node);
        let odd = || Why::Grammar(format!("the assignment `{source}`"));
        let mut parts = children(node);
        let name = parts.next().filter(|name| name.kind() == "variable_name").ok_or_else(odd)?;
        let sign = parts.next().filter(|sign| sign.kind() == "=").ok_or_else(odd)?;
        let name_text = self.slice(name).to_owned();
        if !expand::is_name(&name_text) || sign.end_byte() - sign.start_byte() != 1 {
            return Err(odd());
        }
        let value = parts.next();
        if parts.next().is_some() || value.is_some_and(|value| value.start_byte() != sign.end_byte()) {
            return Err(odd());
        }
        match value {
            None => Ok((name_text, Word::fixed(""))),
            Some(value) if value.kind() == "array" => Err(odd()),
            Some(value) => {
                let mut word = self.word(value)?;
                // Values are neither split nor matched against file names when they are given.
                word.value = match word.value {
                    Value::Glob(text) | Value::Static(text) => Value::Static(text),
                    Value::Dynamic { start, .. } => Value::Dynamic { start, splits: false },
                    Value::Stream => return Err(odd()),
                };
                Ok((name_text, word))
            }
        }
    }

    /// True when something inside the node may give the variable a value.
    pub(super) fn gives(&self, node: Node<'_>, name: &str) -> bool {
        let here = match node.kind() {
            "variable_assignment" => node.child_by_field_name("name"),
            "for_statement" => node.child_by_field_name("variable"),
            // `read` and its like name it among their words.
            "word" => Some(node),
            _ => None,
        };
        here.is_some_and(|here| self.slice(here) == name)
            || children(node).filter(Node::is_named).any(|child| self.gives(child, name))
    }

    /// Counts what gives variables a value.
    pub(super) fn count(&mut self, node: Node<'_>) {
        if self.depth > DEEPEST * 4 {
            return;
        }
        self.depth += 1;
        let name = match node.kind() {
            "variable_assignment" => node.child_by_field_name("name"),
            "for_statement" => node.child_by_field_name("variable"),
            // A program of its own, it shows variables and gives them nothing.
            "command" if self.is_named(node, "printenv") => None,
            "command" => {
                // `read` and its like give values to names among their words.
                for word in children(node).filter(|child| child.kind() == "word") {
                    *self.given.entry(self.slice(word).to_owned()).or_default() += 1;
                }
                None
            }
            _ => None,
        };
        if let Some(name) = name {
            *self.given.entry(self.slice(name).to_owned()).or_default() += 1;
        }
        children(node).filter(Node::is_named).for_each(|child| self.count(child));
        self.depth -= 1;
    }

    fn is_named(&self, command: Node<'_>, name: &str) -> bool {
        command.child_by_field_name("name").is_some_and(|word| self.slice(word) == name)
    }

    /// True when nothing but lines stands around the node.
    fn at_the_top(&self, node: Node<'_>) -> bool {
        self.loops == 0 && node.parent().is_some_and(|parent| parent.kind() == "program")
    }
}

fn unknown() -> Value {
    Value::Dynamic { start: String::new(), splits: false }
}

/// The values a loop's variable takes: each where they are few, one for all where they are many numbers.
fn turns(words: &[Word]) -> Vec<Value> {
    let splits = |word: &Word| matches!(word.value, Value::Dynamic { splits: true, .. });
    let is_number = |word: &Word| {
        word.text().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if words.is_empty() || words.iter().any(splits) {
        vec![unknown()]
    } else if words.len() <= MOST_TURNS {
        words.iter().map(|word| word.value.clone()).collect()
    } else if words.iter().all(is_number) {
        // Of many numbers the first stands for all: what only reads does so with any of them.
        vec![words[0].value.clone()]
    } else {
        vec![unknown()]
    }
}
