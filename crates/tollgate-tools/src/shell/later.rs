//! Commands that are only known when they run: for rules that ask about a command or deny it.

use tollgate::tool::Part;

use super::{
    Why,
    perhaps::counts_a_command,
    table,
    walk::Walk,
    word::{Value, Word},
    wrapper::{self, Unwrapped},
};

impl Walk<'_> {
    /// Notes where a program gets commands from elsewhere, or git a name for one of its own.
    pub(super) fn only_known_later(&mut self, name: &str, words: &[Word]) {
        let own = name.rsplit('/').next().unwrap_or(name);
        if is_fed(own, words) || table::is_grammar(name) {
            self.anything();
        }
        if own == "alias" {
            for (_, value) in words.iter().filter_map(|word| word.text()?.split_once('=')) {
                self.perhaps_script(&Word::fixed(value));
                // With whatever words come after its name.
                let known = value.split_whitespace().map(|word| Part::Word(word.to_owned()));
                self.unclear.push(known.chain([Part::Splits(String::new())]).collect());
            }
        }
        if table::takes_names(own) && words.iter().filter_map(Word::text).any(counts_a_command) {
            self.anything();
        }
        if own == "git" {
            self.through_git(words);
        } else if let Some(sub) = own.strip_prefix("git-").filter(|sub| !sub.is_empty()) {
            let named = ["git", sub].map(|word| Part::Word(word.to_owned()));
            self.unclear.push(named.into_iter().chain(words.iter().map(Word::part)).collect());
        }
        if table::find(own).is_none() {
            self.after_signs(words);
        }
    }

    /// What git runs for others: settings that name a command, and commands of its own that take one.
    fn through_git(&mut self, words: &[Word]) {
        if renames(words) {
            self.git_by_another_name();
        }
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| words[at].text());
            let attached = word.text().and_then(|text| text.strip_prefix("-c"));
            let setting = if before == Some("-c") { word.text() } else { attached };
            if let Some((_, value)) = setting.and_then(|setting| setting.split_once('=')) {
                self.perhaps_script(&Word::fixed(value));
            }
        }
        let sub =
            words.iter().position(|word| word.text().is_some_and(|text| table::GIT_RUNS.contains(&text)));
        let Some(rest) = sub.map(|at| &words[at + 1..]) else { return };
        if words.iter().any(|word| word.text() == Some("for-each-repo")) {
            self.git_by_another_name();
        }
        for (at, word) in rest.iter().enumerate() {
            match word.text() {
                Some(text) if text.starts_with('-') => {
                    let value =
                        text.split_once('=').map_or(text.get(2..).unwrap_or_default(), |(_, value)| value);
                    self.perhaps_script(&Word::fixed(value));
                }
                Some("run" | "foreach") => {
                    let inner = &rest[at + 1..];
                    wrapper::ways("", inner).into_iter().for_each(|way| self.perhaps_command(&inner[way..]));
                }
                Some(text) if text.contains(' ') => self.perhaps_script(word),
                _ => {}
            }
        }
    }

    /// Git may take its settings, and with them names for its commands, from where nobody looked.
    pub(super) fn git_by_another_name(&mut self) {
        self.unclear.push(vec![Part::Word("git".to_owned()), Part::Splits(String::new())]);
    }

    /// What a program that is not known may start: the words after `--`, `exec` and `run`.
    fn after_signs(&mut self, words: &[Word]) {
        let sign = |word: &Word| matches!(word.text(), Some("--" | "exec" | "run"));
        let Some(at) = words.iter().position(sign) else { return };
        for way in wrapper::ways("", &words[at + 1..]) {
            let inner = &words[at + 1 + way..];
            // A shell in another place, for a person at a terminal.
            let bare = matches!(inner, [only] if only.text().is_some_and(wrapper::is_shell));
            if !bare {
                self.perhaps_command(inner);
            }
        }
    }

    /// Notes what a wrapper starts where that is not the command that was found in its words, and what steers it.
    pub(super) fn started(&mut self, words: &[Word], found: &Unwrapped<'_>) {
        let own = words[0].shown().rsplit('/').next().unwrap_or_default().to_owned();
        let rest = &words[1..];
        let (Unwrapped::Opaque { inner, .. } | Unwrapped::Transparent { inner, .. }) = found else { return };
        let passed = &rest[..rest.len() - inner.len()];
        if own == "env" {
            let splits = |text: &str| text.starts_with("--s") || (is_cluster(text) && text.contains('S'));
            if passed.iter().filter_map(Word::text).any(splits) {
                self.anything();
            }
            self.steered_by_words(passed);
            let led =
                |text: &str| text.split_once('=').is_some_and(|(name, _)| table::leads_to_settings(name));
            if passed.iter().filter_map(Word::text).any(led) {
                self.git_by_another_name();
            }
        }
        if let Unwrapped::Opaque { why, .. } = found
            && own == "xargs"
            && !matches!(why, Why::Runs(_))
        {
            // Which of its words is the command is not clear, and what it adds to that neither.
            self.anything();
        }
        if matches!(found, Unwrapped::Opaque { .. }) && !matches!(own.as_str(), "fd" | "fdfind") {
            self.every_way(&own, rest, inner);
        }
    }

    /// Notes what a program makes of the command in its words: it passes over words nobody knows, fills some in, or reads
    /// one word as a script.
    pub(super) fn filled(&mut self, words: &[Word], found: &Unwrapped<'_>) {
        let (Unwrapped::Opaque { inner, .. } | Unwrapped::Transparent { inner, .. }) = found else { return };
        let own = words[0].shown().rsplit('/').next().unwrap_or_default().to_owned();
        let fills = matches!(own.as_str(), "fd" | "fdfind" | "xargs");
        if let Unwrapped::Opaque { .. } = found {
            let passed = &words[1..words.len() - inner.len()];
            let unknown = (!fills || own == "xargs") && passed.iter().any(|word| word.text().is_none());
            let script = inner.first().and_then(Word::text).is_some_and(|word| {
                word.contains([' ', '\t', '\n', ';', '|', '&']) || (word.starts_with('-') && word.len() > 1)
            });
            if unknown || script || own == "parallel" {
                self.unclear.push(Vec::new());
            }
        }
        let Some(first) = inner.first().filter(|_| fills) else { return };
        // What it fills in may be the program, and another program may take it for a script.
        let starts = |name: &str| name.contains("{}") || wrapper::unwrap(name, &inner[1..]).is_some();
        if first.text().is_none_or(starts) {
            self.unclear.push(Vec::new());
            return;
        }
        let Some(sign) = replaced(&own, &words[1..words.len() - inner.len()]) else { return self.anything() };
        let filled = |word: &Word| match word.text().and_then(|text| text.split_once(sign)) {
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

/// What a program puts what it found in the place of; `None` where that is not clear.
fn replaced<'w>(own: &str, options: &'w [Word]) -> Option<&'w str> {
    let mut sign = "{}";
    for (at, word) in options.iter().enumerate().filter(|_| own == "xargs") {
        let text = word.text()?;
        match text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")) {
            Some("") => sign = options.get(at + 1)?.text()?,
            Some(attached) => sign = attached,
            None if is_cluster(text) && text.contains(['I', 'i']) => return None,
            None => {}
        }
    }
    Some(sign)
}

