//! The walk over the grammar: a closed list of node kinds. Anything else is not known.

use std::collections::HashMap;

use tollgate::tool::Part;
use tree_sitter::Node;

use super::{
    Analysis, Leaf, Why,
    word::{Value, children, trimmed},
};

/// What was found so far.
pub(super) struct Walk<'s> {
    source: &'s str,
    pub(super) leaves: Vec<Leaf>,
    pub(super) unclear: Vec<Vec<Part>>,
    pub(super) reads: Vec<String>,
    pub(super) writes: Vec<String>,
    pub(super) hosts: Vec<String>,
    why: Option<Why>,
    /// Variables whose value is known here.
    bindings: HashMap<String, Value>,
    /// How often each variable is given a value anywhere in the line.
    pub(super) given: HashMap<String, usize>,
    /// The folders the next command may run in; empty when that is not known.
    pub(super) folders: Vec<String>,
    pub(super) depth: usize,
    /// How many loops the walk stands in.
    pub(super) loops: usize,
    /// How many scripts in words the line stands in.
    pub(super) scripts: usize,
    /// Files that get text by a redirection; whether there is one of which only running it tells the name.
    pub(super) redirected: Vec<String>,
    pub(super) writes_somewhere: bool,
    /// How much may still be looked at.
    pub(super) left: usize,
}

/// Deeper nesting than anyone writes by hand.
pub(super) const DEEPEST: usize = 40;
/// More folders than a line needs to be understood.
const MOST_FOLDERS: usize = 8;

impl<'s> Walk<'s> {
    pub(super) fn new(source: &'s str, scripts: usize, left: usize) -> Self {
        Self {
            source,
            leaves: Vec::new(),
            unclear: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            hosts: Vec::new(),
            why: None,
            bindings: HashMap::new(),
            given: HashMap::new(),
            folders: vec![String::new()],
            depth: 0,
            loops: 0,
            scripts,
            redirected: Vec::new(),
            writes_somewhere: false,
            left,
        }
    }

    pub(super) fn into_analysis(mut self) -> Analysis {
        if self.leaves.is_empty() && self.why.is_none() {
            self.why = Some(Why::Empty);
        }
        if self.why.is_some() && self.leaves.is_empty() {
            self.leaves.push(Leaf::default());
        }
        for list in [&mut self.reads, &mut self.writes, &mut self.hosts] {
            unique(list);
        }
        // A lone dollar sign at the end of a line makes the grammar go on where bash does not.
        if self.runs_what_it_wrote() || self.source.contains("$\n") {
            self.anything();
        }
        unique(&mut self.leaves);
        unique(&mut self.unclear);
        let Self { leaves, unclear, reads, writes, hosts, why, .. } = self;
        Analysis { leaves, unclear, reads, writes, hosts, read_only: why.map_or(Ok(()), Err) }
    }

    pub(super) fn slice(&self, node: Node<'_>) -> &'s str {
        self.between(node.start_byte(), node.end_byte())
    }

    pub(super) fn between(&self, start: usize, end: usize) -> &'s str {
        self.source.get(start..end).unwrap_or_default()
    }

