//! `result_read`: reads a kept result by lines, bytes, pattern or JSON pointer. What it gives is never put aside again.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read},
    sync::Arc,
};

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Refusal, Scope, Tool, ToolSpec,
    outcome::{Opened, ResultRef, ResultStore, StoreFault, Trust},
    tool::{Caller, ResultLimit},
};

/// The most characters one call gives back.
const MOST: usize = 20_000;

/// The longest document a pointer is followed into.
const LONGEST_DOCUMENT: u64 = 256 << 20;

/// Reads kept results. Register it where the gate has a result store.
#[derive(Clone)]
pub struct ResultRead {
    results: Arc<dyn ResultStore>,
}

/// What to read.
#[derive(Debug, Deserialize)]
pub struct Args {
    #[serde(rename = "ref")]
    reference: String,
    from_line: Option<usize>,
    lines: Option<usize>,
    from_byte: Option<u64>,
    bytes: Option<usize>,
    grep: Option<String>,
    pointer: Option<String>,
}

/// Which part the arguments ask for.
enum Wanted {
    Lines { from: usize, count: usize },
    Bytes { from: u64, count: usize },
    Grep { pattern: Regex, from: usize },
    Pointer(String),
}

impl ResultRead {
    /// A reader of this store.
    pub fn new(results: impl ResultStore) -> Self {
        Self { results: Arc::new(results) }
    }
}

impl Tool for ResultRead {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let description = "Reads a part of a long result that was kept: lines (`from_line`, `lines`), bytes \
                           (`from_byte`, `bytes`), lines that match a regular expression (`grep`), or what a JSON \
                           pointer leads to (`pointer`). Without any of them, the first lines.";
        let schema = json!({
            "type": "object",
            "properties": {
                "ref": {"type": "string", "description": "The reference, as `sha256:…`."},
                "from_line": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."},
                "lines": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "How many lines; 200 when left out."},
                "from_byte": {"type": "integer", "minimum": 0, "description": "The first byte, counted from 0."},
                "bytes": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "How many bytes; 4000 when left out."},
                "grep": {"type": "string", "minLength": 1, "maxLength": 500, "description": "A regular expression; matching lines come with their numbers."},
                "pointer": {"type": "string", "maxLength": 1_000, "description": "A JSON pointer as `/items/0`; empty for the whole document."},
            },
            "required": ["ref"],
            "additionalProperties": false,
        });
        #[expect(clippy::expect_used, reason = "a name that is written here and legal")]
        let mut spec = ToolSpec::new("result_read", description, schema).expect("a legal name");
        spec.max_result = ResultLimit::Unlimited;
        spec.requires_permission = false;
        spec.at_worst = Effects::reading();
        spec
    }

    fn effects(&self, _: &Scope, _: &Args) -> Effects {
        Effects::reading()
    }

    async fn check(&self, _: &Scope, args: &Args) -> Result<(), Refusal> {
        wanted(args).map(drop)?;
        ResultRef::parse(&args.reference)
            .map(drop)
            .map_err(|fault| Refusal::invalid_value("/ref", fault.to_string()))
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let wanted = wanted(args).map_err(|refusal| Failure::fatal(refusal.reason.clone()))?;
        let (results, caller) = (self.results.clone(), cx.caller.clone());
        let reference = args.reference.clone();
        let read = tokio::task::spawn_blocking(move || read(&*results, &reference, &caller, &wanted));
        let (text, trust) = read.await?.map_err(|fault| {
            let hint = match &fault {
                StoreFault::Missing(_) => {
                    "It was kept for someone else, is too old, or was never kept. Call the tool again."
                }
                _ => "Call the tool again that gave this result.",
            };
            Failure::fatal(format!("The kept result cannot be read: {fault}.")).with_hint(hint)
        })?;
        let output = Output::text(text);
        Ok(if trust == Trust::UntrustedContent { output.untrusted() } else { output })
    }
}

fn wanted(args: &Args) -> Result<Wanted, Refusal> {
    let (by_line, by_byte) =
        (args.from_line.is_some() || args.lines.is_some(), args.from_byte.is_some() || args.bytes.is_some());
    let ways = [by_line && args.grep.is_none(), by_byte, args.grep.is_some(), args.pointer.is_some()];
    if ways.iter().filter(|way| **way).count() > 1 {
        return Err(Refusal::invalid_value("", "ask for lines, bytes, grep or pointer, one at a time"));
    }
    Ok(match (&args.grep, &args.pointer) {
        (Some(pattern), _) => {
            let pattern = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
            let pattern = pattern.map_err(|error| Refusal::invalid_value("/grep", error.to_string()))?;
            Wanted::Grep { pattern, from: args.from_line.unwrap_or(1) }
        }
        (_, Some(pointer)) => Wanted::Pointer(pointer.clone()),
        _ if by_byte => {
            Wanted::Bytes { from: args.from_byte.unwrap_or(0), count: args.bytes.unwrap_or(4_000) }
        }
        _ => Wanted::Lines { from: args.from_line.unwrap_or(1), count: args.lines.unwrap_or(200) },
    })
}

