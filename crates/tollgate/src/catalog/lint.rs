//! What good tool design asks for and a tool does not have, each finding with the fix. Pure: nothing runs.
//!
//! Each rule is one small function over one [`Subject`]. What a tool does to the world and whether it has a check of
//! its own cannot be seen in a [`ToolSpec`]: those rules speak only where a [`Declared`] says so, as it does for
//! tools that come from a file.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    schema::{ReportEntry, Target, project},
    tool::{ResultLimit, ToolSpec, Visibility},
    wire::{CacheMark, Provider, WireNames, WireTool, tools_json},
};

/// Something to put right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name the tool goes by.
    pub tool: String,
    /// Which rule speaks, as `vague_name`.
    pub rule: &'static str,
    /// How much it matters.
    pub level: Level,
    /// What is the matter.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Worth changing.
    Warning,
}

/// What a definition says beyond the metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each says whether one declaration is there")]
pub struct Declared {
    /// What its calls do, as declared or hinted at; `None` where nothing is said.
    pub hints: Option<Hints>,
    /// It has a check of its own.
    pub check: bool,
    /// It names a limit of its results.
    pub result_limit: bool,
    /// It says what a new message does to a running call.
    pub interrupt: bool,
    /// It says how long it may take.
    pub timeouts: bool,
}

/// What calls of a tool do, whatever their arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub struct Hints {
    /// Changes nothing anywhere.
    pub read_only: bool,
    /// May destroy what cannot be brought back.
    pub destructive: bool,
    /// Doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// Talks to the world outside the workspace.
    pub open_world: bool,
}

/// One tool, as the rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The name it goes by.
    pub label: &'a str,
    /// Its metadata.
    pub spec: &'a ToolSpec,
    /// What else its definition says, where that is known.
    pub declared: Option<&'a Declared>,
    /// The providers it has to please.
    pub providers: &'a [Provider],
}

