//! A denial by the sandbox, known by the words programs use for it.

/// Words of programs, and what the sandbox has to do with them.
const WORDS: &[(&str, &str)] = &[
    (
        "Read-only file system",
        "nothing outside the roots can be written, and a command that only reads can write nowhere.",
    ),
    (
        "Device or resource busy",
        "files that make code run or that a rule keeps (.git/config, hooks and their like) cannot be replaced or moved.",
    ),
    ("Temporary failure in name resolution", "the network is off for commands."),
    ("Could not resolve host", "the network is off for commands."),
    ("Network is unreachable", "the network is off for commands."),
    ("socket: Operation not permitted", "the network is off for commands."),
    ("Failed to create socket", "the network is off for commands."),
    ("Operation not permitted", "a system call that could reach outside the sandbox is switched off."),
    (
        "Permission denied",
        "files outside the roots, and of the home folder, are closed to commands; inside them this is an ordinary lack of rights.",
    ),
];

/// The first of the known words in what a command said.
pub(super) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<&'static str> {
    let mut best = None;
    for text in texts {
        let found = WORDS.iter().position(|(words, _)| text.contains(words));
        best = match (best, found) {
            (Some(best), Some(found)) => Some(usize::min(best, found)),
            (best, found) => best.or(found),
        };
    }
    best.map(|at| WORDS[at].1)
}
