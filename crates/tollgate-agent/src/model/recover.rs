//! Calls that a small model wrote into its text are found there, and the turn becomes the one that was meant.

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tollgate::{
    call::Proposed,
    outcome::hex,
    wire::{ModelTurn, Provider, Stop},
};

use super::written::{End, Written, WrittenCall};

/// Longer texts are no calls.
const LONGEST: usize = 1 << 20;

/// The turn a model meant when it wrote its calls as JSON into the text; `None` where it did not.
///
/// Looks only at a turn that is over, has no calls, and whose text ends in JSON: bare, in a fence, or in the tags some
/// models are trained on. All of that JSON must be calls that `is_call` takes, which is where the caller asks whether
/// the tool is offered and the arguments fit (`snapshot.takes(&offer.inward(call), route)`); what is only shown as an
/// example in the middle of a text is left alone. `seed` makes the ids: give each turn of a conversation another one.
///
/// A call that was found is proposed like any other, and walks the whole path.
pub fn recover(
    turn: &ModelTurn,
    provider: Provider,
    seed: &str,
    is_call: impl Fn(&Proposed) -> bool,
) -> Option<ModelTurn> {
    if !turn.calls.is_empty() || turn.stop != Stop::EndTurn || turn.text.len() > LONGEST {
        return None;
    }
    let (text, found) = split(&turn.text)?;
    let mut calls = Vec::with_capacity(found.len());
    for (at, (name, input)) in found.into_iter().enumerate() {
        let call = WrittenCall { id: made_id(seed, at, &turn.text), name, input };
        if !is_call(&Proposed::new(&call.id, call.name.as_str(), call.input.as_str())) {
            return None;
        }
        calls.push(call);
    }
    let written = Written { text: text.trim().to_owned(), calls, end: End::Done };
    let mut recovered = written.turn(provider).ok()?;
    recovered.usage = turn.usage;
    Some(recovered)
}

/// What stands before the calls, and the calls: name and arguments. `None` where the text does not end in calls.
fn split(text: &str) -> Option<(&str, Vec<(String, String)>)> {
    // The first place from which all that follows is calls is where they begin.
    starts(text).find_map(|start| {
        let calls = all_calls(&text[start..])?;
        Some((&text[..start], calls))
    })
}

/// Where calls may begin: a bracket, a fence or a tag at the beginning of a line.
fn starts(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at + (line.len() - line.trim_start().len());
        at += line.len();
        let begins = ["{", "[", "```", "<"].iter().any(|mark| line.trim_start().starts_with(mark));
        begins.then_some(start)
    })
}

/// The words models put around a call, none of which means anything by itself.
const WRAPPERS: [&str; 14] = [
    "```json",
    "```tool_call",
    "```tool_code",
    "```",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_call>",
    "</function_call>",
    "[TOOL_CALLS]",
    "<|python_tag|>",
    "<|tool_call|>",
    "<|eom_id|>",
];

/// The calls of a text that is nothing but calls.
fn all_calls(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut calls = Vec::new();
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == ';');
        if text.is_empty() {
            return (!calls.is_empty()).then_some(calls);
        }
        if let Some(rest) = WRAPPERS.iter().find_map(|wrapper| text.strip_prefix(wrapper)) {
            text = rest;
            continue;
        }
        let (found, rest) = named_by_tag(text).or_else(|| json(text))?;
        calls.extend(found);
        text = rest;
    }
}

/// `<function=NAME>{…}</function>`.
fn named_by_tag(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let (name, rest) = text.strip_prefix("<function=")?.split_once('>')?;
    let (input, rest) = rest.split_once("</function>")?;
    Some((vec![(name.trim().to_owned(), input.trim().to_owned())], rest))
}

fn json(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let value = values.next()?.ok()?;
    let rest = &text[values.byte_offset()..];
    Some((calls_of(value)?, rest))
}

/// A call, a list of calls, or an object that holds such a list.
fn calls_of(value: &RawValue) -> Option<Vec<(String, String)>> {
    #[derive(Deserialize)]
    struct Wrapped<'a> {
        #[serde(borrow)]
        tool_calls: &'a RawValue,
    }
    if value.get().starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value.get()).ok()?;
        return items.into_iter().map(one).collect();
    }
    match serde_json::from_str::<Wrapped<'_>>(value.get()) {
        Ok(wrapped) => calls_of(wrapped.tool_calls),
        Err(_) => Some(vec![one(value)?]),
    }
}

/// One call, in any of the spellings. A key that stands twice, or under two spellings, makes it none: nobody can tell
/// which was meant.
fn one(value: &RawValue) -> Option<(String, String)> {
    #[derive(Deserialize)]
    struct Call<'a> {
        #[serde(default, alias = "tool", alias = "tool_name")]
        name: Option<String>,
        #[serde(borrow, default, alias = "parameters", alias = "input", alias = "args")]
        arguments: Option<&'a RawValue>,
        #[serde(borrow, default)]
        function: Option<&'a RawValue>,
    }
    let call: Call<'_> = serde_json::from_str(value.get()).ok()?;
    match (call.name, call.function) {
        (Some(name), None) => Some((name, text_of(call.arguments?))),
        (None, Some(function)) => match serde_json::from_str::<String>(function.get()) {
            Ok(name) => Some((name, text_of(call.arguments?))),
            Err(_) if call.arguments.is_none() => one(function),
            Err(_) => None,
        },
        _ => None,
    }
}

