//! Commands that are only known when they run: for rules that ask about a command or deny it.

use tollgate::tool::Part;

use super::{
    walk::Walk,
    word::{Value, Word},
    wrapper::{self, Unwrapped},
};

impl Walk<'_> {
    /// Notes where a program gets commands from elsewhere, or git a name for one of its own.
    pub(super) fn only_known_later(&mut self, name: &str, words: &[Word]) {
        let own = name.rsplit('/').next().unwrap_or(name);
        if is_fed(own, words) {
            self.unclear.push(Vec::new());
        }
        if own == "git" && renames(words) {
            self.unclear.push(vec![Part::Word(own.to_owned()), Part::Splits(String::new())]);
        }
    }

    /// Notes what a program makes of the command in its words: it passes over words nobody knows, fills some in, or reads
    /// one word as a script.
    pub(super) fn filled(&mut self, words: &[Word], found: &Unwrapped<'_>) {
        let (Unwrapped::Opaque { inner, .. } | Unwrapped::Transparent { inner, .. }) = found else { return };
        let own = words[0].shown().rsplit('/').next().unwrap_or_default().to_owned();
        let fills = matches!(own.as_str(), "find" | "fd" | "fdfind" | "xargs");
        if let Unwrapped::Opaque { .. } = found {
            let passed = &words[1..words.len() - inner.len()];
            let unknown = !fills && passed.iter().any(|word| word.text().is_none());
            let script = inner.first().and_then(Word::text).is_some_and(|word| {
                word.contains([' ', '\t', '\n', ';', '|', '&']) || (word.starts_with('-') && word.len() > 1)
            });
            if unknown || script || own == "parallel" {
                self.unclear.push(Vec::new());
            }
        }
        let Some(first) = inner.first().filter(|_| fills) else { return };
        // What it fills in, another program may take for a script.
        if first.text().is_some_and(|name| wrapper::unwrap(name, &inner[1..]).is_some()) {
            self.unclear.push(Vec::new());
            return;
        }
        let filled = |word: &Word| match word.text().and_then(|text| text.split_once("{}")) {
            Some((before, _)) => Part::Begins(before.to_owned()),
            None => word.part(),
        };
        let mut parts: Vec<Part> = inner.iter().map(filled).collect();
        if own == "xargs" {
            parts.push(Part::Splits(String::new()));
        }
        if parts.iter().any(|part| !matches!(part, Part::Word(_))) {
            self.unclear.push(parts);
        }
    }
}

impl Word {
    /// What is known of it, for rules.
    pub(super) fn part(&self) -> Part {
        match &self.value {
            Value::Static(text) => Part::Word(text.clone()),
            Value::Glob(text) => Part::Files(without_classes(text)),
            Value::Stream => Part::Begins("/dev/fd/".to_owned()),
            Value::Dynamic { start, splits: false } => Part::Begins(start.clone()),
            Value::Dynamic { start, splits: true } => Part::Splits(start.clone()),
        }
    }
}

/// `[…]` as `*`: what it could be, and more.
fn without_classes(names: &str) -> String {
    let mut plain = String::new();
    let mut rest = names;
    while let Some(open) = rest.find('[') {
        plain.push_str(&rest[..open]);
        plain.push('*');
        rest = rest[open..].rfind(']').map_or("", |close| &rest[open + close + 1..]);
    }
    plain + rest
}

/// A program that runs what it reads, or what a word says that nobody knows yet.
fn is_fed(own: &str, words: &[Word]) -> bool {
    let unknown = |word: &Word| word.text().is_none();
    match own {
        "eval" => words.iter().any(unknown),
        "trap" => words.first().is_some_and(unknown),
        "alias" => words.iter().any(|word| word.text().is_none_or(|text| text.contains('='))),
        "source" | "." => words.first().is_some_and(|word| word.text().is_none_or(is_input)),
        _ if wrapper::is_shell(own) => is_fed_shell(own, words),
        _ => false,
    }
}

/// A shell that reads its commands from its input, or from a word nobody knows yet.
fn is_fed_shell(own: &str, words: &[Word]) -> bool {
    if let [only] = words
        && matches!(only.text(), Some("--version" | "--help"))
    {
        return false;
    }
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.text() else { return true };
        if wrapper::is_script_flag(text) {
            return words.get(at + 1).is_none_or(|script| script.text().is_none());
        }
        if text == "-" || !text.starts_with(['-', '+']) {
            return own == "su" || is_input(text);
        }
        if text == "-s" {
            return true;
        }
        let valued = matches!(text, "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file");
        at += if valued { 2 } else { 1 };
    }
    true
}

fn is_input(path: &str) -> bool {
    path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")
}

/// `git -c alias.x=push x`.
fn renames(words: &[Word]) -> bool {
    words.iter().filter_map(Word::text).any(|text| {
        let text = text.to_ascii_lowercase();
        let setting = text.strip_prefix("-c").unwrap_or(&text);
        setting.starts_with("alias.") || text.starts_with("--config-env")
    })
}
