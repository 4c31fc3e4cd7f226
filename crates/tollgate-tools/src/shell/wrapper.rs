//! Programs that start another one: those that change nothing about it are taken off, the others are not known.

use std::borrow::Cow;

use super::{Why, options::Parsed, table, word::Word};

/// What a wrapper runs.
pub(super) enum Unwrapped<'a> {
    /// The inner command, run as it would be alone. `outside` when it is a program and no builtin.
    Transparent { inner: &'a [Word], outside: bool },
    /// Nothing: it only shows something.
    Alone,
    /// The inner command, run with other rights, at another time, or with other words.
    Opaque { inner: &'a [Word], why: Why },
    /// A script in one word.
    Script { text: Cow<'a, str>, why: Why },
}

/// Wrappers whose inner command begins after their options and a number of words.
struct Wrapper {
    name: &'static str,
    options: &'static str,
    before: usize,
    outside: bool,
}

const TRANSPARENT: &[Wrapper] = &[
    Wrapper { name: "time", options: "-p", before: 0, outside: false },
    Wrapper { name: "builtin", options: "", before: 0, outside: false },
    Wrapper { name: "nice", options: "-n= --adjustment=", before: 0, outside: true },
    Wrapper {
        name: "ionice",
        options: "-c= -n= -t --class= --classdata= --ignore",
        before: 0,
        outside: true,
    },
    Wrapper { name: "stdbuf", options: "-i= -o= -e= --input= --output= --error=", before: 0, outside: true },
    Wrapper {
        name: "timeout",
        options: "-k= -s= -v --kill-after= --signal= --preserve-status --foreground --verbose",
        before: 1,
        outside: true,
    },
];

/// The command inside, where `name` is a wrapper.
pub(super) fn unwrap<'a>(name: &str, words: &'a [Word]) -> Option<Unwrapped<'a>> {
    let own = name.rsplit('/').next().unwrap_or(name);
    let trusted = table::system_name(name).is_some();
    let opaque = |inner: &'a [Word]| Unwrapped::Opaque { inner, why: Why::Runs(own.to_owned()) };
    if let Some(wrapper) = TRANSPARENT.iter().find(|wrapper| wrapper.name == own) {
        return Some(match peel(wrapper, words) {
            Ok(inner) if trusted && !inner.is_empty() => {
                Unwrapped::Transparent { inner, outside: wrapper.outside || name.contains('/') }
            }
            Ok(inner) => opaque(inner),
            Err(why) => Unwrapped::Opaque { inner: after_options(words, wrapper.before), why },
        });
    }
    match own {
        "command" => return Some(command(words)),
        "env" => return Some(env(words, trusted)),
        "fd" | "fdfind" => return executes(words).map(opaque),
        "eval" => return Some(joined(words, own)),
        "trap" => {
            let ended = usize::from(words.first().and_then(Word::text) == Some("--"));
            return Some(script(words.get(ended), own));
        }
        _ => {}
    }
    if is_shell(own) {
        let at = words.iter().position(|word| word.text().is_some_and(is_script_flag))?;
        return Some(script(script_after(&words[at + 1..]), own));
    }
    if own == "xargs" {
        return Some(xargs(words));
    }
    // The loader of programs is given one.
    let loader = own.starts_with("ld-linux") || own.starts_with("ld-musl") || own == "ld.so";
    let listed = table::OPAQUE.iter().find(|(wrapper, _)| *wrapper == own).map(|(_, before)| *before);
    let before = listed.or(loader.then_some(0))?;
    if let [only] = words
        && matches!(only.text(), Some("--version" | "--help"))
    {
        return None;
    }
    Some(opaque(after_options(words, before)))
}

/// A program that runs commands as this shell does.
pub(super) fn is_shell(own: &str) -> bool {
    table::SHELLS.contains(&own)
}

/// `-c`, alone or among others.
pub(super) fn is_script_flag(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
}

/// The script of a shell that was given `-c`: the first word that is no option, nor the value of one.
pub(super) fn script_after(words: &[Word]) -> Option<&Word> {
    let mut at = 0;
    while let Some(text) = words.get(at).and_then(Word::text) {
        match text {
            "-o" | "+o" | "-O" | "+O" => at += 2,
            _ if text.starts_with(['-', '+']) && text.len() > 1 => at += 1,
            _ => break,
        }
    }
    words.get(at)
}

/// Where the command inside may begin, whichever of the options take a value, or two.
pub(super) fn ways(own: &str, words: &[Word]) -> Vec<usize> {
    let listed = TRANSPARENT.iter().map(|wrapper| (wrapper.name, wrapper.before));
    let mut before = table::OPAQUE.iter().copied().chain(listed);
    let before = before.find(|(name, _)| *name == own).map_or(0, |(_, before)| before);
    let most = if own == "bwrap" { 2 } else { 1 };
    let (mut reached, mut found) = (vec![(0, before)], Vec::new());
    let mut at = 0;
    while let Some((here, left)) = reached.get(at).copied() {
        at += 1;
        let Some(word) = words.get(here) else { continue };
        let text = word.text().unwrap_or("-");
        let next = if text.starts_with(['-', '+']) && !text.contains('=') && text != "--" {
            (0..=most).map(|values| (here + 1 + values, left)).collect()
        } else if text.starts_with('-') || text.contains('=') {
            vec![(here + 1, left)]
        } else if left > 0 {
            vec![(here + 1, left - 1)]
        } else {
            found.push(here);
            continue;
        };
        for state in next {
            if !reached.contains(&state) {
                reached.push(state);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// All words, as `eval` reads them.
fn joined<'a>(words: &'a [Word], own: &str) -> Unwrapped<'a> {
    let why = Why::Runs(own.to_owned());
    match words.iter().map(Word::text).collect::<Option<Vec<_>>>() {
        Some(texts) if !texts.is_empty() => Unwrapped::Script { text: texts.join(" ").into(), why },
        _ => Unwrapped::Opaque { inner: &[], why },
    }
}

fn script<'a>(word: Option<&'a Word>, own: &str) -> Unwrapped<'a> {
    let why = Why::Runs(own.to_owned());
    match word.and_then(Word::text) {
        Some(text) => Unwrapped::Script { text: text.into(), why },
        None => Unwrapped::Opaque { inner: &[], why },
    }
}

