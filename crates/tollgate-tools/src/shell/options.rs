//! The words of a program, read by its own list of options. What is not on the list is not known.

use super::{
    Why,
    table::{Freedom, Program, Style, Takes},
    word::{Value, Word},
};

/// Options and operands.
#[derive(Debug, Default)]
pub(super) struct Parsed<'w> {
    options: Vec<Given<'w>>,
    pub(super) operands: Vec<&'w Word>,
    /// The very first word is no option.
    pub(super) plain_first: bool,
}

#[derive(Debug)]
struct Given<'w> {
    name: &'static str,
    values: Vec<Text<'w>>,
    reads: bool,
}

/// A value that stands in the word of its option, or in one of its own.
#[derive(Debug, Clone)]
pub(super) enum Text<'w> {
    Attached(String),
    Word(&'w Word),
}

struct Reader<'p, 'w> {
    program: &'p Program,
    name: &'p str,
    words: &'w [Word],
    at: usize,
    parsed: Parsed<'w>,
}

impl<'w> Parsed<'w> {
    /// Reads every word.
    pub(super) fn of(program: &Program, name: &str, words: &'w [Word]) -> Result<Self, Why> {
        let mut reader = Reader { program, name, words, at: 0, parsed: Self::default() };
        reader.parsed.plain_first = words.first().is_some_and(|word| !word.shown().starts_with('-'));
        let mut ended = false;
        while let Some(word) = words.get(reader.at) {
            reader.at += 1;
            if ended {
                reader.parsed.operands.push(word);
            } else if word.text() == Some("--") && program.style != Style::Find {
                ended = true;
            } else {
                reader.word(word)?;
            }
        }
        Ok(reader.parsed)
    }

    /// Reads options up to the first other word, and says where that stands.
    pub(super) fn until_operand(
        program: &Program,
        name: &str,
        words: &'w [Word],
    ) -> Result<(Self, usize), Why> {
        let mut reader = Reader { program, name, words, at: 0, parsed: Self::default() };
        while let Some(word) = words.get(reader.at) {
            let option =
                word.text().is_some_and(|text| text.starts_with('-') && text.len() > 1 && text != "--");
            if !option {
                if word.text().is_none() {
                    return Err(word.dynamic());
                }
                break;
            }
            reader.at += 1;
            reader.word(word)?;
        }
        Ok((reader.parsed, reader.at))
    }

    /// True when the option was given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|given| given.name == option)
    }

    /// The values of an option, in order, where they are known.
    pub(super) fn values(&self, option: &str) -> impl Iterator<Item = Option<&str>> {
        let given = self.options.iter().filter(move |given| given.name == option);
        given.flat_map(|given| given.values.iter().map(Text::known))
    }

    /// Every value, with the option it belongs to.
    pub(super) fn every_value(&self) -> impl Iterator<Item = (&'static str, Option<&str>)> {
        self.options.iter().flat_map(|given| given.values.iter().map(|value| (given.name, value.known())))
    }

    /// Values that name files to read.
    pub(super) fn values_read(&self) -> impl Iterator<Item = &Word> {
        let read = self.options.iter().filter(|given| given.reads);
        read.flat_map(|given| {
            given.values.last().into_iter().filter_map(|value| match value {
                Text::Word(word) => Some(*word),
                Text::Attached(_) => None,
            })
        })
    }

    /// Attached values that name files to read.
    pub(super) fn attached_read(&self) -> impl Iterator<Item = &str> {
        let read = self.options.iter().filter(|given| given.reads);
        read.filter_map(|given| {
            given.values.last().and_then(|value| match value {
                Text::Attached(text) => Some(text.as_str()),
                Text::Word(_) => None,
            })
        })
    }
}

impl Text<'_> {
    fn known(&self) -> Option<&str> {
        match self {
            Self::Attached(text) => Some(text),
            Self::Word(word) => word.text(),
        }
    }
}