/// Short options in one word.
fn is_cluster(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--")
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
        // An alias is looked at where it is given; that it counts in a script is a setting of its own.
        "eval" | "trap" | "alias" => words.iter().any(unknown),
        "shopt" => words.iter().any(|word| word.text().is_none_or(|text| text == "expand_aliases")),
        "crontab" if matches!(words, [only] if only.text() == Some("-l")) => false,
        // They run a command at each turn, or later.
        "batch" => true,
        "compgen" | "complete" | "bind" | "fc" | "at" | "crontab" => !words.is_empty(),
        "mapfile" | "readarray" => has(words, 'C'),
        "make" | "gmake" => words.iter().filter_map(Word::text).any(|text| text == "-" || text == "-f-"),
        "hash" => has(words, 'p'),
        "enable" => has(words, 'f'),
        // `-x` alone is a wrapper's; here it stands among others.
        "fd" | "fdfind" => words.iter().filter_map(Word::text).any(|text| {
            text.starts_with("--exec=") || (is_cluster(text) && text.len() > 2 && text.contains(['x', 'X']))
        }),
        "source" | "." => {
            let file = |word: &Word| word.text().map_or(word.at_home().is_some(), |text| !is_input(text));
            words.first().is_some_and(|word| !file(word))
        }
        _ if wrapper::is_shell(own) => is_fed_shell(own, words),
        _ => false,
    }
}

/// True where a short option stands among the words, or what is not known.
fn has(words: &[Word], letter: char) -> bool {
    words.iter().any(|word| word.text().is_none_or(|text| is_cluster(text) && text.contains(letter)))
}

/// A shell that reads its commands from its input, or from a word nobody knows yet.
fn is_fed_shell(own: &str, words: &[Word]) -> bool {
    if let [only] = words
        && matches!(only.text(), Some("--version" | "--help"))
    {
        return false;
    }
    // It only reads the script for mistakes.
    if let [only, _] = words
        && only.text() == Some("-n")
    {
        return false;
    }
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.text() else { return true };
        if wrapper::is_script_flag(text) {
            return wrapper::script_after(&words[at + 1..]).is_none_or(|script| script.text().is_none());
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

/// `git -c alias.x=push x`, and settings from a file that nobody looked into.
fn renames(words: &[Word]) -> bool {
    words.iter().filter_map(Word::text).any(|text| {
        let text = text.to_ascii_lowercase();
        let setting = text.strip_prefix("-c").unwrap_or(&text);
        setting.starts_with("alias.") || setting.starts_with("include") || text.starts_with("--config-env")
    })
}
