//! What the words of a command that is not known may touch: for rules about paths and hosts.

use super::{
    table,
    walk::Walk,
    word::{Value, Word},
};

impl Walk<'_> {
    /// What the words of a command that is not known may touch, for rules about paths and hosts.
    pub(super) fn guess(&mut self, name: &str, words: &[Word]) {
        let texts: Vec<&str> = words.iter().filter_map(Word::text).collect();
        let begun: Vec<&str> = words.iter().filter_map(known).collect();
        for text in &begun {
            self.naming_hosts(text);
        }
        let plain = texts.iter().filter(|text| !text.starts_with('-') && !text.contains("://"));
        let name = name.rsplit('/').next().unwrap_or(name);
        match table::writer(name) {
            Some(table::Writer::Every) => plain.for_each(|text| self.writing(text)),
            Some(table::Writer::Last) => {
                let paths: Vec<_> = plain.collect();
                if let Some((last, rest)) = paths.split_last() {
                    self.writing(last);
                    rest.iter().for_each(|path| drop(self.reading(path)));
                }
            }
            Some(table::Writer::Moves) => plain.for_each(|text| self.writing(text)),
            Some(table::Writer::ModeFirst) => plain.skip(1).for_each(|text| self.writing(text)),
            Some(table::Writer::Host) => hosts(&begun).for_each(|host| self.host_of(host)),
            Some(table::Writer::Addresses) => {
                let plain = begun.iter().filter(|text| !text.starts_with('-') && !text.contains("://"));
                let hosts = plain.map(|text| text.split(['/', '?', '#']).next().unwrap_or_default());
                let named = |host: &&str| host.contains(['.', ':']) || *host == "localhost";
                hosts.filter(named).for_each(|host| self.host_of(host));
            }
            None => {
                // Inside the working folder alone: what a program takes as a name elsewhere nobody knows.
                let inside =
                    |text: &&&str| !text.starts_with(['/', '~']) && !text.split('/').any(|part| part == "..");
                let plain_path = |c: char| c.is_alphanumeric() || "._-/+".contains(c);
                let looks = |text: &&&str| text.contains(['.', '/']) && text.chars().all(plain_path);
                plain.filter(inside).filter(looks).for_each(|text| drop(self.reading(text)));
            }
        }
    }
}

/// The words one of which is the host: the first that is no option, and before it what may be an option's value.
fn hosts<'a>(texts: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let is_option = |text: &str| text.starts_with('-');
    let first = (0..texts.len()).find(|at| {
        let after_option = *at > 0 && is_option(texts[at - 1]);
        !is_option(texts[*at]) && !after_option
    });
    let until = first.map_or(texts.len(), |at| at + 1);
    texts[..until].iter().copied().filter(move |text| !is_option(text) && !text.contains("://"))
}

/// What is known of a word before it is looked up or runs: all of it, or an address up to where its host ends.
fn known(word: &Word) -> Option<&str> {
    match &word.value {
        Value::Static(text) | Value::Glob(text) => Some(text),
        Value::Dynamic { start, .. } => {
            let (_, rest) = start.split_once("://")?;
            rest.contains(['/', '?', '#']).then_some(start)
        }
        Value::Stream => None,
    }
}
