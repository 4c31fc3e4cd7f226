//! A call in few words: what it is about before it ran, what came of it after.

use serde_json::{Map, Value};
use tollgate::{
    Output, Settled,
    outcome::{FailureKind, Item, Outcome},
};

use super::style::{Colour, Style};
use crate::words::visible;

/// How a call ended, in one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Ok,
    Refused,
    Failed,
    Unknown,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) mark: Mark,
    /// A few words for the call's own line.
    pub(crate) words: String,
    /// What is shown below it.
    pub(crate) below: Vec<(Style, String)>,
}

impl Mark {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Ok => "✓",
            Self::Refused => "✗",
            Self::Failed => "!",
            Self::Unknown => "?",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn style(self) -> Style {
        Style::of(match self {
            Self::Ok => Colour::Green,
            Self::Refused => Colour::Yellow,
            Self::Failed | Self::Unknown => Colour::Red,
        })
    }
}

/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 19] = [
    "command",
    "path",
    "file_path",
    "file",
    "pattern",
    "query",
    "url",
    "goal",
    "task",
    "question",
    "name",
    "job",
    "role",
    "id",
    "ref",
    "title",
    "text",
    "message",
    "report",
];

/// What a call is about: its tool, and the argument that tells most. Always one line.
pub(crate) fn title(tool: &str, args: &str) -> String {
    let tool = visible(tool);
    let told = match serde_json::from_str(args) {
        Ok(Value::Object(args)) => telling(&args),
        _ => visible(args),
    };
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    if told.is_empty() { tool } else { format!("{tool} {told}") }
}

