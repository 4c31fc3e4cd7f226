//! Any interleaving of answers, denials, interruptions, crashes, compaction and resumption gives a history that every
//! provider takes, and the same facts give the same machine.

#![allow(clippy::unwrap_used, reason = "a test fails as loudly as it can")]

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate::{
    Proposed, Refusal, Settled,
    outcome::RefusalCode,
    tool::CallId,
    wire::{Provider, check, read_turn},
};
use tollgate_agent::{
    Limits, Machine, Part,
    history::{Aside, Kept, Projection, Turn},
    machine::{Answered, Fact, ModelFault, Step, Then},
};

/// Something that happens; what does not fit where the conversation stands is skipped.
#[derive(Debug, Clone)]
enum Happens {
    Said(bool),
    Answer {
        provider: usize,
        text: bool,
        calls: Vec<(u8, u8)>,
        stop: u8,
    },
    Fails(u8),
    Settles {
        which: usize,
        how: u8,
    },
    Interrupt,
    /// The process ends and the conversation is taken up again.
    Crash,
    Compact(usize),
    Context,
    GoOn,
    AskAgain,
}

fn happens() -> impl Strategy<Value = Happens> {
    let calls = prop::collection::vec((0u8..6, 0u8..5), 0..5);
    prop_oneof![
        2 => any::<bool>().prop_map(Happens::Said),
        6 => (0usize..3, any::<bool>(), calls, 0u8..10)
            .prop_map(|(provider, text, calls, stop)| Happens::Answer { provider, text, calls, stop }),
        1 => (0u8..4).prop_map(Happens::Fails),
        10 => (0usize..5, 0u8..6).prop_map(|(which, how)| Happens::Settles { which, how }),
        1 => Just(Happens::Interrupt),
        2 => Just(Happens::Crash),
        1 => (0usize..3).prop_map(Happens::Compact),
        1 => Just(Happens::Context),
        1 => Just(Happens::GoOn),
        1 => Just(Happens::AskAgain),
    ]
}

/// Ids as providers write them, some of them more than once, too long, or of odd characters.
fn id(number: u8) -> String {
    match number {
        5 => "odd id/with:signs".to_owned(),
        4 => "long".repeat(30),
        number => format!("call_{number}"),
    }
}

