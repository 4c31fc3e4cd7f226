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

/// Wrappers that change more than how long something may take, with how many words stand before the inner command.
const OPAQUE: &[(&str, usize)] = &[
    ("sudo", 0),
    ("doas", 0),
    ("nohup", 0),
    ("setsid", 0),
    ("exec", 0),
    ("coproc", 0),
    ("xargs", 0),
    ("parallel", 0),
    ("watch", 0),
    ("strace", 0),
    ("ltrace", 0),
    ("chroot", 1),
    ("unshare", 0),
    ("nsenter", 0),
    ("flock", 1),
    ("chrt", 1),
    ("taskset", 1),
    ("setarch", 0),
    ("busybox", 0),
    ("toybox", 0),
    ("entr", 0),
    ("faketime", 1),
    ("caffeinate", 0),
    ("proot", 0),
    ("fakeroot", 0),
    ("eatmydata", 0),
    ("catchsegv", 0),
    ("valgrind", 0),
    ("perf", 1),
    ("hyperfine", 0),
    ("bwrap", 0),
    ("firejail", 0),
    ("runuser", 0),
    ("setpriv", 0),
    ("prlimit", 0),
    ("systemd-run", 0),
    ("dbus-run-session", 0),
    ("xvfb-run", 0),
    ("npx", 0),
    ("bunx", 0),
    ("pnpx", 0),
    ("uvx", 0),
];
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "rbash", "su", "csh", "tcsh"];

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
        "find" | "fd" | "fdfind" => return executes(words).map(opaque),
        "eval" => return Some(joined(words, own)),
        "trap" => return Some(script(words.first(), own)),
        _ => {}
    }
    if is_shell(own) {
        let at = words.iter().position(|word| word.text().is_some_and(is_script_flag))?;
        return Some(script(words.get(at + 1), own));
    }
    if own == "xargs" {
        return Some(xargs(words));
    }
    let (_, before) = OPAQUE.iter().find(|(wrapper, _)| *wrapper == own)?;
    if let [only] = words
        && matches!(only.text(), Some("--version" | "--help"))
    {
        return None;
    }
    Some(opaque(after_options(words, *before)))
}

/// A program that runs commands as this shell does.
pub(super) fn is_shell(own: &str) -> bool {
    SHELLS.contains(&own)
}

/// `-c`, alone or among others.
pub(super) fn is_script_flag(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains('c')
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
    let mut at = match Parsed::until_operand(&program, "env", words) {
        Ok((_, at)) => at,
        Err(why) => return opaque(after_options(words, 0), why),
    };
    if words.get(at).and_then(Word::text) == Some("-") {
        at += 1;
    }
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
        None => Unwrapped::Transparent { inner, outside: true },
    }
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

/// What `find -exec` and `fd -x` run.
fn executes(words: &[Word]) -> Option<&[Word]> {
    let options = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let at = words.iter().position(|word| word.text().is_some_and(|text| options.contains(&text)))?;
    Some(&words[at + 1..])
}

/// The words after options, as far as that can be told without knowing the options.
fn after_options(words: &[Word], before: usize) -> &[Word] {
    let option = |word: &Word| word.text().is_none_or(|text| text.starts_with('-') || text.contains('='));
    let at = words.iter().position(|word| !option(word)).unwrap_or(words.len());
    words.get(at + before..).unwrap_or_default()
}
