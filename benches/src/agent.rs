//! The loop's own time: everything of a turn but the model and the tools.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::stream;
use serde_json::json;
use tollgate::{
    Effects, Output, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    policy::Rules,
    tool::ToolBuilder,
    wire::{ModelTurn, Provider, Stop, TurnEvent, Usage},
};
use tollgate_agent::{
    Agent, Limits, Part,
    model::{Model, Reply, Request, Step},
};

use crate::table::{Row, wanted};

/// The rows about the loop.
pub(crate) fn rows() -> Vec<Row> {
    if !wanted("loop") {
        return Vec::new();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut rows = Vec::new();
    for provider in Provider::ALL {
        for (messages, limit) in [(100, Duration::from_millis(1)), (2_000, Duration::from_millis(5))] {
            let time = runtime.block_on(per_turn(provider, messages));
            let name = format!("loop, a turn at {messages} messages, {provider}");
            rows.push(Row::ratio(&name, "the time it may take", limit, time, Some(1.0)));
        }
    }
    let (stream, turn) = runtime.block_on(eager());
    rows.push(Row::ratio(
        "loop, ten reads during a stream of 2 s",
        "the stream alone",
        stream,
        turn,
        Some(1.05),
    ));
    rows
}

/// Answers at once: a call each turn, until it has been asked often enough.
struct Instantly {
    provider: Provider,
    turns: usize,
    asked: AtomicUsize,
    times: Mutex<Vec<Instant>>,
}

impl Model for Instantly {
    fn provider(&self) -> Provider {
        self.provider
    }

    fn name(&self) -> &'static str {
        "bench:instantly"
    }

    fn ask(&self, request: Request) -> Reply {
        self.times.lock().expect("nobody panics").push(Instant::now());
        let at = self.asked.fetch_add(1, Ordering::Relaxed);
        drop(request);
        let turn = if at < self.turns { call(self.provider, at) } else { text(self.provider) };
        let calls = turn.calls.iter().cloned().map(|call| Step::Event(TurnEvent::CallReady(call)));
        Reply::of(calls.chain([Step::Done(Box::new(turn.clone()))]).collect())
    }
}

fn call(provider: Provider, at: usize) -> ModelTurn {
    let (id, input) = (format!("call_{at}"), json!({"path": format!("src/file_{at}.rs")}));
    let message = match provider {
        Provider::Anthropic => json!({"role": "assistant", "content": [
            {"type": "text", "text": "I look at the next file."},
            {"type": "tool_use", "id": id, "name": "read", "input": input}]}),
        Provider::OpenAiResponses => json!([
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look at the next file."}]},
            {"type": "function_call", "call_id": id, "name": "read", "arguments": input.to_string()}]),
        Provider::OpenAiChat => {
            json!({"role": "assistant", "content": "I look at the next file.", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "read", "arguments": input.to_string()}}]})
        }
    };
    ModelTurn {
        text: "I look at the next file.".to_owned(),
        calls: vec![Proposed::new(&id, "read", &input)],
        stop: Stop::ToolUse,
        usage: Some(Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() }),
        message,
        faults: Vec::new(),
    }
}

fn text(provider: Provider) -> ModelTurn {
    let message = match provider {
        Provider::Anthropic => json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}),
        Provider::OpenAiResponses => {
            json!([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}])
        }
        Provider::OpenAiChat => json!({"role": "assistant", "content": "Done."}),
    };
    ModelTurn {
        text: "Done.".to_owned(),
        calls: Vec::new(),
        stop: Stop::EndTurn,
        usage: None,
        message,
        faults: Vec::new(),
    }
}

/// A gate with a hundred tools, one of which reads a kilobyte after `wait`.
fn gate(wait: Duration) -> Tollgate {
    let schema = || json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let mut registry = Registry::new();
    for at in 0..99 {
        let tool = ToolBuilder::new(&format!("tool_{at}"), "Does something.", schema()).expect("a name");
        registry =
            registry.with(tool.run(|_, _| Box::pin(async { Ok(Output::text("ok")) }))).expect("a tool");
    }
    let read = ToolBuilder::new("read", "Reads a file.", schema())
        .expect("a name")
        .effects(|_, _| Effects::reading())
        .run(move |_, _| {
            Box::pin(async move {
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                Ok(Output::text("a line of text\n".repeat(64)))
            })
        });
    let registry = registry.with(read).expect("a tool");
    Tollgate::builder(registry).policy(Rules::new().allow("*").expect("a rule")).build()
}

