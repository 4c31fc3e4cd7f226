//! The table: which programs, with which options and words, are known to only read.
//!
//! One file per family, as plain data. An entry is read like this:
//!
//! ```text
//! Program { options: "-n= -q --lines= --color?", operands: Paths(ANY), ..program("head") }
//! ```
//!
//! Options are written out, one blank between them; an abbreviation is another option, and not known. After a name
//! stands what it takes: nothing, `=` a value, `=r` a file it reads, `=2` two values, `=2r` a name and a file it reads,
//! `=+` a value if a word follows, `=n` one if a number does, `?` a value only when attached. Whatever is not written here is not known.

use std::{collections::HashMap, sync::LazyLock};

use super::{Why, options::Parsed, word::Word};

mod text;
mod files;
mod search;
mod archive;
mod system;
mod builtin;
mod git;
mod version;
mod variable;
mod writer;
mod running;

pub(super) use running::{
    GIT as GIT_RUNS, OPAQUE, SHELLS, holds_a_command, is_grammar, leads_to_settings, names_a_script_file,
    reads_otherwise, takes_names, takes_scripts,
};
pub(super) use variable::{is_harmless, may_be_given};
pub(super) use writer::{Writer, writer};

/// A program, or a subcommand of one, that is known to only read with these options.
pub(super) struct Program {
    /// Its name, or several with a blank between them.
    pub(super) name: &'static str,
    pub(super) options: &'static str,
    pub(super) operands: Operands,
    pub(super) style: Style,
    /// Takes `-5` for a number.
    pub(super) digits: bool,
    pub(super) freedom: Freedom,
    /// One of these must be given, or it does more than read.
    pub(super) needs: &'static str,
    /// What options and operands must fulfil together.
    pub(super) check: Option<Check>,
    /// Judges the words as they are, in place of everything else, and says which files are read.
    pub(super) raw: Option<Raw>,
    pub(super) subcommands: &'static [Program],
    /// Without a subcommand it only shows something.
    pub(super) alone: bool,
    /// Part of the shell, and no program.
    pub(super) builtin: bool,
}

/// Looks at what the list of options cannot say.
pub(super) type Check = fn(&str, &Parsed<'_>) -> Result<(), Why>;
/// Judges bare words, and says which files are read.
pub(super) type Raw = fn(&str, &[Word]) -> Result<Vec<Word>, Why>;

/// What the words that are no options are.
pub(super) enum Operands {
    None,
    /// Text, at most so many.
    Words(usize),
    /// Files or folders that are read, at most so many.
    Paths(usize),
    /// A pattern, unless an option gave one, and then files.
    PatternThenPaths,
    /// Revisions and paths, as git takes them.
    Revisions,
    /// Whatever the check allows; the function says which files are read.
    Checked(fn(&Parsed<'_>) -> Vec<Word>),
    /// The folder the shell goes to.
    Folder,
}

/// How options are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `-x`, `-xyz`, `--long`, `--long=value`.
    Usual,
    /// `-long` or `--long`, each a word of its own, with `=value` or a word after it.
    Long,
    /// As `find`: every word with a dash is exactly one of the list.
    Find,
}

/// What words nobody knows beforehand may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Freedom {
    /// Harm: they could be an option that is not listed.
    Bound,
    /// Nothing but read: none of its options does more. Names of files may come from a pattern.
    Harmless,
    /// Nothing at all: any words do, they are printed or ignored.
    Pure,
}

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Perhaps,
    One,
    OneIfThere,
    Number,
    Path,
    Two,
    TwoPath,
}

/// Any number of operands.
pub(super) const ANY: usize = usize::MAX;

/// A program without options that takes no words.
pub(super) const fn program(name: &'static str) -> Program {
    Program {
        name,
        options: "",
        operands: Operands::None,
        style: Style::Usual,
        digits: false,
        freedom: Freedom::Bound,
        needs: "",
        check: None,
        raw: None,
        subcommands: &[],
        alone: false,
        builtin: false,
    }
}

impl Program {
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.name.split(' ')
    }

    /// True when any words at all do no more than be printed.
    pub(super) fn takes_anything(&self) -> bool {
        self.freedom == Freedom::Pure && !self.builtin
    }

    /// The option of exactly this name.
    pub(super) fn option(&self, name: &str) -> Option<(&'static str, Takes)> {
        self.options.split_ascii_whitespace().find_map(|entry| {
            let rest = entry.strip_prefix(name)?;
            let takes = match rest {
                "" => Takes::Nothing,
                "?" => Takes::Perhaps,
                "=" => Takes::One,
                "=+" => Takes::OneIfThere,
                "=n" => Takes::Number,
                "=r" => Takes::Path,
                "=2" => Takes::Two,
                "=2r" => Takes::TwoPath,
                _ => return None,
            };
            Some((&entry[..name.len()], takes))
        })
    }
}

/// Every family, in reading order.
pub(super) const FAMILIES: &[(&str, &[Program])] = &[
    ("text", text::PROGRAMS),
    ("files", files::PROGRAMS),
    ("search", search::PROGRAMS),
    ("archive", archive::PROGRAMS),
    ("system", system::PROGRAMS),
    ("builtin", builtin::PROGRAMS),
    ("git", git::PROGRAMS),
];

/// The entry of a program.
pub(super) fn find(name: &str) -> Option<&'static Program> {
    static INDEX: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
        let all = FAMILIES.iter().flat_map(|(_, programs)| programs.iter());
        all.flat_map(|program| program.names().map(move |name| (name, program))).collect()
    });
    INDEX.get(name).copied()
}

/// The program's own name: as it is, or in a folder where the system keeps its programs.
pub(super) fn system_name(name: &str) -> Option<&str> {
    match name.rsplit_once('/') {
        None => Some(name),
        Some(("/bin" | "/usr/bin", own)) => Some(own),
        Some(_) => None,
    }
}

/// True when the words only ask which version a program is.
pub(super) fn tells_version(name: &str, words: &[Word]) -> bool {
    let [word] = words else { return false };
    let Some(text) = word.text() else { return false };
    version::PROGRAMS.iter().any(|(programs, options)| {
        programs.split_ascii_whitespace().any(|program| program == name)
            && options.split_ascii_whitespace().any(|option| option == text)
    })
}
