//! Commands that a line may run besides those that stand in it: for rules that ask about a command or deny it.
//!
//! Nothing here says that a line only reads. What is found stands among the unclear commands, where too many cost a
//! question and one too few would cost the rule its meaning.

use tollgate::tool::Part;
use tree_sitter::Node;

use super::{
    Leaf, Why, analysis, table,
    walk::{DEEPEST, Walk},
    word::{Word, children},
    wrapper,
};

/// More ways to read the words of one wrapper than a line needs to be understood.
const MOST_WAYS: usize = 6;

impl Walk<'_> {
    /// Any command at all.
    pub(super) fn anything(&mut self) {
        self.unclear.push(Vec::new());
    }

    /// A part that is not understood, and why.
    pub(super) fn not_known(&mut self, node: Node<'_>, why: Why) {
        self.note(Err(why));
        self.look_inside(node);
    }

    /// A part that is not understood: the commands the grammar sees in it are noted, and where it does not see them all,
    /// anything is.
    pub(super) fn look_inside(&mut self, node: Node<'_>) {
        let before = self.leaves.len();
        self.commands_inside(node);
        let source = self.slice(node);
        // `${x@P}` runs what stands in the value.
        if substitutions(source) > self.leaves.len() - before || source.contains("@P}") {
            self.anything();
        }
    }

    /// Commands inside a part that is not known: rules about them still want to see them.
    pub(super) fn commands_inside(&mut self, node: Node<'_>) {
        if self.depth > DEEPEST {
            self.anything();
            return;
        }
        self.depth += 1;
        for child in children(node).filter(Node::is_named) {
            match child.kind() {
                "command" | "redirected_statement" | "pipeline" | "list" => self.statement(child),
                _ => self.commands_inside(child),
            }
        }
        self.depth -= 1;
    }

    /// A command that may be the one a wrapper starts.
    pub(super) fn perhaps_command(&mut self, words: &[Word]) {
        let Some(first) = words.first() else { return };
        if first.text().is_some_and(is_script) {
            return self.perhaps_script(first);
        }
        if self.scripts > analysis::MOST_SCRIPTS {
            return self.anything();
        }
        let mut inner = Walk::new("", self.scripts + 1, self.left);
        inner.folders.clone_from(&self.folders);
        inner.judge(words).ok();
        self.left = inner.left;
        self.tighten(inner.leaves, inner.unclear);
        self.writes.extend(inner.writes);
    }

    /// A word that may be read as a script.
    pub(super) fn perhaps_script(&mut self, word: &Word) {
        let Some(text) = word.text() else { return self.anything() };
        let text = text.trim_start_matches('!');
        if text.trim().is_empty() {
            return;
        }
        let inner = analysis::analyse_inside(text, self.scripts + 1, &mut self.left);
        self.tighten(inner.leaves, inner.unclear);
        self.writes.extend(inner.writes);
    }

    fn tighten(&mut self, leaves: Vec<Leaf>, unclear: Vec<Vec<Part>>) {
        let known = |leaf: Leaf| leaf.words.into_iter().map(Part::Word).collect();
        self.unclear.extend(leaves.into_iter().map(known));
        self.unclear.extend(unclear);
    }

    /// What a wrapper may start, whichever of its options take a value.
    pub(super) fn every_way(&mut self, own: &str, words: &[Word], taken: &[Word]) {
        let ways = wrapper::ways(own, words);
        if ways.len() > MOST_WAYS {
            return self.anything();
        }
        for at in ways {
            if words.len() - at != taken.len() {
                self.perhaps_command(&words[at..]);
            }
        }
        for text in words.iter().filter_map(Word::text).filter(|text| text.contains(' ')) {
            // `-c'…'`, and any word where a program takes scripts.
            if let Some(attached) = text.strip_prefix('-').and_then(|text| text.get(1..)) {
                self.perhaps_script(&Word::fixed(attached));
            } else if table::takes_scripts(own) {
                self.perhaps_script(&Word::fixed(text));
            }
        }
    }

    /// `NAME=value` that may make a program run the value, or take its settings from elsewhere.
    pub(super) fn steered_by(&mut self, name: &str, value: &Word) {
        if table::leads_to_settings(name) {
            self.git_by_another_name();
        }
        if table::names_a_script_file(name) {
            self.anything();
        } else if table::holds_a_command(name) || value.text().is_some_and(counts_a_command) {
            self.perhaps_script(value);
            if value.text().is_some_and(|text| substitutions(text) > 0) {
                self.anything();
            }
        }
    }

    /// The same for words that give variables a value, as those of `env` and `export`.
    pub(super) fn steered_by_words(&mut self, words: &[Word]) {
        for word in words {
            if let Some((name, value)) = word.text().and_then(|text| text.split_once('=')) {
                self.steered_by(name, &Word::fixed(value));
            }
        }
    }

    /// The same for a command that the grammar has a kind of its own for.
    pub(super) fn steered_inside(&mut self, node: Node<'_>) {
        for given in children(node).filter(|child| child.kind() == "variable_assignment") {
            match self.assigned(given) {
                Ok((name, value)) => self.steered_by(&name, &value),
                Err(_) => self.anything(),
            }
        }
    }

    /// True where the line runs a file that another part of it may have written: that could be anything.
    pub(super) fn runs_what_it_wrote(&self) -> bool {
        let writes = |at: usize, file: &str| {
            let named = |word: &String| word.split(|c: char| !is_of_a_name(c)).any(|part| part == file);
            let somewhere = self.writes_somewhere || (file == "{}" && !self.redirected.is_empty());
            // A program that is looked for is one of the system's, unless the line writes one of its name.
            let looked_for = self.leaves[at].words.first().is_some_and(|program| program == file);
            (somewhere && !looked_for)
                || self.redirected.iter().any(|path| name(path) == file)
                || self.leaves.iter().enumerate().any(|(other, leaf)| {
                    other != at && writes_text(leaf) && leaf.words.iter().skip(1).any(named)
                })
        };
        self.leaves.iter().enumerate().any(|(at, leaf)| ran(leaf).any(|file| writes(at, name(file))))
    }
}

