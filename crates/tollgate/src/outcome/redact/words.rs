//! Secrets that are known by the words before them: `login me password …` in a `.netrc`, `curl -u me:…`, `mysql -p…`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::{Span, name::is_password};

/// Without one of these there is nothing to look for.
static TELLING: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::new(["curl", "wget", "mysql", "mariadb", "sshpass", "redis-cli", "password "]).ok()
});

/// No command has more; a line without an end may.
const MOST_WORDS: usize = 4_096;

pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    // Every one of them comes with an option or with `password`: most texts have neither, and are done.
    if !has_option(text.as_bytes()) && !has_password(text.as_bytes()) {
        return;
    }
    // One that cannot be made must not hide anything.
    if TELLING.as_ref().is_some_and(|telling| !telling.is_match(text)) {
        return;
    }
    let mut next = 0;
    for line in text.split_inclusive('\n') {
        let at = next;
        next += line.len();
        let words: Vec<Word<'_>> = words(line, at).take(MOST_WORDS).collect();
        let found = in_netrc(&words).or_else(|| in_command(&words));
        spans.extend(found.filter(|(value, _)| is_password(value.text)).map(|(value, kind)| Span {
            from: value.at,
            to: value.at + value.text.len(),
            kind: kind.into(),
        }));
    }
}

fn has_option(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'-', bytes).any(|at| at > 0 && bytes[at - 1].is_ascii_whitespace())
}

fn has_password(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'w', bytes).any(|at| bytes[..=at].ends_with(b"passw"))
}

/// A word and where it stands.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    at: usize,
}

impl Word<'_> {
    /// What follows this beginning, without the quotes around it.
    fn after(self, beginning: &str) -> Option<Self> {
        let rest = self.text.strip_prefix(beginning)?;
        let text = rest.trim_matches(['"', '\'']);
        let quote = rest.len() - rest.trim_start_matches(['"', '\'']).len();
        Some(Self { text, at: self.at + beginning.len() + quote })
    }

    /// The password of `name:password`.
    fn password(self) -> Option<Self> {
        let (name, text) = self.text.split_once(':')?;
        Some(Self { text, at: self.at + name.len() + 1 })
    }
}

/// The words of a line that begins at this place.
fn words(line: &str, at: usize) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + line[from..].find(|c: char| !c.is_ascii_whitespace())?;
        let length = line[start..].find(|c: char| c.is_ascii_whitespace());
        from = length.map_or(line.len(), |length| start + length);
        Some(Word { text: &line[start..from], at: at + start })
    })
}

type Found<'a> = Option<(Word<'a>, &'static str)>;

/// A line of a `.netrc` is keywords and their values and nothing else. It stands for itself: in a stream, the lines before
/// it may be gone already.
fn in_netrc<'a>(words: &[Word<'a>]) -> Found<'a> {
    let (mut left, mut password) = (words.iter(), None);
    while let Some(word) = left.next() {
        match word.text {
            "default" => {}
            "machine" | "login" | "account" if left.next().is_some() => {}
            "password" => password = left.next().copied(),
            _ => return None,
        }
    }
    Some((password?.after("")?, "password in a .netrc"))
}

/// What is handed to a program that takes a password among its arguments.
fn in_command<'a>(words: &[Word<'a>]) -> Found<'a> {
    let named = |word: &Word<'_>| word.text.rsplit('/').next().and_then(Program::of);
    let (at, program) = words.iter().enumerate().find_map(|(at, word)| Some((at, named(word)?)))?;
    let rest = &words[at + 1..];
    let after = |options: &[&str]| {
        let place = rest.iter().position(|word| options.contains(&word.text))?;
        rest.get(place + 1)?.after("")
    };
    let joined = |beginning: &str| rest.iter().find_map(|word| word.after(beginning));
    let value = match program {
        Program::Fetches => {
            let user = after(&["-u", "--user", "-U", "--proxy-user"]).or_else(|| joined("--user="));
            user.or_else(|| joined("-u"))?.password()
        }
        Program::Database => joined("-p").filter(|value| !value.text.is_empty()),
        Program::Shows => after(&["-p", "-a"]),
    };
    Some((value?, "password of a command"))
}

/// Programs by how they take a password.
#[derive(Clone, Copy)]
enum Program {
    /// `-u name:password`
    Fetches,
    /// `-ppassword`
    Database,
    /// `-p password`, `-a password`
    Shows,
}

impl Program {
    fn of(name: &str) -> Option<Self> {
        match name.trim_matches(['`', '$', '(', '"', '\'']) {
            "curl" | "wget" => Some(Self::Fetches),
            "mysql" | "mysqldump" | "mysqladmin" | "mariadb" | "mariadb-dump" => Some(Self::Database),
            "sshpass" | "redis-cli" => Some(Self::Shows),
            _ => None,
        }
    }
}