/// A rule: what it finds in one tool.
type Rule = fn(Subject<'_>) -> Option<Finding>;

const RULES: [Rule; 15] = [
    vague_name,
    broad_primitive,
    thin_description,
    undescribed_arguments,
    many_optional_fields,
    unlimited_result,
    missing_result_limit,
    unchecked_write,
    destructive_not_idempotent,
    undeclared_interrupt,
    costly_always_load,
    provider_name,
    unportable_schema,
    not_strict,
    hidden_characters,
];

/// Everything the rules find in a tool, in the order of the rules.
pub fn lint(subject: Subject<'_>) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(subject)).collect()
}

/// What a tool takes of a prompt: a quarter of the bytes it is sent as. An estimate; no tokenizer is asked.
/// `None` where the provider cannot be told of it.
pub fn estimated_tokens(name: &str, spec: &ToolSpec, target: Target) -> Option<usize> {
    let projection = project(&spec.input_schema, target).ok()?;
    let tool = WireTool {
        name: name.to_owned(),
        description: spec.description.to_string(),
        schema: projection.schema,
        strict: projection.strict,
        defer: false,
    };
    Some(tools_json(target.provider, &[tool], CacheMark::None).len().saturating_sub(2).div_ceil(4))
}

impl Subject<'_> {
    fn warns(&self, rule: &'static str, message: String, fix: &str) -> Option<Finding> {
        self.finds(rule, Level::Warning, message, fix)
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is the last word of a rule, which may find nothing")]
    fn finds(&self, rule: &'static str, level: Level, message: String, fix: &str) -> Option<Finding> {
        Some(Finding { tool: self.label.to_owned(), rule, level, message, fix: fix.to_owned() })
    }

    fn hints(&self) -> Option<Hints> {
        self.declared.and_then(|declared| declared.hints)
    }

    fn properties(&self) -> Option<&Map<String, Value>> {
        self.spec.input_schema.get("properties").and_then(Value::as_object)
    }

    /// The words of its own name, in lower case.
    fn words(&self) -> Vec<String> {
        let name = self.spec.name();
        let own = name.rsplit("__").next().unwrap_or(name);
        let mut words = vec![String::new()];
        let mut was_lower = false;
        for c in own.chars() {
            let cut = !c.is_ascii_alphanumeric() || (c.is_ascii_uppercase() && was_lower);
            if cut && words.last().is_some_and(|word| !word.is_empty()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
                word.push(c.to_ascii_lowercase());
            }
            was_lower = c.is_ascii_lowercase();
        }
        words.retain(|word| !word.is_empty());
        words
    }
}

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

fn vague_name(subject: Subject<'_>) -> Option<Finding> {
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

fn broad_primitive(subject: Subject<'_>) -> Option<Finding> {
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

/// Fewer characters say nothing a name does not.
const THIN: usize = 20;

fn thin_description(subject: Subject<'_>) -> Option<Finding> {
    let description = subject.spec.description.trim();
    let plain =
        |text: &str| -> String { text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect() };
    let fix = "say in a sentence or two what it does, when to use it and what it returns.";
    if description.is_empty() {
        return subject.warns("thin_description", "it has no description".to_owned(), fix);
    }
    let repeats = plain(description) == plain(subject.spec.name());
    if description.chars().count() >= THIN && !repeats {
        return None;
    }
    let what = if repeats { "repeats the name" } else { "is very short" };
    subject.warns("thin_description", format!("its description {what}: {description:?}"), fix)
}

fn undescribed_arguments(subject: Subject<'_>) -> Option<Finding> {
    let described = |schema: &Value| {
        // What is referred to may have the description.
        schema.get("$ref").is_some()
            || schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    };
    let silent = |(name, schema): (&String, &Value)| (!described(schema)).then(|| format!("`{name}`"));
    let names: Vec<_> = subject.properties()?.iter().filter_map(silent).collect();
    if names.is_empty() {
        return None;
    }
    let fix = "give each argument a `description`: what it is, its unit or form, an example.";
    subject.warns("undescribed_arguments", format!("no description of {}", some_of(&names)), fix)
}

/// More choices than these are left to chance.
const MOST_OPTIONAL: usize = 8;

fn many_optional_fields(subject: Subject<'_>) -> Option<Finding> {
    let properties = subject.properties()?;
    let required = subject.spec.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|item| item == name));
    let optional = properties.keys().filter(|name| !is_required(name)).count();
    if optional <= MOST_OPTIONAL {
        return None;
    }
    let message = format!("{optional} optional arguments, more than {MOST_OPTIONAL}");
    subject.warns("many_optional_fields", message, "make a tool for each common use, with the rest fixed.")
}

fn unlimited_result(subject: Subject<'_>) -> Option<Finding> {
    if subject.spec.max_result != ResultLimit::Unlimited {
        return None;
    }
    let open = subject.hints().is_some_and(|hints| hints.open_world);
    let message =
        if open { "its results come from outside and are never cut" } else { "its results are never cut" };
    subject.warns(
        "unlimited_result",
        message.to_owned(),
        "set `max_result_chars`; the rest stays readable by reference.",
    )
}

fn missing_result_limit(subject: Subject<'_>) -> Option<Finding> {
    if subject.declared?.result_limit {
        return None;
    }
    let message = "it names no limit of its results, so the default holds".to_owned();
    subject.finds(
        "missing_result_limit",
        Level::Info,
        message,
        "set `max_result_chars` to what a model needs of it.",
    )
}

fn unchecked_write(subject: Subject<'_>) -> Option<Finding> {
    if subject.hints()?.read_only || subject.declared?.check {
        return None;
    }
    let message = "it changes something, and nothing but its schema is checked before".to_owned();
    subject.warns(
        "unchecked_write",
        message,
        "add a `check` for what the schema cannot say: that the target exists, is allowed, fits.",
    )
}

fn destructive_not_idempotent(subject: Subject<'_>) -> Option<Finding> {
    let hints = subject.hints()?;
    if hints.read_only || !hints.destructive || hints.idempotent || subject.spec.requires_idempotency_key {
        return None;
    }
    let message = "it may destroy something, and doing it twice is not doing it once".to_owned();
    subject.warns(
        "destructive_not_idempotent",
        message,
        "make it idempotent, or set `requires_idempotency_key`.",
    )
}

/// Longer, and a person will want to say something before it ends.
const SLOW_SECONDS: u64 = 60;

fn undeclared_interrupt(subject: Subject<'_>) -> Option<Finding> {
    let declared = subject.declared?;
    let slow = declared.timeouts && subject.spec.timeouts.total.as_secs() > SLOW_SECONDS;
    let open = subject.hints().is_some_and(|hints| hints.open_world);
    if declared.interrupt || !(slow || open) {
        return None;
    }
    let why = if slow { "it may take long" } else { "it talks to the outside" };
    let message = format!("{why} and does not say what a new message of the person does to it");
    subject.warns(
        "undeclared_interrupt",
        message,
        "set `interrupt` to \"cancel\", or to \"block\" where it must finish.",
    )
}

/// What a tool in every prompt may cost.
const MOST_TOKENS: usize = 500;

fn costly_always_load(subject: Subject<'_>) -> Option<Finding> {
    if subject.spec.visibility != Visibility::AlwaysLoad {
        return None;
    }
    let target = Target { provider: *subject.providers.first()?, strict: false };
    let tokens = estimated_tokens(subject.label, subject.spec, target)?;
    if tokens <= MOST_TOKENS {
        return None;
    }
    let message = format!("it is in every prompt and takes about {tokens} tokens of it");
    subject.warns("costly_always_load", message, "shorten its description and schema, or let it be deferred.")
}

fn provider_name(subject: Subject<'_>) -> Option<Finding> {
    let renamed: Vec<String> = subject
        .providers
        .iter()
        .filter_map(|provider| {
            let names = WireNames::new(*provider, [subject.label]);
            let wire = names.wire(subject.label)?;
            (wire != subject.label).then(|| format!("{provider} is told `{wire}`"))
        })
        .collect();
    if renamed.is_empty() {
        return None;
    }
    let message = format!("not every provider takes its name: {}", renamed.join(", "));
    subject.warns("provider_name", message, "use at most 64 of A-Z a-z 0-9 _ - for the whole name.")
}

fn unportable_schema(subject: Subject<'_>) -> Option<Finding> {
    let told = by_provider(subject, |provider| {
        match project(&subject.spec.input_schema, Target { provider, strict: false }) {
            Err(error) => Some(format!("cannot be told: {error}")),
            Ok(projection) if projection.report.dropped.is_empty() => None,
            Ok(projection) => Some(format!("loses {}", keywords(&projection.report.dropped))),
        }
    });
    let fix = "say it with the keywords every provider takes; `tollgate schema project` shows what becomes of each.";
    told.and_then(|told| subject.warns("unportable_schema", told, fix))
}

fn not_strict(subject: Subject<'_>) -> Option<Finding> {
    let told = by_provider(subject, |provider| {
        let projection = project(&subject.spec.input_schema, Target { provider, strict: true }).ok()?;
        (!projection.strict)
            .then(|| format!("not strict because of {}", keywords(&projection.report.not_strict)))
    });
    let fix = "`tollgate schema project --strict` says what stands in the way.";
    told.and_then(|told| subject.finds("not_strict", Level::Info, told, fix))
}

/// What there is to tell, providers that are told the same together.
fn by_provider(subject: Subject<'_>, tell: impl Fn(Provider) -> Option<String>) -> Option<String> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for provider in subject.providers {
        let Some(told) = tell(*provider) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == told) {
            Some((_, names)) => names.push(provider.as_str()),
            None => groups.push((told, vec![provider.as_str()])),
        }
    }
    let lines: Vec<_> =
        groups.into_iter().map(|(told, names)| format!("{}: {told}", names.join(", "))).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

