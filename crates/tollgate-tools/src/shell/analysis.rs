//! What is known about a command line before it runs.

use std::cell::RefCell;

use tollgate::tool::Part;

use super::{Why, text, walk::Walk};

/// Everything that is known about one command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analysis {
    /// The simple commands at any depth, in the order they stand.
    pub leaves: Vec<Leaf>,
    /// Commands of which some words are only known when they run, as far as those are known; beside the leaf that stands as
    /// it is written. One without words could be any command.
    pub unclear: Vec<Vec<Part>>,
    /// Files and folders that are read, as named, from the working folder; `~` stands for the home folder.
    pub reads: Vec<String>,
    /// Files and folders that are made, changed or removed, as far as the words tell.
    pub writes: Vec<String>,
    /// Hosts that are named.
    pub hosts: Vec<String>,
    /// `Ok` when every part is known to only read, with exactly these options.
    pub read_only: Result<(), Why>,
}

/// One simple command, harmless wrappers and variables taken off.
///
/// A part that is not understood is a leaf without words: no rule about commands speaks of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Leaf {
    /// Program and words, quotes removed. A word that is only known when it runs stands as written.
    pub words: Vec<String>,
}

/// Reads a command line as bash would, and says what is known about it.
pub fn analyse(command: &str) -> Analysis {
    let mut left = MOST_WORK;
    analyse_inside(command, 0, &mut left)
}

/// So many words are looked at for one line, those that are read in several ways counted each time.
const MOST_WORK: usize = 50_000;

/// More scripts inside scripts than anyone writes.
pub(super) const MOST_SCRIPTS: usize = 5;

/// The same for a script that stands in a word of another.
pub(super) fn analyse_inside(command: &str, scripts: usize, left: &mut usize) -> Analysis {
    if let Err(why) = text::looked_at(command) {
        return Analysis::unknown(why);
    }
    if scripts > MOST_SCRIPTS {
        return Analysis::unknown(Why::Grammar("so deep a nesting".to_owned()));
    }
    let Some(tree) = parse(command) else {
        return Analysis::unknown(Why::Syntax("the parser gave up".to_owned()));
    };
    let mut walk = Walk::new(command, scripts, *left);
    walk.program(tree.root_node());
    *left = walk.left;
    walk.into_analysis()
}

impl Analysis {
    /// True when every part is known to only read.
    pub fn is_read_only(&self) -> bool {
        self.read_only.is_ok()
    }

    /// True when this stands anywhere in the words of a command, as a program's name or in one.
    pub fn names(&self, text: &str) -> bool {
        self.leaves.iter().flat_map(|leaf| &leaf.words).any(|word| word.contains(text))
    }

    fn unknown(why: Why) -> Self {
        let nothing = Leaf::default();
        let (unclear, reads, writes, hosts) = Default::default();
        Self { leaves: vec![nothing], unclear, reads, writes, hosts, read_only: Err(why) }
    }
}

fn parse(command: &str) -> Option<tree_sitter::Tree> {
    thread_local! {
        // Making one costs more than most lines take to read.
        static PARSER: RefCell<Option<tree_sitter::Parser>> = const { RefCell::new(None) };
    }
    PARSER.with_borrow_mut(|kept| {
        if kept.is_none() {
            let mut parser = tree_sitter::Parser::new();
            parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
            *kept = Some(parser);
        }
        let parser = kept.as_mut()?;
        parser.reset();
        parser.parse(command, None)
    })
}