fn telling(args: &Map<String, Value>) -> String {
    let pattern = args.get("pattern").and_then(Value::as_str);
    if let (Some(pattern), Some(path)) = (pattern, args.get("path").and_then(Value::as_str)) {
        return format!("{} in {}", visible(pattern), visible(path));
    }
    let told = TELLING.iter().find_map(|name| match args.get(*name)? {
        Value::String(text) => Some(visible_lines(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    told.or_else(|| many(args)).unwrap_or_else(|| {
        if args.is_empty() { String::new() } else { visible(&Value::Object(args.clone()).to_string()) }
    })
}

/// A list of paths, of which a line has room for the first.
fn many(args: &Map<String, Value>) -> Option<String> {
    let (_, list) = args.iter().find(|(name, _)| matches!(name.as_str(), "paths" | "files" | "reads"))?;
    let list = list.as_array()?;
    let first = match list.first()? {
        Value::String(path) => path.as_str(),
        Value::Object(one) => one.get("path")?.as_str()?,
        _ => return None,
    };
    let more = if list.len() > 1 { format!(" and {} more", list.len() - 1) } else { String::new() };
    Some(format!("{}{more}", visible(first)))
}

fn visible_lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join(" ")
}

/// How much is shown below a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expand {
    /// A diff, the end of a command's output, the reason of a refusal.
    Short,
    /// Everything.
    Whole,
}

const DIFF_LINES: usize = 14;
const OUTPUT_LINES: usize = 6;

/// What came of a call.
pub(crate) fn about(settled: &Settled, expand: Expand) -> About {
    let plain = |text: &str| -> Vec<(Style, String)> {
        text.lines().map(|line| (Style::DIM, visible(line))).collect()
    };
    match &settled.outcome {
        Outcome::Ok(output) => of_output(output, expand),
        Outcome::Refused(refusal) => {
            let mut below = plain(&refusal.reason);
            if let Some(rule) = &refusal.rule {
                below.push((Style::DIM, visible(&format!("rule {}   {}", rule.text, rule.source))));
            }
            let words = format!("refused at {}, {}", settled.phase.title(), refusal.code);
            About { mark: Mark::Refused, words, below }
        }
        Outcome::Failed(failure) => {
            let (mark, words) = match failure.kind {
                FailureKind::Unknown => (Mark::Unknown, "nobody knows whether it took effect"),
                FailureKind::Retryable => (Mark::Failed, "failed, nothing happened"),
                FailureKind::Fatal => (Mark::Failed, "failed"),
            };
            About { mark, words: words.to_owned(), below: plain(&failure.message) }
        }
    }
}

fn of_output(output: &Output, expand: Expand) -> About {
    let texts = output.items.iter().filter_map(|item| match item {
        Item::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    let json = output.items.iter().find_map(|item| match item {
        Item::Json { json } => json.as_object(),
        _ => None,
    });
    if let Some(diff) = texts.iter().find(|text| is_diff(text)) {
        return About { mark: Mark::Ok, words: changed(json, diff), below: diff_lines(diff, expand) };
    }
    if let Some(command) = json.filter(|json| json.contains_key("exit_code") || json.contains_key("status")) {
        return of_command(command, expand);
    }
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    let pictures = output.items.iter().filter(|item| matches!(item, Item::Image { .. })).count();
    let mut words = Vec::new();
    if lines > 0 {
        words.push(counted(lines, "line"));
    }
    if pictures > 0 {
        words.push(counted(pictures, "picture"));
    }
    let below = match expand {
        Expand::Short => Vec::new(),
        Expand::Whole => {
            texts.iter().flat_map(|text| text.lines()).map(|line| (Style::DIM, visible(line))).collect()
        }
    };
    About { mark: Mark::Ok, words: words.join(", "), below }
}

fn is_diff(text: &str) -> bool {
    text.starts_with("--- ") && text.lines().any(|line| line.starts_with("@@ "))
}

fn changed(json: Option<&Map<String, Value>>, diff: &str) -> String {
    let count = |sign: char, head: &str| {
        diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    let change = json.and_then(|json| json.get("change")?.as_str()).unwrap_or("changed");
    format!("{} +{} −{}", visible(change), count('+', "+++ "), count('-', "--- "))
}

fn diff_lines(diff: &str, expand: Expand) -> Vec<(Style, String)> {
    let heads = |line: &&str| !line.starts_with("--- ") && !line.starts_with("+++ ");
    let styled = |line: &str| {
        let style = match line.chars().next() {
            Some('+') => Style::of(Colour::Green),
            Some('-') => Style::of(Colour::Red),
            _ => Style::DIM,
        };
        (style, visible(line))
    };
    shortened(diff.lines().filter(heads).map(styled).collect(), DIFF_LINES, expand, End::Last)
}

fn of_command(json: &Map<String, Value>, expand: Expand) -> About {
    let code = json.get("exit_code").and_then(Value::as_i64);
    let words = match (code, json.get("status").and_then(Value::as_str)) {
        (Some(code), _) if code != 0 => format!("exit {code}"),
        (None, Some(status)) => visible(status),
        _ => String::new(),
    };
    let parts = json.get("output").and_then(Value::as_array).into_iter().flatten();
    let text: String = parts.filter_map(|part| part.get("text")?.as_str()).collect();
    let lines = text.lines().map(|line| (Style::DIM, visible(line))).collect();
    About { mark: Mark::Ok, words, below: shortened(lines, OUTPUT_LINES, expand, End::First) }
}

/// Which part of too many lines is left out.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

fn shortened(
    mut lines: Vec<(Style, String)>,
    most: usize,
    expand: Expand,
    left_out: End,
) -> Vec<(Style, String)> {
    if expand == Expand::Whole || lines.len() <= most {
        return lines;
    }
    let more = lines.len() - (most - 1);
    let note = (Style::DIM, format!("… {more} more lines"));
    match left_out {
        End::Last => {
            lines.truncate(most - 1);
            lines.push(note);
        }
        End::First => {
            lines.drain(..more);
            lines.insert(0, note);
        }
    }
    lines
}

/// A number and its noun.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_line_that_tells_what_the_call_is_about() {
        let cases = [
            ("read_file", r#"{"path":"src/main.rs"}"#, "read_file src/main.rs"),
            ("shell", r#"{"command":"cargo test\n  -q"}"#, "shell cargo test -q"),
            ("grep", r#"{"pattern":"fn main","path":"src"}"#, "grep fn main in src"),
            ("read", r#"{"reads":[{"path":"a"},{"path":"b"}]}"#, "read a and 1 more"),
            ("odd", r#"{"limit":5}"#, r#"odd {"limit":5}"#),
            ("bare", "{}", "bare"),
            ("broken", "{\"path\": ", "broken {\"path\":"),
            ("shell", r#"{"command":"ls \u202e"}"#, "shell ls \\u{202e}"),
        ];
        for (tool, args, expected) in cases {
            assert_eq!(title(tool, args), expected);
        }
    }

    #[test]
    fn a_diff_and_an_output_are_shortened_where_they_are_least_missed() {
        let lines: Vec<_> = (1..=20).map(|number| (Style::PLAIN, number.to_string())).collect();
        let texts = |lines: Vec<(Style, String)>| lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let first = texts(shortened(lines.clone(), 3, Expand::Short, End::First));
        assert_eq!(first, ["… 18 more lines", "19", "20"]);
        let last = texts(shortened(lines.clone(), 3, Expand::Short, End::Last));
        assert_eq!(last, ["1", "2", "… 18 more lines"]);
        assert_eq!(shortened(lines, 3, Expand::Whole, End::Last).len(), 20);
    }
}