/// Arguments as JSON text; some models write them as a string of it.
fn text_of(arguments: &RawValue) -> String {
    serde_json::from_str(arguments.get()).unwrap_or_else(|_| arguments.get().to_owned())
}

fn made_id(seed: &str, at: usize, text: &str) -> String {
    let mut hash = Sha256::new();
    for part in [seed.as_bytes(), &at.to_le_bytes(), text.as_bytes()] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("call_{}", hex(&hash.finalize()[..12]))
}

#[cfg(test)]
mod tests {
    use tollgate::wire::{check, read_turn};

    use super::*;

    fn said(text: &str) -> ModelTurn {
        let body = serde_json::json!({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
        read_turn(Provider::OpenAiChat, body.to_string().as_bytes()).unwrap()
    }

    fn is_read(call: &Proposed) -> bool {
        let input: Option<serde_json::Value> = serde_json::from_str(call.input.as_str()).ok();
        call.name == "read" && input.is_some_and(|input| input["path"].is_string())
    }

    fn found(text: &str) -> Option<(String, Vec<String>)> {
        let turn = recover(&said(text), Provider::OpenAiChat, "run 1", is_read)?;
        assert_eq!(turn.stop, Stop::ToolUse);
        Some((turn.text, turn.calls.iter().map(|call| call.input.as_str().to_owned()).collect()))
    }

    #[test]
    fn calls_are_found_in_every_spelling_models_have_for_them() {
        let a = r#"{"path":"a"}"#;
        let texts = [
            r#"{"name":"read","arguments":{"path":"a"}}"#,
            r#"{"name":"read","parameters":{"path":"a"}}"#,
            r#"  {"tool":"read","input":{"path":"a"}}  "#,
            r#"{"name":"read","arguments":"{\"path\":\"a\"}"}"#,
            r#"{"type":"function","function":{"name":"read","arguments":{"path":"a"}}}"#,
            r#"{"function":"read","args":{"path":"a"}}"#,
            r#"[{"name":"read","arguments":{"path":"a"}}]"#,
            r#"{"tool_calls":[{"id":"x","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}"#,
            "```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```",
            "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\":\"a\"}}\n</tool_call>",
            "[TOOL_CALLS][{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}]",
            "<|python_tag|>{\"name\":\"read\",\"parameters\":{\"path\":\"a\"}}<|eom_id|>",
            "<function=read>{\"path\":\"a\"}</function>",
        ];
        for text in texts {
            assert_eq!(found(text), Some((String::new(), vec![a.to_owned()])), "{text}");
        }
    }

    #[test]
    fn what_is_said_before_stays_text_and_several_calls_are_several() {
        let text = "I read both.\n\n<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>\n<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"b\"}}</tool_call>";
        let (said, calls) = found(text).unwrap();
        assert_eq!((said.as_str(), calls.len()), ("I read both.", 2));
    }

    #[test]
    fn what_is_no_call_of_an_offered_tool_or_only_an_example_is_left_alone() {
        let texts = [
            "Just words.",
            "",
            r#"{"name":"write","arguments":{"path":"a"}}"#,
            r#"{"name":"read","arguments":{"file":"a"}}"#,
            r#"{"name":"read"}"#,
            r#"{"name":"read","arguments":{"path":"a"}} is how you would call it."#,
            "Call it so:\n```json\n{\"name\":\"read\",\"arguments\":{\"path\":\"a\"}}\n```\nThen wait.",
            r#"{"name":"read","name":"read","arguments":{"path":"a"}}"#,
            r#"{"name":"read","arguments":{"path":"a"},"input":{"path":"b"}}"#,
            r#"{"name":"read","arguments":{"path":"a"}"#,
            r#"[{"name":"read","arguments":{"path":"a"}},{"name":"write","arguments":{}}]"#,
            "[]",
            "{}",
            "```\n```",
        ];
        for text in texts {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_turn_that_was_cut_or_has_calls_is_left_alone() {
        let mut turn = said(r#"{"name":"read","arguments":{"path":"a"}}"#);
        turn.stop = Stop::MaxTokens;
        assert_eq!(recover(&turn, Provider::OpenAiChat, "1", is_read), None);
        turn.stop = Stop::EndTurn;
        turn.calls = vec![Proposed::new("c", "read", "{}")];
        assert_eq!(recover(&turn, Provider::OpenAiChat, "1", is_read), None);
    }

    #[test]
    fn ids_differ_by_turn_and_place_and_the_message_is_one_the_provider_takes() {
        let text = r#"[{"name":"read","arguments":{"path":"a"}},{"name":"read","arguments":{"path":"a"}}]"#;
        for provider in Provider::ALL {
            let first = recover(&said(text), provider, "1", is_read).unwrap();
            let second = recover(&said(text), provider, "2", is_read).unwrap();
            let ids: std::collections::HashSet<_> =
                first.calls.iter().chain(&second.calls).map(|call| call.id.to_string()).collect();
            assert_eq!(ids.len(), 4);
            assert!(ids.iter().all(|id| id.len() <= 40));
            let history = match first.message {
                serde_json::Value::Array(items) => items,
                message => vec![serde_json::json!({"role": "user", "content": "x"}), message],
            };
            // All it lacks are the results.
            let faults = check(provider, &history);
            assert!(faults.iter().all(|fault| fault.contains("result")) && faults.len() == 2, "{faults:?}");
        }
    }
}