fn read(
    results: &dyn ResultStore,
    reference: &str,
    caller: &Caller,
    wanted: &Wanted,
) -> Result<(String, Trust), StoreFault> {
    let opened = results.open(&ResultRef::parse(reference)?, caller)?;
    let trust = opened.trust;
    let text = match wanted {
        Wanted::Lines { from, count } => lines(opened, *from, *count)?,
        Wanted::Bytes { from, count } => bytes(opened, *from, *count)?,
        Wanted::Grep { pattern, from } => grep(opened, pattern, *from)?,
        Wanted::Pointer(pointer) => pointed(opened, pointer)?,
    };
    Ok((text, trust))
}

fn lines(opened: Opened, from: usize, count: usize) -> Result<String, StoreFault> {
    let mut text = String::new();
    let mut shown = 0;
    let mut more = false;
    each_line(opened, |number, line| {
        if number < from {
            return true;
        }
        if shown == count || text.len() + line.len() > MOST && shown > 0 {
            more = true;
            return false;
        }
        text.push_str(cut(line, MOST));
        text.push('\n');
        shown += 1;
        true
    })?;
    if shown == 0 {
        return Ok(format!("[there is no line {from}]"));
    }
    if more {
        let _ = write!(text, "[more follows; go on with from_line {}]", from + shown);
    }
    Ok(text)
}

fn grep(opened: Opened, pattern: &Regex, from: usize) -> Result<String, StoreFault> {
    let (mut text, mut found, mut next) = (String::new(), 0, None);
    each_line(opened, |number, line| {
        if number >= from && pattern.is_match(line) {
            found += 1;
            if text.len() + line.len().min(500) > MOST {
                next.get_or_insert(number);
            } else if next.is_none() {
                let _ = writeln!(text, "{number}: {}", cut(line, 500));
            }
        }
        true
    })?;
    Ok(match next {
        Some(line) => format!("{text}[{found} lines match; go on with from_line {line}]"),
        None => format!("{text}[{found} lines match]"),
    })
}

/// Shows each line with its number until `see` has seen enough. What is no text is shown as far as it can be. The lines of JSON
/// that is all on one are those of the texts in it, as its preview counts them.
fn each_line(opened: Opened, mut see: impl FnMut(usize, &str) -> bool) -> Result<(), StoreFault> {
    let mut content = BufReader::with_capacity(128 << 10, opened.content);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if content.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\n', '\r']);
        let packed = number == 0 && text.starts_with(['{', '[']) && content.fill_buf()?.is_empty();
        for part in text.split(if packed { "\\n" } else { "\n" }) {
            number += 1;
            if !see(number, part) {
                return Ok(());
            }
        }
    }
}

fn bytes(opened: Opened, from: u64, count: usize) -> Result<String, StoreFault> {
    let total = opened.bytes;
    let mut content = opened.content;
    std::io::copy(&mut content.by_ref().take(from), &mut std::io::sink())?;
    let mut part = Vec::new();
    content.take(count.min(MOST) as u64).read_to_end(&mut part)?;
    let end = from.min(total) + part.len() as u64;
    let text = String::from_utf8_lossy(&part).into_owned();
    Ok(if end < total { format!("{text}\n[bytes {from} to {end} of {total}]") } else { text })
}

fn pointed(opened: Opened, pointer: &str) -> Result<String, StoreFault> {
    if opened.bytes > LONGEST_DOCUMENT {
        return Err(StoreFault::Full { bytes: opened.bytes, quota: LONGEST_DOCUMENT });
    }
    let document: Value = match serde_json::from_reader(BufReader::new(opened.content)) {
        Ok(document) => document,
        Err(_) => return Ok("[what is kept is not JSON; read it by lines, bytes or grep]".to_owned()),
    };
    let Some(found) = document.pointer(pointer) else {
        return Ok(format!("[nothing is at {}; {}]", cut(pointer, 200), nearest(&document, pointer)));
    };
    let text = match found {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MOST {
        return Ok(text);
    }
    Ok(format!(
        "{}\n[{} more bytes; use a longer pointer: {}]",
        cut(&text, MOST),
        text.len() - MOST,
        shape(found)
    ))
}

/// How far a pointer leads, and what is there.
fn nearest(document: &Value, pointer: &str) -> String {
    let mut end = pointer.len();
    while let Some(at) = pointer[..end].rfind('/') {
        end = at;
        if let Some(found) = document.pointer(&pointer[..end]) {
            return format!("at `{}` is {}", cut(&pointer[..end], 200), shape(found));
        }
    }
    format!("the document is {}", shape(document))
}

fn shape(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let keys: Vec<_> = map.keys().take(20).map(String::as_str).collect();
            format!("an object of {} fields: {}", map.len(), cut(&keys.join(", "), 500))
        }
        Value::Array(items) => format!("a list of {} items", items.len()),
        Value::String(_) => "a text".to_owned(),
        other => format!("{other}"),
    }
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