fn peel<'a>(wrapper: &Wrapper, words: &'a [Word]) -> Result<&'a [Word], Why> {
    let program = table::Program {
        options: wrapper.options,
        digits: wrapper.name == "nice",
        ..table::program(wrapper.name)
    };
    let (_, at) = Parsed::until_operand(&program, wrapper.name, words)?;
    for word in words.iter().skip(at).take(wrapper.before) {
        let text = word.text().ok_or_else(|| word.dynamic())?;
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Why::option(wrapper.name, text));
        }
    }
    Ok(words.get(at + wrapper.before..).unwrap_or_default())
}

/// `command -v name` looks a name up; without an option the program is run.
fn command(words: &[Word]) -> Unwrapped<'_> {
    match words.first().and_then(Word::text) {
        Some("-v" | "-V") => {
            let known = words[1..].iter().all(|word| word.text().is_some_and(|text| !text.starts_with('-')));
            if known {
                Unwrapped::Alone
            } else {
                Unwrapped::Opaque { inner: &[], why: Why::Runs("command".to_owned()) }
            }
        }
        Some(text) if !text.starts_with('-') => Unwrapped::Transparent { inner: words, outside: false },
        _ => Unwrapped::Opaque { inner: after_options(words, 0), why: Why::Runs("command".to_owned()) },
    }
}

/// `env NAME=value program …`; without a program it prints the environment.
fn env(words: &[Word], trusted: bool) -> Unwrapped<'_> {
    let program =
        table::Program { options: "-i -u= -0 --ignore-environment --unset= --null", ..table::program("env") };
    let opaque = |inner, why| Unwrapped::Opaque { inner, why };
    let (given, mut at) = match Parsed::until_operand(&program, "env", words) {
        Ok(read) => read,
        Err(why) => return opaque(after_options(words, 0), why),
    };
    let bare = words.get(at).and_then(Word::text) == Some("-");
    at += usize::from(bare);
    let drops = bare || ["-i", "-u", "--ignore-environment", "--unset"].iter().any(|name| given.has(name));
    let mut harm = None;
    while let Some(text) = words.get(at).and_then(Word::text).filter(|text| text.contains('=')) {
        harm = harm.or(table::is_harmless(text).err());
        at += 1;
    }
    let inner = words.get(at..).unwrap_or_default();
    match harm {
        Some(why) => opaque(inner, why),
        None if !trusted => opaque(inner, Why::Runs("env".to_owned())),
        None if inner.is_empty() => Unwrapped::Alone,
        // What keeps git from running what a repository says stands in the environment.
        None if drops && inner.iter().any(|word| runs_git(word.shown())) => {
            opaque(inner, Why::Runs("env".to_owned()))
        }
        None => Unwrapped::Transparent { inner, outside: true },
    }
}

/// True for a word that is git, or a shell that may start it.
fn runs_git(word: &str) -> bool {
    word.contains("git") || is_shell(word.rsplit('/').next().unwrap_or(word))
}

/// `xargs program …`: what it adds to the words nobody sees beforehand, so only a program that takes any word is known.
fn xargs(words: &[Word]) -> Unwrapped<'_> {
    let options = "-0 -r -t -n= -L= -P= -d= -s= -x -I= --null --no-run-if-empty --max-args= --max-lines= --max-procs= \
                   --delimiter= --verbose --exit";
    let program = table::Program { options, ..table::program("xargs") };
    match Parsed::until_operand(&program, "xargs", words) {
        Ok((_, at)) if at == words.len() => Unwrapped::Alone,
        Ok((_, at)) => {
            let inner = &words[at..];
            let pure = inner[0].text().and_then(table::find).is_some_and(table::Program::takes_anything);
            if pure {
                Unwrapped::Transparent { inner, outside: true }
            } else {
                Unwrapped::Opaque { inner, why: Why::Runs("xargs".to_owned()) }
            }
        }
        Err(why) => Unwrapped::Opaque { inner: after_options(words, 0), why },
    }
}

/// What `fd -x` runs.
fn executes(words: &[Word]) -> Option<&[Word]> {
    let options = ["-x", "-X", "--exec", "--exec-batch"];
    let at = words.iter().position(|word| word.text().is_some_and(|text| options.contains(&text)))?;
    Some(&words[at + 1..])
}

/// The words after options, as far as that can be told without knowing the options.
fn after_options(words: &[Word], before: usize) -> &[Word] {
    let option = |word: &Word| word.text().is_none_or(|text| text.starts_with('-') || text.contains('='));
    let at = words.iter().position(|word| !option(word)).unwrap_or(words.len());
    words.get(at + before..).unwrap_or_default()
}
