//! Whether a command of which some words are only known when it runs could be one that a rule means.

use super::{
    CommandPattern, Reading,
    command::{is_option, is_wild, note, word_matches},
    words::Word,
};
use crate::{policy::pattern::glob, tool::Part};

/// How many wanted words were found, and whether the next word may be an option's value.
type State = (usize, bool);

impl CommandPattern {
    /// True when the words could turn out to be what the pattern means, read widely.
    pub(crate) fn could_mean(&self, parts: &[Part]) -> bool {
        let Some((program, rest)) = parts.split_first() else { return true };
        match program {
            Part::Word(name) => self.is_program(name, Reading::Wide) && self.could_have(rest),
            Part::Files(_) | Part::Begins(_) => self.could_have(rest),
            // It may bring words of its own.
            Part::Splits(_) => self.could_have(parts),
        }
    }

    fn could_have(&self, parts: &[Part]) -> bool {
        let (options, plain): (Vec<_>, Vec<_>) = self.words().iter().partition(|word| is_option(&word.text));
        options.iter().all(|option| could_have_option(option, parts))
            && self.could_order(&plain, parts, !options.is_empty())
    }

    /// As for known words: in their order, options between them passed over, each with or without a value.
    fn could_order(&self, wanted: &[&Word], parts: &[Part], options: bool) -> bool {
        let all = wanted.len();
        let mut found: Vec<State> = vec![(0, false)];
        for part in parts {
            if self.is_open() && found.iter().any(|(count, _)| *count == all) {
                return true;
            }
            let mut next = step(&found, wanted, part, options);
            match part {
                Part::Word(_) | Part::Begins(_) => {}
                // As many names as there are files.
                Part::Files(_) => {
                    for _ in 0..=all {
                        let more = step(&next, wanted, part, options);
                        more.into_iter().for_each(|state| note(&mut next, state));
                    }
                }
                // After the first, any words at all.
                Part::Splits(start) => {
                    if start.is_empty() {
                        found.iter().for_each(|state| note(&mut next, *state));
                    }
                    if let Some(least) = next.iter().map(|(count, _)| *count).min() {
                        for count in least..=all {
                            note(&mut next, (count, false));
                            note(&mut next, (count, true));
                        }
                    }
                }
            }
            found = next;
        }
        found.iter().any(|(count, _)| *count == all)
    }
}

/// Where one word more leads to.
fn step(found: &[State], wanted: &[&Word], part: &Part, options: bool) -> Vec<State> {
    let mut next = Vec::with_capacity(found.len() + 1);
    for (count, value) in found {
        if wanted.get(*count).is_some_and(|wanted| could_be(part, wanted)) {
            note(&mut next, (count + 1, false));
        }
        let over = *count == wanted.len();
        if could_be_option(part) && (!over || options) {
            note(&mut next, (*count, !over));
        }
        let certain = matches!(part, Part::Word(word) if is_option(word));
        if *value && !certain {
            note(&mut next, (*count, false));
        }
    }
    next
}

/// `-rf` may be there when `r` and `f` may, in whatever bundles; any other option when the word or `word=…` may.
fn could_have_option(wanted: &Word, parts: &[Part]) -> bool {
    let bundle = |word: &str| word.starts_with('-') && !word.starts_with("--");
    if bundle(&wanted.text) && !is_wild(wanted) {
        let has = |c: char| {
            parts.iter().any(|part| match part {
                Part::Word(word) => bundle(word) && word.contains(c),
                part => could_be_option(part),
            })
        };
        return wanted.text.chars().skip(1).all(has);
    }
    parts.iter().any(|part| match part {
        Part::Word(word) => {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            word_matches(wanted, word) || word_matches(wanted, name)
        }
        part => could_be_option(part) && could_be(part, wanted),
    })
}

fn could_be(part: &Part, wanted: &Word) -> bool {
    match part {
        Part::Word(word) => word_matches(wanted, word),
        Part::Files(names) if is_wild(wanted) => alike(fixed(names), fixed(&wanted.text)),
        Part::Files(names) => glob(names, &wanted.text),
        Part::Begins(start) if is_wild(wanted) => alike(start, fixed(&wanted.text)),
        Part::Begins(start) => wanted.text.starts_with(start.as_str()),
        Part::Splits(_) => true,
    }
}

fn could_be_option(part: &Part) -> bool {
    match part {
        Part::Word(word) => is_option(word),
        // A file may be called `-rf`; one called `-rf.o` is an option to no program.
        Part::Files(names) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-*?".contains(c);
            names.starts_with('-') || (names.starts_with(['*', '?']) && names.chars().all(plain))
        }
        Part::Begins(start) => start.is_empty() || is_option(start) || start == "-",
        Part::Splits(_) => true,
    }
}

/// What a text with wildcards certainly begins with.
fn fixed(pattern: &str) -> &str {
    &pattern[..pattern.find(['*', '?']).unwrap_or(pattern.len())]
}

/// True when one text could begin with both.
fn alike(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}