fn body(provider: Provider, text: bool, calls: &[(u8, u8)], stop: u8) -> Value {
    let inputs = ["{}", r#"{"path":"a"}"#, r#"{"pa"#, "[]", ""];
    let words = if text { "words" } else { "" };
    match provider {
        Provider::Anthropic => {
            let mut content = vec![json!({"type": "thinking", "thinking": "hm", "signature": "sig"})];
            if text {
                content.push(json!({"type": "text", "text": words}));
            }
            content.extend(calls.iter().map(|(number, input)| {
                let input: Value = serde_json::from_str(inputs[*input as usize]).unwrap_or(Value::Null);
                json!({"type": "tool_use", "id": id(*number), "name": "a tool", "input": input})
            }));
            let stops = [
                "end_turn",
                "tool_use",
                "max_tokens",
                "pause_turn",
                "refusal",
                "model_context_window_exceeded",
            ];
            json!({"role": "assistant", "content": content, "stop_reason": stops[stop as usize % 6]})
        }
        Provider::OpenAiResponses => {
            let mut output = vec![json!({"type": "reasoning", "id": "rs_1", "summary": []})];
            if text {
                output.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": words}]}));
            }
            output.extend(calls.iter().map(|(number, input)| {
                json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": id(*number), "name": "tool", "arguments": inputs[*input as usize]})
            }));
            let status = ["completed", "completed", "incomplete"][stop as usize % 3];
            json!({"status": status, "output": output})
        }
        Provider::OpenAiChat => {
            let mut message = json!({"role": "assistant", "content": words});
            if !calls.is_empty() {
                message["tool_calls"] = calls
                    .iter()
                    .map(|(number, input)| json!({"id": id(*number), "type": "function", "function": {"name": "tool", "arguments": inputs[*input as usize]}}))
                    .collect();
            }
            let stops = ["stop", "tool_calls", "length", "content_filter"];
            json!({"choices": [{"message": message, "finish_reason": stops[stop as usize % 4]}]})
        }
    }
}

fn answered(machine: &Machine, provider: usize, text: bool, calls: &[(u8, u8)], stop: u8) -> Fact {
    let provider = Provider::ALL[provider];
    let body = body(provider, text, calls, stop).to_string();
    let turn = read_turn(provider, body.as_bytes()).unwrap();
    let calls: Vec<Proposed> = turn.calls.clone();
    Fact::Answered(Box::new(Answered {
        turn: Turn::of(&turn, machine.turn() + 1, (provider, "m"), &calls),
        stop: turn.stop.clone(),
        faults: turn.faults.clone(),
        usage: None,
        microdollars: 0,
    }))
}

fn settled(id: &CallId, how: u8) -> Fact {
    let stored = |status: &str, rest: Value| {
        let mut stored = json!({"id": id.as_str(), "tool": "tool", "status": status, "attempts": 1});
        stored.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Settled::restore(stored.to_string().as_bytes()).unwrap()
    };
    let answer = match how {
        0 => stored(
            "ok",
            json!({"output": [{"type": "text", "text": "x".repeat(2000)}], "trust": "untrusted_content"}),
        ),
        1 => stored("ok", json!({"output": []})),
        2 => stored(
            "ok",
            json!({"output": [{"type": "image", "mime": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="}]}),
        ),
        3 => stored("fatal_error", json!({"reason": ""})),
        4 => Settled::never_ran(
            id.clone(),
            "tool",
            Refusal::new(RefusalCode::ApprovalRequired, "nobody is there"),
        ),
        _ => Settled::lost(id.clone(), "tool", "gone"),
    };
    Fact::Settled { answer: Kept(answer) }
}

/// The fact, where it fits; every open call in turn for the ones about calls.
fn fact(machine: &Machine, happens: &Happens) -> Option<Fact> {
    match (happens, machine.next()) {
        (Happens::Said(picture), _) => {
            let mut parts = vec![Part::text("do it")];
            if *picture {
                parts.push(Part::image("image/png", "iVBORw0KGgoAAAANSUhEUg=="));
            }
            Some(Fact::Said { parts })
        }
        (Happens::Answer { provider, text, calls, stop }, Step::CallModel { .. }) => {
            Some(answered(machine, *provider, *text, calls, *stop))
        }
        (Happens::Fails(how), Step::CallModel { .. }) => {
            let then =
                [Then::Again { after_ms: 1 }, Then::TooLong, Then::Cancelled, Then::GiveUp][*how as usize];
            Some(Fact::Failed(ModelFault { kind: "k".into(), message: "m".into(), hint: "h".into(), then }))
        }
        (Happens::Settles { which, how }, Step::CallTools { open, .. }) => {
            let open: Vec<_> = open.iter().filter(|open| open.answer.is_none()).collect();
            Some(settled(&open[which % open.len()].call.id, *how))
        }
        (Happens::Interrupt, _) => Some(Fact::Interrupted),
        (Happens::Crash, _) => Some(Fact::Resumed),
        (Happens::Compact(keep), _) => {
            let room = machine.history().room(*keep);
            let aside = room.into_iter().map(|room| Aside {
                entry: room.entry,
                id: room.id,
                reference: Some("sha256:00".into()),
                chars: room.chars,
            });
            Some(Fact::Compacted { aside: aside.collect() })
        }
        (Happens::Context, _) => Some(Fact::Context { text: "note".into(), from: "test".into() }),
        (Happens::GoOn, Step::NeedApproval { .. }) => Some(Fact::GoOn),
        (Happens::AskAgain, Step::NeedApproval { missing }) => {
            Some(Fact::AskAgain { calls: missing.iter().map(|missing| missing.call.id.clone()).collect() })
        }
        (_, Step::Wait { for_ms: Some(_) }) => Some(Fact::Waited),
        _ => None,
    }
}

/// The projections of one conversation, kept between its turns as the loop keeps them.
struct Seen {
    kept: Vec<(Provider, Projection)>,
}

impl Seen {
    fn new() -> Self {
        Self {
            kept: Provider::ALL.iter().map(|provider| (*provider, Projection::new(*provider, "m"))).collect(),
        }
    }

    /// Before every request: what is kept is valid, and so is what a fresh start would make of it.
    fn assert_valid(&mut self, machine: &Machine) {
        for (provider, kept) in &mut self.kept {
            kept.update(machine.history(), machine.edition());
            assert_eq!(
                check(*provider, kept.messages()),
                Vec::<String>::new(),
                "{provider} {:#?}",
                kept.messages()
            );
            let mut fresh = Projection::new(*provider, "m");
            fresh.update(machine.history(), machine.edition());
            assert_eq!(check(*provider, fresh.messages()), Vec::<String>::new(), "{provider}");
            unique_ids(*provider, kept.messages());
            // No model goes on from its own words unless it is told to.
            let last = kept.messages().last().unwrap();
            assert_ne!(last["role"], "assistant", "{provider} {:#?}", kept.messages());
            assert_ne!(last["type"], "function_call", "{provider}");
        }
    }
}

/// No id is called twice, and all are ones the provider takes.
fn unique_ids(provider: Provider, messages: &[Value]) {
    let mut ids: Vec<String> = Vec::new();
    for message in messages {
        let found: Vec<&Value> = match provider {
            Provider::Anthropic => message["content"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|block| block["type"] == "tool_use")
                .map(|block| &block["id"])
                .collect(),
            Provider::OpenAiResponses => Some(message)
                .filter(|item| item["type"] == "function_call")
                .map(|item| &item["call_id"])
                .into_iter()
                .collect(),
            Provider::OpenAiChat => {
                message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]).collect()
            }
        };
        ids.extend(found.iter().map(|id| id.as_str().unwrap().to_owned()));
    }
    let longest = if provider == Provider::OpenAiChat { 40 } else { 64 };
    assert!(ids.iter().all(|id| id.len() <= longest), "{provider}: {ids:?}");
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "{provider}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_gives_a_history_that_all_three_providers_take(
        script in prop::collection::vec(happens(), 1..40),
        waits in any::<bool>(),
    ) {
        let limits = Limits { wait_for_person: waits, retries: 1, turns: Some(30), ..Limits::default() };
        let mut machine = Machine::new(limits.clone());
        let mut facts = Vec::new();
        let mut seen = Seen::new();
        for happens in &script {
            if matches!(happens, Happens::Crash) {
                // What is taken up is what was written down, and what was written down is the same conversation.
                let text: Vec<String> = facts.iter().map(|fact| serde_json::to_string(fact).unwrap()).collect();
                let mut again = Machine::new(limits.clone());
                for line in &text {
                    let _ = again.apply(serde_json::from_str(line).unwrap());
                }
                prop_assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&machine).unwrap());
                let whole: Machine = serde_json::from_value(serde_json::to_value(&machine).unwrap()).unwrap();
                prop_assert_eq!(serde_json::to_value(&whole).unwrap(), serde_json::to_value(&machine).unwrap());
                machine = again;
                seen = Seen::new();
            }
            let Some(fact) = fact(&machine, happens) else { continue };
            facts.push(fact.clone());
            let _ = machine.apply(fact);
            if matches!(machine.next(), Step::CallModel { .. }) {
                seen.assert_valid(&machine);
            }
        }
    }
}