fn keywords(entries: &[ReportEntry]) -> String {
    let names: Vec<_> = entries
        .iter()
        .map(|entry| match &*entry.keyword {
            "" => entry.why.clone(),
            keyword => {
                format!("`{keyword}` at {}", if entry.pointer.is_empty() { "/" } else { &entry.pointer })
            }
        })
        .collect();
    some_of(&names)
}

fn some_of(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names[..names.len().min(SHOWN)].join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn hidden_characters(subject: Subject<'_>) -> Option<Finding> {
    let mut places = Vec::new();
    hidden_in("the description", &subject.spec.description, &mut places);
    hidden_in_value("the schema", &subject.spec.input_schema, &mut places);
    if places.is_empty() {
        return None;
    }
    let message = format!("characters nobody sees in {}", some_of(&places));
    subject.warns("hidden_characters", message, "take them out: a model reads what a person cannot.")
}

fn hidden_in(place: &str, text: &str, places: &mut Vec<String>) {
    if let Some(c) = text.chars().find(|c| is_hidden(*c)) {
        places.push(format!("{place} (U+{:04X})", u32::from(c)));
    }
}

fn hidden_in_value(place: &str, value: &Value, places: &mut Vec<String>) {
    match value {
        Value::String(text) => hidden_in(place, text, places),
        Value::Array(items) => items.iter().for_each(|item| hidden_in_value(place, item, places)),
        Value::Object(map) => {
            for (key, value) in map {
                hidden_in(place, key, places);
                let mut inner = place.to_owned();
                let shown = key.chars().filter(|c| !is_hidden(*c)).take(40).collect::<String>();
                let _ = write!(inner, "/{shown}");
                hidden_in_value(&inner, value, places);
            }
        }
        _ => {}
    }
}

/// Zero-width and bidirectional marks, the tags block, variation selectors beyond the usual, control characters.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}')
        || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}
