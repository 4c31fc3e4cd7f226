//! One understanding of a command line, used by effects, policy and the approval screen.
//!
//! [`analyse`] reads a line as bash would and says which programs it starts, what it reads and writes, which hosts
//! it names, and whether every part of it is *known* to only read, with exactly these options. Nothing is run, and
//! nothing is guessed: a node of the grammar, a program, an option or a word that is not on a list makes the line
//! "not known", and says so in words.
//!
//! The knowledge is data: `table/` has the programs and their options by family, `script/` reads the small languages
//! that some of them take (sed, awk, find, tar, test), and `walk.rs` is the closed list of what the grammar may hold.

mod analysis;
mod why;
mod text;
mod word;
mod expand;
mod walk;
mod gaps;
mod command;
mod control;
mod redirect;
mod condition;
mod judge;
mod guess;
mod later;
mod perhaps;
mod found;
mod wrapper;
mod options;
mod reach;
mod table;
mod script;
mod git;
#[cfg(test)]
mod mutation_tests;
#[cfg(test)]
mod table_tests;

pub use analysis::{Analysis, Leaf, analyse};
pub use git::neutral_environment;
pub use why::Why;
