//! A thousand damaged streams: each ends, none panics, and what is in the history is taken by all three providers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tollgate::wire::{Provider, Stop, TurnReader, check, read_turn};
use tollgate_agent::{
    Agent, Limits, Part,
    history::Projection,
    model::{Broken, Model, ModelError, Reply, Request, Step},
    session::new_session_id,
};

use crate::world::{World, within};

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"write","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"b\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

"#;

const CHAT: &str = r#"data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"so"},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"write","arguments":""}}]},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"b\"}"}}]},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

const RESPONSES: &str = r#"data: {"type":"response.created","response":{"id":"r","status":"in_progress","output":[]}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"write","arguments":"","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc_1","delta":"{\"path\":\"b\"}"}

data: {"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","arguments":"{\"path\":\"b\"}"}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"write","arguments":"{\"path\":\"b\"}","status":"completed"}}

data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"c1","name":"write","arguments":"{\"path\":\"b\"}","status":"completed"}]}}

"#;

/// Answers with these bytes first, and with a plain text ever after.
struct Damaged {
    provider: Provider,
    bytes: Vec<u8>,
    asked: AtomicUsize,
}

impl Model for Damaged {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn name(&self) -> &'static str {
        "damaged"
    }

    fn ask(&self, _: Request) -> Reply {
        if self.asked.fetch_add(1, Ordering::Relaxed) > 0 {
            let body = match self.provider {
                Provider::Anthropic => {
                    r#"{"role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}"#
                }
                Provider::OpenAiResponses => {
                    r#"{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}"#
                }
                Provider::OpenAiChat => {
                    r#"{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#
                }
            };
            return Reply::of(vec![Step::Done(Box::new(read_turn(self.provider, body.as_bytes()).unwrap()))]);
        }
        let mut reader = TurnReader::new(self.provider);
        let mut steps: Vec<Step> =
            self.bytes.chunks(37).flat_map(|chunk| reader.push(chunk)).map(Step::Event).collect();
        let turn = reader.finish();
        steps.push(match turn.stop {
            Stop::Failed(_) | Stop::ProviderFailed { .. } => Step::Broken(Broken {
                error: ModelError::cut(turn.stop.reason()),
                partial: Some(Box::new(turn)),
            }),
            _ => Step::Done(Box::new(turn)),
        });
        Reply::of(steps)
    }
}

/// Numbers that look like chance and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most.max(1)
    }
}

fn damaged(text: &str, dice: &mut Dice) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.below(3) {
        let (at, length) = (dice.below(bytes.len()), dice.below(60));
        let end = (at + length).min(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << (length % 8)),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => drop(bytes.splice(at..end, *b"\"}]\n\n")),
        }
    }
    bytes
}

#[tokio::test]
async fn a_thousand_damaged_streams_neither_panic_nor_hang_nor_leave_a_bad_history() {
    let world = World::new().await;
    let gate = world.gate();
    let mut dice = Dice(7);
    for round in 0..1_000 {
        let (provider, text) = [
            (Provider::Anthropic, ANTHROPIC),
            (Provider::OpenAiResponses, RESPONSES),
            (Provider::OpenAiChat, CHAT),
        ][round % 3];
        let bytes = damaged(text, &mut dice);
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let whole = {
            let mut reader = TurnReader::new(provider);
            reader.push(&bytes);
            let turn = reader.finish();
            !turn.stop.is_cut() && turn.calls.iter().any(|call| call.fault().is_none())
        };
        let model = Arc::new(Damaged { provider, bytes, asked: AtomicUsize::new(0) });
        let limits = Limits { turns: Some(5), ..Limits::default() };
        let agent = Agent::builder(model, gate.clone(), world.scope())
            .limits(limits)
            .retry_pause(std::time::Duration::ZERO)
            .build();
        let ran = world.log.all().len();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        within(conversation.say(vec![Part::text("go")])).await;
        assert!(whole || world.log.all().len() == ran, "a call of a cut turn ran: {shown}");
        for provider in Provider::ALL {
            let mut projection = Projection::new(provider, "damaged");
            projection.update(conversation.machine().history(), 0);
            assert_eq!(check(provider, projection.messages()), Vec::<String>::new(), "{provider} {shown}");
        }
    }
    assert!(world.log.all().len() > 50, "some of them are whole");
}

#[tokio::test]
async fn the_undamaged_streams_run_their_call() {
    for (provider, text) in [
        (Provider::Anthropic, ANTHROPIC),
        (Provider::OpenAiResponses, RESPONSES),
        (Provider::OpenAiChat, CHAT),
    ] {
        let world = World::new().await;
        let model =
            Arc::new(Damaged { provider, bytes: text.as_bytes().to_vec(), asked: AtomicUsize::new(0) });
        let agent = Agent::builder(model, world.gate(), world.scope()).build();
        within(agent.begin(new_session_id()).unwrap().say(vec![Part::text("go")])).await;
        assert_eq!(world.log.all(), ["write b"], "{provider}");
    }
}
