//! A simple command: variables before it, its words, its redirections.

use tree_sitter::Node;

use super::{
    Leaf, Why,
    redirect::words_behind,
    table,
    walk::Walk,
    word::{Value, Word, children},
};

impl Walk<'_> {
    pub(super) fn command(&mut self, node: Node<'_>) {
        self.command_with(node, &[]);
    }

    /// The same with words that the grammar put elsewhere.
    pub(super) fn command_with(&mut self, node: Node<'_>, behind: &[Node<'_>]) {
        self.gaps(node);
        let (mut words, mut variables, mut understood) = (Vec::new(), Vec::new(), true);
        let own: Vec<Node<'_>> = children(node).collect();
        let inside: Vec<Node<'_>> = own.iter().copied().flat_map(words_behind).collect();
        for child in own.iter().chain(&inside).chain(behind).copied() {
            let found = match child.kind() {
                "variable_assignment" => {
                    let splits = self.slice(child).starts_with("IFS=") && reads(self, node);
                    if !splits {
                        variables.push(self.slice(child).to_owned());
                    }
                    self.variable(child, splits)
                }
                "command_name" => match children(child).next() {
                    Some(name) => self.name(name).map(|name| words.push(name)),
                    None => Err(Why::Syntax("a command without a name".to_owned())),
                },
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                    self.redirect(child);
                    Ok(())
                }
                _ if child.is_named() => self.words(child).map(|more| words.extend(more)),
                other => Err(Why::Syntax(format!("`{other}` among the words"))),
            };
            if let Err(why) = found {
                if child.is_named() && !matches!(child.kind(), "variable_assignment") {
                    // It stands as written; what it runs inside was looked at or is looked at now.
                    words.push(unknown(self.slice(child)));
                    match why {
                        Why::Dynamic(_) => {}
                        // Where the grammar and bash may part the line in different places, it could be anything.
                        Why::Syntax(_) => self.anything(),
                        _ => self.look_inside(child),
                    }
                }
                understood = false;
                self.note(Err(why));
            }
        }
        if words.is_empty() {
            self.note(Err(Why::Syntax("a command without words".to_owned())));
            self.leaves.push(Leaf::default());
            return;
        }
        let steering: Vec<_> =
            variables.into_iter().filter(|text| table::is_harmless(text).is_err()).collect();
        if !steering.is_empty() {
            // A rule that allows the command alone does not allow it with these.
            let shown = words.iter().map(|word| word.shown().to_owned());
            self.steered_inside(node);
            // Git takes settings from variables too, and a setting can give a command another name.
            let leads =
                |text: &String| text.split_once('=').is_some_and(|(name, _)| table::leads_to_settings(name));
            if steering.iter().any(leads) {
                self.git_by_another_name();
            }
            self.leaves.push(Leaf { words: steering.into_iter().chain(shown).collect() });
        }
        let judged = self.judge(&words);
        if understood {
            self.note(judged);
        }
    }

    /// The first word: a program's name, written out.
    fn name(&mut self, node: Node<'_>) -> Result<Word, Why> {
        let words = self.words(node)?;
        match &words[..] {
            [word] if word.text().is_some() => Ok(word.clone()),
            [word] if !self.given.contains_key("HOME") && word.at_home().is_some() => {
                self.note(Err(word.dynamic()));
                Ok(Word::fixed(word.at_home().unwrap_or_default()))
            }
            _ => Err(Why::Dynamic(self.slice(node).to_owned())),
        }
    }

    /// `NAME=value` before a command: only names and values that change nothing but how text looks, and before `read`
    /// what parts its words.
    fn variable(&mut self, node: Node<'_>, splits: bool) -> Result<(), Why> {
        let (name, word) = self.assigned(node)?;
        let Some(value) = word.text() else { return Err(Why::Variable(name)) };
        if splits {
            return Ok(());
        }
        table::is_harmless(&format!("{name}={value}"))
    }
}

/// True for the builtin `read`.
fn reads(walk: &Walk<'_>, command: Node<'_>) -> bool {
    command.child_by_field_name("name").is_some_and(|name| walk.slice(name) == "read")
}

fn unknown(source: &str) -> Word {
    Word { value: Value::Dynamic { start: String::new(), splits: true }, source: source.to_owned() }
}