    pub(super) fn source(&self) -> &'s str {
        self.source
    }

    /// Keeps the first reason.
    pub(super) fn note(&mut self, found: Result<(), Why>) {
        if let Err(why) = found {
            self.why.get_or_insert(why);
        }
    }

    /// The whole line.
    pub(super) fn program(&mut self, root: Node<'_>) {
        if root.has_error() || root.kind() != "program" {
            self.why = Some(Why::Syntax("its grammar is not complete".to_owned()));
            self.leaves.push(Leaf::default());
        }
        self.count(root);
        let covered = self.source[..root.start_byte()].trim().is_empty()
            && self.source[root.end_byte()..].trim().is_empty();
        if !covered {
            self.note(Err(Why::Syntax("a part of it is not grammar".to_owned())));
        }
        self.sequence(root, &[";", "\n"]);
    }

    /// Statements one after the other. Of the signs between them only `signs` are known.
    pub(super) fn sequence(&mut self, node: Node<'_>, signs: &[&str]) {
        self.gaps(node);
        for child in children(node) {
            if child.is_named() {
                let before = self.folders.clone();
                self.statement(child);
                self.perhaps(before);
            } else if child.kind() == "&" {
                self.note(Err(Why::Background));
            } else if !signs.contains(&child.kind()) {
                self.note(Err(Why::Syntax(format!("`{}`", child.kind()))));
            }
        }
    }

    /// One statement of any kind.
    pub(super) fn statement(&mut self, node: Node<'_>) {
        // About as many as its text has.
        let words = (node.end_byte() - node.start_byte()) / 8;
        self.deeper(words, |walk| walk.known(node));
    }

    /// Looks at something further inside, so many words of it. Where that is too deep, or too much by now, it is anything.
    pub(super) fn deeper(&mut self, words: usize, look: impl FnOnce(&mut Self)) {
        self.depth += 1;
        let left = self.left.checked_sub(words + 1).filter(|_| self.depth <= DEEPEST);
        if let Some(left) = left {
            self.left = left;
            look(self);
        } else {
            self.note(Err(Why::Grammar("so deep a nesting".to_owned())));
            self.leaves.push(Leaf::default());
            self.anything();
        }
        self.depth -= 1;
    }

    fn known(&mut self, node: Node<'_>) {
        match node.kind() {
            "command" => self.command(node),
            "pipeline" => self.pipeline(node),
            "list" => self.list(node),
            "redirected_statement" => self.redirected(node),
            "negated_command" => self.sequence(node, &["!"]),
            "subshell" => self.apart(|walk| walk.sequence(node, &["(", ")", ";", "\n"])),
            "compound_statement" if !self.slice(node).starts_with("((") => {
                self.sequence(node, &["{", "}", ";", "\n"]);
            }
            "if_statement" => self.sequence(node, &["if", "then", "fi", ";", "\n"]),
            "elif_clause" => self.sequence(node, &["elif", "then", ";", "\n"]),
            "else_clause" => self.sequence(node, &["else", ";", "\n"]),
            "while_statement" => self.again(|walk| walk.sequence(node, &["while", "until", ";", "\n"])),
            "do_group" => self.sequence(node, &["do", "done", ";", "\n"]),
            "for_statement" => self.for_each(node),
            "case_statement" => self.case(node),
            "variable_assignment" => self.assignment(node),
            "variable_assignments" => self.sequence(node, &[]),
            "test_command" => self.condition(node),
            "comment" => self.comment(node),
            "file_redirect" | "heredoc_redirect" | "herestring_redirect" => {
                self.redirect(node);
            }
            kind => {
                let words = kind.replace('_', " ");
                self.note(Err(Why::Grammar(format!("a {words}"))));
                self.leaves.push(self.told_apart(node));
                self.look_inside(node);
                self.steered_inside(node);
            }
        }
    }

    /// A part that is not judged, for rules: as it is written where it starts nothing that does not stand in it as a
    /// command of its own.
    fn told_apart(&self, node: Node<'_>) -> Leaf {
        let known = ["declaration_command", "unset_command", "function_definition", "c_style_for_statement"];
        let counts = node.kind() == "compound_statement" && self.slice(node).starts_with("((");
        if known.contains(&node.kind()) || counts {
            Leaf { words: self.slice(node).split_whitespace().map(str::to_owned).collect() }
        } else {
            Leaf::default()
        }
    }

    /// Parts of a pipeline run at the same time, each in a shell of its own.
    fn pipeline(&mut self, node: Node<'_>) {
        self.gaps(node);
        for child in children(node) {
            match child.kind() {
                "|" | "|&" => {}
                // The grammar reads `a | b | c && d` with a list between the pipes. Nothing differs but where a change
                // of folder reaches, and so there must be none.
                "list" => self.apart(|walk| {
                    let before = walk.folders.clone();
                    walk.statement(child);
                    if walk.folders != before {
                        walk.note(Err(Why::Grammar("a change of folder after a pipeline".to_owned())));
                    }
                }),
                _ if child.is_named() => self.apart(|walk| walk.statement(child)),
                other => self.note(Err(Why::Syntax(format!("`{other}`")))),
            }
        }
    }

    /// `a && b`, `a || b`: after `&&` the folder is the one `a` went to.
    fn list(&mut self, node: Node<'_>) {
        self.gaps(node);
        let before = self.folders.clone();
        for child in children(node) {
            match child.kind() {
                "&&" => {}
                "||" => self.perhaps(before.clone()),
                _ if child.is_named() => self.statement(child),
                "&" => self.note(Err(Why::Background)),
                other => self.note(Err(Why::Syntax(format!("`{other}`")))),
            }
        }
    }

    /// A substitution: what runs inside runs in a shell of its own.
    pub(super) fn substitution(&mut self, node: Node<'_>, open: &[&str], close: &str) -> Result<(), Why> {
        let source = trimmed(self.slice(node));
        let closed = source.ends_with(close) && open.iter().any(|open| source.starts_with(open));
        if !closed {
            // What it runs is still told to whoever decides.
            self.look_inside(node);
            return Err(Why::Grammar(format!("`{source}`")));
        }
        let mut signs = vec![";", "\n", close];
        signs.extend(open);
        self.apart(|walk| walk.sequence(node, &signs));
        Ok(())
    }

    /// A comment begins where a word could.
    fn comment(&mut self, node: Node<'_>) {
        let before = self.source[..node.start_byte()].chars().next_back();
        if !before.is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '(' | ')' | '&' | '|')) {
            self.note(Err(Why::Syntax("a `#` that begins no word".to_owned())));
        }
    }

    /// In a shell of its own: folder and variables are forgotten afterwards.
    pub(super) fn apart(&mut self, inside: impl FnOnce(&mut Self)) {
        let (folders, bindings) = (self.folders.clone(), self.bindings.clone());
        inside(self);
        (self.folders, self.bindings) = (folders, bindings);
    }

    /// In a loop.
    pub(super) fn again(&mut self, inside: impl FnOnce(&mut Self)) {
        self.loops += 1;
        inside(self);
        self.loops -= 1;
    }

    /// What ran may have failed: the folder is one of those before or one of those now.
    pub(super) fn perhaps(&mut self, before: Vec<String>) {
        if self.folders == before || self.folders.is_empty() {
            return;
        }
        if before.is_empty() {
            self.folders.clear();
            return;
        }
        self.folders.extend(before);
        unique(&mut self.folders);
        if self.folders.len() > MOST_FOLDERS {
            self.folders.clear();
        }
    }

    pub(super) fn bound(&self, name: &str) -> Option<&Value> {
        self.bindings.get(name)
    }

    pub(super) fn bind(&mut self, name: &str, value: Value) {
        self.bindings.insert(name.to_owned(), value);
    }

    pub(super) fn unbind(&mut self, name: &str) {
        self.bindings.remove(name);
    }
}

fn unique<T: Clone + Eq + std::hash::Hash>(list: &mut Vec<T>) {
    if list.len() > 1 {
        let mut seen = std::collections::HashSet::new();
        list.retain(|item| seen.insert(item.clone()));
    }
}
