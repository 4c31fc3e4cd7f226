//! Variables that may stand before a command, and names a script may give values to.

use crate::shell::Why;

/// Names and the values they may have: `*` for plain words, otherwise exactly these.
const BEFORE: &[(&str, &str)] = &[
    ("LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME LC_MONETARY LANG LANGUAGE", "*"),
    ("TZ", "*"),
    ("COLUMNS LINES", "*"),
    ("NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR", "*"),
    ("TERM", "dumb xterm xterm-256color vt100"),
    ("TIME_STYLE", "iso long-iso full-iso locale"),
    ("BLOCK_SIZE BLOCKSIZE", "*"),
    ("GIT_PAGER PAGER MANPAGER", "cat"),
    ("GIT_OPTIONAL_LOCKS GIT_TERMINAL_PROMPT", "0"),
    ("RUST_BACKTRACE", "0 1 full"),
    ("CI NODE_ENV RUST_LOG PYTHONUNBUFFERED", "*"),
];

/// `NAME=value` before a command that changes nothing but how text looks.
pub(in crate::shell) fn is_harmless(assignment: &str) -> Result<(), Why> {
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let unknown = || Why::Variable(name.to_owned());
    let entry = BEFORE.iter().find(|(names, _)| names.split(' ').any(|known| known == name));
    let (_, values) = entry.ok_or_else(unknown)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.@:,/+-".contains(&byte);
    let fits = match *values {
        "*" => value.bytes().all(plain) && !value.starts_with(['/', ':', '.']) && !value.contains(".."),
        exact => exact.split(' ').any(|known| known == value),
    };
    if fits { Ok(()) } else { Err(unknown()) }
}

/// Small names that another shell, or a program that sees the environment, takes a meaning from.
const MEANT: [&str; 22] = [
    "path",
    "fpath",
    "cdpath",
    "manpath",
    "module_path",
    "mailpath",
    "fignore",
    "prompt",
    "argv",
    "status",
    "histchars",
    "auto_resume",
    "psvar",
    "watch",
    "home",
    "term",
    "shell",
    "user",
    "cwd",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
/// Capital names that nothing takes a meaning from.
const CAPITAL: [&str; 16] = [
    "FILE", "FILES", "DIR", "NAME", "COUNT", "LINE", "PATTERN", "F", "D", "N", "X", "I", "RESULT", "BASE",
    "TARGET", "SRC",
];

/// True for a variable that steers nothing but the script itself.
pub(in crate::shell) fn may_be_given(name: &str) -> Result<(), Why> {
    let small = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let own = small && name != "_" && !MEANT.contains(&name) && !name.ends_with("_proxy");
    if own || CAPITAL.contains(&name) { Ok(()) } else { Err(Why::Variable(name.to_owned())) }
}