fn agent(model: Arc<dyn Model>, wait: Duration) -> Agent {
    let scope = Scope::new(Run::new("bench"), Workspace::new("/tmp"));
    let limits = Limits { turns: None, ..Limits::default() };
    Agent::builder(model, gate(wait), scope).system("You work.").limits(limits).purpose(true).build()
}

/// The time from one question to the next, when the history has so many messages: the lower quartile, as a busy machine
/// makes some of them longer and none shorter.
async fn per_turn(provider: Provider, messages: usize) -> Duration {
    const SHOWN: usize = 41;
    let turns = messages / 2 + SHOWN;
    let model = Arc::new(Instantly { provider, turns, asked: AtomicUsize::new(0), times: Mutex::default() });
    let mut conversation =
        agent(model.clone(), Duration::ZERO).begin(tollgate::tool::RunId::new("b")).expect("kept nowhere");
    conversation.say(vec![Part::text("go")]).await;
    let times = model.times.lock().expect("nobody panics").clone();
    let mut took: Vec<Duration> = times.windows(2).rev().take(SHOWN).map(|pair| pair[1] - pair[0]).collect();
    took.sort_unstable();
    took[SHOWN / 4]
}

/// Streams ten calls over two seconds, then says that it is done.
struct Slowly {
    asked: Mutex<Vec<Instant>>,
    ended: Arc<Mutex<Option<Instant>>>,
}

impl Model for Slowly {
    fn provider(&self) -> Provider {
        Provider::Anthropic
    }

    fn name(&self) -> &'static str {
        "bench:slowly"
    }

    fn ask(&self, _: Request) -> Reply {
        let mut asked = self.asked.lock().expect("nobody panics");
        asked.push(Instant::now());
        if asked.len() > 1 {
            return Reply::of(vec![Step::Done(Box::new(text(Provider::Anthropic)))]);
        }
        let calls: Vec<ModelTurn> = (0..10).map(|at| call(Provider::Anthropic, at)).collect();
        let content: Vec<_> = calls.iter().map(|turn| turn.message["content"][1].clone()).collect();
        let mut whole = text(Provider::Anthropic);
        whole.message = json!({"role": "assistant", "content": content});
        whole.calls = calls.iter().map(|turn| turn.calls[0].clone()).collect();
        whole.stop = Stop::ToolUse;
        let ended = self.ended.clone();
        let steps: Vec<Step> = whole
            .calls
            .iter()
            .cloned()
            .map(|call| Step::Event(TurnEvent::CallReady(call)))
            .chain([Step::Done(Box::new(whole.clone()))])
            .collect();
        Reply::new(stream::unfold((steps.into_iter(), ended), |(mut steps, ended)| async move {
            let step = steps.next()?;
            // Ten calls 195 ms apart, and the end of the turn 50 ms after the last.
            let last = matches!(step, Step::Done(_));
            tokio::time::sleep(Duration::from_millis(if last { 50 } else { 195 })).await;
            if last {
                *ended.lock().expect("nobody panics") = Some(Instant::now());
            }
            Some((step, (steps, ended)))
        }))
    }
}

/// How long the stream took, and how long until every call of it was answered. Each read takes 100 ms.
async fn eager() -> (Duration, Duration) {
    let model = Arc::new(Slowly { asked: Mutex::default(), ended: Arc::default() });
    let mut conversation = agent(model.clone(), Duration::from_millis(100))
        .begin(tollgate::tool::RunId::new("e"))
        .expect("kept nowhere");
    conversation.say(vec![Part::text("go")]).await;
    let asked = model.asked.lock().expect("nobody panics").clone();
    let ended = model.ended.lock().expect("nobody panics").expect("it was streamed");
    (ended - asked[0], asked[1] - asked[0])
}
