//! Commands by their words: `git status *`, `rm -rf *`, `/usr/bin/make`.

use super::{
    Reading,
    words::{Word, split},
};
use crate::policy::pattern::glob;

/// Which simple commands are meant: a program, words, and a closing ` *` for any further words or none.
///
/// To widen, words stand for exactly the words in that place, and a program without a folder is one found by the
/// system. To tighten, options before a subcommand are passed over, options are found wherever they stand and
/// however they are bundled, and a program is known by its name in any folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    program: Word,
    words: Vec<Word>,
    open: bool,
}

/// Folders whose programs are what their names say.
const SYSTEM: [&str; 6] = ["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"];

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = split(text).ok_or("a quote is not closed")?;
        let open = words.len() > 1 && words.last().is_some_and(is_star);
        if open {
            words.pop();
        }
        if words.is_empty() {
            return Err("a command is missing; write a program and words as `git status *`".to_owned());
        }
        for word in words.iter().filter(|word| !word.literal) {
            if matches!(word.text.as_str(), "&&" | "||" | "|" | ";" | "&" | ">" | ">>" | "<") {
                let message = format!("`{}` parts commands; a rule speaks of one simple command", word.text);
                return Err(message);
            }
        }
        let program = words.remove(0);
        // `*` alone is any command.
        let open = open || (words.is_empty() && is_star(&program));
        Ok(Self { program, words, open })
    }

    pub(crate) fn matches(&self, command: &[String], reading: Reading) -> bool {
        let Some((program, words)) = command.split_first() else { return false };
        self.is_program(program, reading)
            && match reading {
                Reading::Narrow => self.exactly(words),
                Reading::Wide => self.loosely(words),
            }
    }

    /// The program's name where it is written out.
    pub(crate) fn program(&self) -> Option<&str> {
        (self.program.literal || !is_wild(&self.program)).then(|| base(&self.program.text))
    }

    /// A word every command it means has, where one is written out.
    pub(crate) fn subcommand(&self) -> Option<&str> {
        let plain = |word: &&Word| (word.literal || !is_wild(word)) && !is_option(&word.text);
        self.words.iter().find(plain).map(|word| word.text.as_str())
    }

    /// True when it is for every command, or every command of the program.
    pub(crate) fn is_bare(&self) -> bool {
        self.words.is_empty() && (self.open || self.program().is_none())
    }

    /// True when one of its words is this one, written out.
    pub(crate) fn says(&self, word: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|own| (own.literal || !is_wild(own)) && word(&own.text))
    }

    /// True when it means the program of one folder.
    pub(super) fn in_folder(&self) -> bool {
        self.program.text.contains('/')
    }

    /// The words after the program, without the closing ` *`.
    pub(super) fn words(&self) -> &[Word] {
        &self.words
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn is_program(&self, program: &str, reading: Reading) -> bool {
        let wanted = &self.program;
        if wanted.text.contains('/') {
            return word_matches(wanted, program);
        }
        match (program.rsplit_once('/'), reading) {
            (None, _) => word_matches(wanted, program),
            (Some((_, name)), Reading::Wide) => word_matches(wanted, name),
            (Some((folder, name)), Reading::Narrow) => SYSTEM.contains(&folder) && word_matches(wanted, name),
        }
    }

    fn exactly(&self, words: &[String]) -> bool {
        let enough =
            if self.open { words.len() >= self.words.len() } else { words.len() == self.words.len() };
        enough
            && self.words.iter().zip(words).all(|(wanted, word)| {
                // A glob must not be led out of its folder.
                let climbs = !wanted.literal && is_wild(wanted) && word.split('/').any(|part| part == "..");
                word_matches(wanted, word) && (!climbs || wanted.text.contains(".."))
            })
    }

    fn loosely(&self, words: &[String]) -> bool {
        let (options, plain): (Vec<_>, Vec<_>) = self.words.iter().partition(|word| is_option(&word.text));
        options.iter().all(|option| has_option(option, words))
            && self.in_order(&plain, words, !options.is_empty())
    }

    /// The plain words in their order, options between them passed over, each with or without a value.
    fn in_order(&self, wanted: &[&Word], words: &[String], options: bool) -> bool {
        // How many wanted words were found so far, each with whether the next word may be an option's value.
        let mut found = vec![(0, false)];
        for word in words {
            if self.open && found.iter().any(|(count, _)| *count == wanted.len()) {
                return true;
            }
            let mut next = Vec::with_capacity(found.len() + 1);
            for (count, value) in found {
                if wanted.get(count).is_some_and(|wanted| word_matches(wanted, word)) {
                    note(&mut next, (count + 1, false));
                }
                let over = count == wanted.len();
                if is_option(word) && (!over || options) {
                    note(&mut next, (count, !over));
                } else if value {
                    note(&mut next, (count, false));
                }
            }
            found = next;
        }
        found.iter().any(|(count, _)| *count == wanted.len())
    }
}

pub(super) fn note(states: &mut Vec<(usize, bool)>, state: (usize, bool)) {
    if !states.contains(&state) {
        states.push(state);
    }
}

fn is_star(word: &Word) -> bool {
    word.text == "*" && !word.literal
}

pub(super) fn is_wild(word: &Word) -> bool {
    !word.literal && word.text.contains(['*', '?'])
}

pub(super) fn word_matches(wanted: &Word, word: &str) -> bool {
    if wanted.literal { wanted.text == word } else { glob(&wanted.text, word) }
}

/// An option, or a tool chain as `cargo +nightly` has it.
pub(super) fn is_option(word: &str) -> bool {
    (word.starts_with('-') && word.len() > 1) || (word.starts_with('+') && word.len() > 1)
}

/// `-rf` is there when `r` and `f` are, in whatever bundles; any other option when the word or `word=…` is.
fn has_option(wanted: &Word, words: &[String]) -> bool {
    let bundle = |word: &str| word.starts_with('-') && !word.starts_with("--");
    if bundle(&wanted.text) && !is_wild(wanted) {
        let has = |c: char| words.iter().any(|word| bundle(word) && word.contains(c));
        return wanted.text.chars().skip(1).all(has);
    }
    words.iter().any(|word| {
        word_matches(wanted, word) || word.split_once('=').is_some_and(|(name, _)| word_matches(wanted, name))
    })
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
