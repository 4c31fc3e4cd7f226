//! Streams in any chunks give the same turn; cut anywhere they give none; broken in any way they neither panic nor hang.

use tollgate::wire::Stop;
use tollgate_agent::{
    model::{ErrorKind, Model, Retries, Step},
    provider::{Api, Client, Settings},
    standin::{Cut, Delivery, Say, StandIn},
};

use crate::support::{APIS, hello, name, steps};

fn looks() -> Say {
    Say::text("Ich schaue “leise” — 好.").thinking("Hm.").call("c1", "read", r#"{"path":"ä"}"#)
}

fn once(standin: &StandIn, name: &str) -> Client {
    standin.model_with(name, Settings { retries: Retries::NONE, ..standin.settings() }).unwrap()
}

#[tokio::test]
async fn chunks_line_ends_and_noise_do_not_change_a_turn() {
    let standin = StandIn::start().await.unwrap();
    for api in APIS {
        let deliveries = [
            Delivery::default(),
            Delivery::bytewise(),
            Delivery { crlf: true, ..Delivery::bytewise() },
            Delivery { noisy: true, crlf: true, chunk: 3, ..Delivery::default() },
            Delivery { noisy: true, ..Delivery::default() },
        ];
        let mut turns = Vec::new();
        for delivery in deliveries {
            standin.say(looks().delivered(delivery));
            turns.push(once(&standin, name(api)).ask(hello(api)).turn().await.unwrap());
        }
        assert_eq!(turns[0].stop, Stop::ToolUse);
        assert!(turns.iter().all(|turn| *turn == turns[0]), "{api:?}: {turns:#?}");
    }
}

#[tokio::test]
async fn a_messages_stream_cut_at_any_byte_is_no_turn_and_runs_nothing() {
    cut_at_every_byte(Api::Anthropic).await;
}

#[tokio::test]
async fn a_responses_stream_cut_at_any_byte_is_no_turn_and_runs_nothing() {
    cut_at_every_byte(Api::OpenAi).await;
}

#[tokio::test]
async fn a_chat_stream_cut_at_any_byte_is_no_turn_and_runs_nothing() {
    cut_at_every_byte(Api::Chat).await;
}

async fn cut_at_every_byte(api: Api) {
    let standin = StandIn::start().await.unwrap();
    let say = Say::text("Hm — 好.").call("c1", "read", r#"{"path":"ä"}"#);
    let model = once(&standin, name(api));
    let length = say.stream_text(api).len();
    for at in 0..length {
        // Every byte as an end that looks like one; some as a connection that breaks.
        let cut = if at % 11 == 0 { Cut::Abort(at) } else { Cut::Close(at) };
        standin.say(say.clone().cut(cut));
        match steps(model.ask(hello(api))).await.pop() {
            Some(Step::Broken(broken)) => {
                assert_eq!(broken.error.kind(), ErrorKind::Cut, "{api:?} at {at}: {}", broken.error);
                let calls = broken.partial.map(|turn| turn.calls).unwrap_or_default();
                assert!(calls.iter().all(|call| call.fault().is_some()), "{api:?} at {at}");
            }
            // The last words of a stream only say that it is over.
            Some(Step::Done(turn)) => {
                assert!(length - at < 250, "{api:?}: done at {at} of {length}");
                assert_eq!((turn.stop, turn.calls.len()), (Stop::ToolUse, 1));
            }
            other => panic!("{api:?} at {at}: {other:?}"),
        }
    }
    assert_eq!(standin.refused(), []);
}

#[tokio::test]
async fn a_thousand_damaged_streams_end_as_a_turn_or_as_a_fault_that_runs_nothing() {
    let standin = StandIn::start().await.unwrap();
    let models = APIS.map(|api| once(&standin, name(api)));
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for at in 0..1_000 {
        let api = APIS[at % 3];
        let mut bytes = looks().call("c2", "read", "{}").stream_text(api).into_bytes();
        for _ in 0..=dice.below(6) {
            damage(&mut bytes, &mut dice);
        }
        let kind = if dice.below(4) == 0 { "application/json" } else { "text/event-stream" };
        let delivery = Delivery { chunk: dice.below(40), ..Delivery::default() };
        standin.say(Say::raw(200, kind, bytes.clone()).delivered(delivery));
        match steps(models[at % 3].ask(hello(api))).await.pop() {
            Some(Step::Done(turn)) => assert!(turn.calls.len() <= 1_000),
            Some(Step::Broken(broken)) => {
                assert!(!broken.error.to_string().chars().any(char::is_control), "{}", broken.error);
                let calls = broken.partial.map(|turn| turn.calls).unwrap_or_default();
                assert!(
                    calls.iter().all(|call| call.fault().is_some()),
                    "{}",
                    String::from_utf8_lossy(&bytes)
                );
            }
            other => panic!("{other:?} for {}", String::from_utf8_lossy(&bytes)),
        }
    }
}

/// Changes, drops, doubles or moves a part.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let from = dice.below(bytes.len());
    let to = (from + dice.below(60)).min(bytes.len());
    match dice.below(6) {
        0 => bytes[from] = u8::try_from(dice.below(256)).unwrap(),
        1 => drop(bytes.drain(from..to)),
        2 => {
            let again = bytes[from..to].to_vec();
            let at = dice.below(bytes.len());
            bytes.splice(at..at, again);
        }
        3 => bytes.truncate(from),
        4 => bytes.insert(from, b'\n'),
        _ => drop(bytes.splice(from..from, *b"\"}]{\\u0000\xFF")),
    }
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}