/// Files whose lines a command runs: its own, where it has a path, and what a shell or `make` is given.
fn ran(leaf: &Leaf) -> impl Iterator<Item = &str> {
    let (program, words) =
        leaf.words.split_first().map_or(("", &[][..]), |(program, words)| (program, words));
    let own = name(program);
    let reads = wrapper::is_shell(own) || matches!(own, "source" | ".");
    let makes = matches!(own, "make" | "gmake") && words.iter().any(|word| word.starts_with("-f"));
    let given = words.iter().filter(move |word| (reads || makes) && !word.starts_with('-'));
    // By whatever path it is looked for.
    let itself = Some(program).filter(|program| !program.starts_with('/'));
    itself.into_iter().chain(given.map(String::as_str))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || "._-+".contains(c)
}

/// A program that puts text into files its words name.
fn writes_text(leaf: &Leaf) -> bool {
    let own = leaf.words.first().map_or("", |program| name(program));
    let names = "dd sort sed awk gawk mawk perl python python3 ruby node ed ex vi vim curl wget patch split csplit xxd openssl \
                 base64 gpg tar unzip uniq shuf tee sponge cp mv ln install";
    names.split(' ').any(|known| known == own)
}

/// A word that is more than a program's name.
fn is_script(text: &str) -> bool {
    text.contains([' ', '\t', '\n', ';', '|', '&', '$', '`'])
}

/// A name with a subscript that runs when it is counted: `a[$(…)]`.
pub(super) fn counts_a_command(text: &str) -> bool {
    text.split_once('[').is_some_and(|(_, rest)| substitutions(rest) > 0)
}

/// How many commands stand inside the text, as far as signs tell.
pub(super) fn substitutions(text: &str) -> usize {
    let opened = text.match_indices("$(").filter(|(at, _)| !text[*at..].starts_with("$((")).count();
    let streams = text.matches("<(").count() + text.matches(">(").count();
    let ticks = text.matches('`').count();
    // Backticks inside each other, or inside an expansion, the grammar does not part.
    opened + streams + if ticks > 2 { text.len() } else { ticks.div_ceil(2) }
}