impl<'w> Reader<'_, 'w> {
    fn word(&mut self, word: &'w Word) -> Result<(), Why> {
        match &word.value {
            Value::Static(text) if text.len() > 1 && text.starts_with('-') => self.option(text, word),
            Value::Static(_) | Value::Stream => {
                self.parsed.operands.push(word);
                Ok(())
            }
            Value::Glob(text) if self.gives_a_value(text) => self.option(text, word),
            Value::Glob(text) => {
                let steady = !text.starts_with(['-', '*', '?', '[']);
                if steady || (!text.starts_with('-') && self.program.freedom == Freedom::Harmless) {
                    self.parsed.operands.push(word);
                    Ok(())
                } else {
                    Err(word.dynamic())
                }
            }
            Value::Dynamic { start, splits } => {
                if *splits || start.is_empty() || start.starts_with('-') {
                    Err(word.dynamic())
                } else {
                    self.parsed.operands.push(word);
                    Ok(())
                }
            }
        }
    }

    /// `--include=*.rs`: whatever files there are, it is this option with some value, once or more often.
    fn gives_a_value(&self, text: &str) -> bool {
        let named = text
            .split_once('=')
            .filter(|(name, _)| name.starts_with("--") && !name.contains(['*', '?', '[']));
        let takes = named.and_then(|(name, _)| self.program.option(name)).map(|(_, takes)| takes);
        takes == Some(Takes::One) && self.program.freedom == Freedom::Harmless
    }

    fn option(&mut self, text: &str, word: &Word) -> Result<(), Why> {
        let unknown = || Why::option(self.name, word.shown());
        if self.program.digits && text[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(());
        }
        if self.program.style != Style::Usual {
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) if self.program.style == Style::Long => (name, Some(value)),
                _ => (text, None),
            };
            let (name, takes) = self.program.option(name).ok_or_else(unknown)?;
            if attached.is_some() && takes == Takes::Nothing {
                return Err(unknown());
            }
            return self.take(name, takes, attached.map(str::to_owned));
        }
        if text.starts_with("--") {
            let (name, attached) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (text, None),
            };
            let (name, takes) = self.program.option(name).ok_or_else(unknown)?;
            if attached.is_some() && takes == Takes::Nothing {
                return Err(unknown());
            }
            return self.take(name, takes, attached);
        }
        for (at, letter) in text.char_indices().skip(1) {
            let mut short = [b'-', 0, 0, 0, 0];
            let length = letter.encode_utf8(&mut short[1..]).len();
            let short = str::from_utf8(&short[..=length]).unwrap_or_default();
            let (name, takes) = self.program.option(short).ok_or_else(unknown)?;
            let rest = &text[at + length..];
            if takes == Takes::Nothing {
                self.take(name, takes, None)?;
                continue;
            }
            let attached = (!rest.is_empty()).then(|| rest.to_owned());
            return self.take(name, takes, attached);
        }
        Ok(())
    }

    fn take(&mut self, name: &'static str, takes: Takes, attached: Option<String>) -> Result<(), Why> {
        let number = || self.words.get(self.at).and_then(Word::text).is_some_and(is_number);
        let count = match takes {
            Takes::Nothing | Takes::Perhaps => 0,
            Takes::Number => usize::from(number()),
            Takes::One | Takes::Path | Takes::OneIfThere => 1,
            Takes::Two | Takes::TwoPath => 2,
        };
        let mut values: Vec<_> = attached.map(Text::Attached).into_iter().collect();
        while values.len() < count {
            let Some(word) = self.words.get(self.at) else {
                if takes == Takes::OneIfThere {
                    break;
                }
                return Err(Why::operand(self.name, format!("`{name}` has no value")));
            };
            // In a value's place even what is not known is one word and no option, unless it falls apart.
            if matches!(word.value, Value::Dynamic { splits: true, .. } | Value::Glob(_)) {
                return Err(word.dynamic());
            }
            self.at += 1;
            values.push(Text::Word(word));
        }
        let reads = matches!(takes, Takes::Path | Takes::TwoPath);
        self.parsed.options.push(Given { name, values, reads });
        Ok(())
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
