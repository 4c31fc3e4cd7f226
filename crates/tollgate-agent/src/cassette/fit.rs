//! Whether what a model is shown is what its cassette has, and in words where not.

use super::{
    places::Places,
    shown::{Answer, Shown, What},
    tape::{Expected, ResultLine},
};

/// `None` where it fits; otherwise what was expected, what came, and in which message.
pub(super) fn departure(expects: &[Expected], shown: &[Shown], places: &Places) -> Option<String> {
    let last = shown.last().map_or(0, |shown| shown.message);
    let mut asked = Vec::new();
    for expected in expects {
        match expected {
            Expected::Result { result, line } => {
                asked.push(&*result.result);
                let came = answers(shown).find(|(_, answer)| answer.id == result.result);
                let Some((message, answer)) = came else {
                    let what = came_instead(shown);
                    return Some(format!(
                        "line {line} has the result of call `{}`, and message {last} brings {what}",
                        result.result
                    ));
                };
                if let Some((expected, came)) = differs(result, answer, places) {
                    return Some(format!(
                        "line {line} has the result of call `{}` {expected}, and in message {message} it {came}",
                        result.result
                    ));
                }
            }
            Expected::User { text, line } => {
                let said = texts(shown);
                if !stands_in(&places.put_in(text), &said) {
                    let what = if said.is_empty() { came_instead(shown) } else { quoted(&said) };
                    return Some(format!(
                        "line {line} has the user say {}, and message {last} brings {what}",
                        quoted(text)
                    ));
                }
            }
        }
    }
    let extra = answers(shown).find(|(_, answer)| !asked.contains(&&*answer.id));
    if let Some((message, answer)) = extra {
        return Some(format!(
            "message {message} brings the result of call `{}`, of which it knows nothing",
            answer.id
        ));
    }
    // A text beside results may be context that was put in; a text alone is somebody who says something.
    if asked.is_empty() && !expects.iter().any(|expected| matches!(expected, Expected::User { .. })) {
        let said = texts(shown);
        return (!said.is_empty())
            .then(|| format!("message {last} brings {}, and nothing is expected", quoted(&said)));
    }
    None
}

/// What came, where something else should have.
pub(super) fn came_instead(shown: &[Shown]) -> String {
    let ids: Vec<_> = answers(shown).map(|(_, answer)| format!("`{}`", answer.id)).collect();
    match (ids.is_empty(), texts(shown)) {
        (false, _) => format!("the results of {}", ids.join(", ")),
        (true, text) if !text.is_empty() => quoted(&text),
        _ => "nothing new".to_owned(),
    }
}

fn answers(shown: &[Shown]) -> impl Iterator<Item = (usize, &Answer)> {
    shown.iter().filter_map(|shown| match &shown.what {
        What::Result(answer) => Some((shown.message, answer)),
        What::User(_) => None,
    })
}

fn texts(shown: &[Shown]) -> String {
    let texts = shown.iter().filter_map(|shown| match &shown.what {
        What::User(text) => Some(text.as_str()),
        What::Result(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What was expected of a result, and what it is instead.
fn differs(expected: &ResultLine, came: &Answer, places: &Places) -> Option<(String, String)> {
    let is = || match &came.code {
        Some(code) => format!("is `{}` ({code})", came.status),
        None => format!("is `{}`", came.status),
    };
    if let Some(status) = &expected.status {
        let fits = *status == came.status
            || status == "error" && came.status != "ok"
            || came.status == "error" && status != "ok";
        if !fits {
            return Some((format!("as `{status}`"), is()));
        }
    }
    if let Some(code) = expected.code.as_ref().filter(|code| came.code.as_ref() != Some(code)) {
        return Some((format!("with the code `{code}`"), is()));
    }
    let says = expected.says.as_ref()?;
    let fits = stands_in(&places.put_in(says), &came.text);
    (!fits).then(|| (format!("say {}", quoted(says)), format!("says {}", quoted(&came.text))))
}

/// Whether a text stands in another one; `{{anything}}` stands for any text, and space for space.
fn stands_in(pattern: &str, text: &str) -> bool {
    let text = spaced(text);
    let mut rest = &*text;
    let mut pattern = &*spaced(pattern);
    while !pattern.is_empty() {
        let (literal, after) =
            match pattern.find("{{").and_then(|from| Some((from, pattern[from..].find("}}")? + from))) {
                Some((from, to)) => (&pattern[..from], &pattern[to + 2..]),
                None => (pattern, ""),
            };
        match rest.find(literal) {
            Some(at) => rest = &rest[at + literal.len()..],
            None => return false,
        }
        pattern = after;
    }
    true
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    let text = spaced(text);
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { format!("“{short}…”") } else { format!("“{short}”") }
}
