//! Names that say too little, or promise too much.

use super::{Finding, Subject};

/// Words that say that something is done and not what.
const VAGUE_VERBS: [&str; 14] = [
    "process", "handle", "do", "run", "execute", "exec", "manage", "perform", "use", "call", "invoke",
    "make", "work", "get",
];

/// Words that could stand for anything.
const VAGUE_NOUNS: [&str; 25] = [
    "data",
    "it",
    "this",
    "that",
    "stuff",
    "thing",
    "things",
    "task",
    "tasks",
    "item",
    "items",
    "input",
    "inputs",
    "action",
    "operation",
    "info",
    "everything",
    "all",
    "helper",
    "util",
    "utils",
    "misc",
    "tool",
    "main",
    "object",
];

pub(super) fn vague_name(subject: Subject<'_>) -> Option<Finding> {
    let words = subject.words();
    let vague = |word: &String| VAGUE_VERBS.contains(&&**word) || VAGUE_NOUNS.contains(&&**word);
    if !words.iter().all(vague) {
        return None;
    }
    let message = format!("the name `{}` says nothing about what it does", subject.spec.name());
    subject.warns("vague_name", message, "name the thing and what happens to it, as `list_open_invoices`.")
}

const BROAD_VERBS: [&str; 11] =
    ["run", "execute", "exec", "eval", "evaluate", "send", "do", "perform", "make", "call", "invoke"];
const BROAD_OBJECTS: [&str; 20] = [
    "sql",
    "query",
    "shell",
    "command",
    "commands",
    "cmd",
    "bash",
    "script",
    "code",
    "python",
    "javascript",
    "js",
    "http",
    "request",
    "graphql",
    "api",
    "process",
    "program",
    "terminal",
    "statement",
];
const BROAD_ALONE: [&str; 10] =
    ["sql", "shell", "bash", "exec", "eval", "curl", "graphql", "terminal", "python", "http_request"];

pub(super) fn broad_primitive(subject: Subject<'_>) -> Option<Finding> {
    let words = subject.words();
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&&**word));
    let only_broad =
        words.iter().all(|word| BROAD_VERBS.contains(&&**word) || BROAD_OBJECTS.contains(&&**word));
    let broad =
        (has(&BROAD_VERBS) && has(&BROAD_OBJECTS) && only_broad) || BROAD_ALONE.contains(&&*words.join("_"));
    if !broad {
        return None;
    }
    let message =
        format!("`{}` can do anything, so no rule can tell a good call from a bad one", subject.spec.name());
    subject.warns(
        "broad_primitive",
        message,
        "offer a tool for each thing that is wanted, or have every call of it asked about.",
    )
}
