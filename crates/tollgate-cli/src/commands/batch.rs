//! `tollgate batch`: a model's turn comes in, each of its calls walks the path, and the message with their results
//! goes out. Nothing starts before the whole turn is read.

use std::{io::Read as _, path::Path, sync::Arc};

use serde_json::Value;
use tollgate::{
    Proposed, Scope, Settled,
    guard::Run,
    schema::Target,
    tool::{Caller, Route},
    wire::{
        MAX_BODY_BYTES, ModelTurn, Provider, Stop, TurnEvent, TurnReader, WireError, fault_message,
        plain::{self, Context},
        read_turn, results_for,
    },
};

use crate::{
    args::{Batch, Shared},
    events::Writer,
    exit::{Exit, Fault},
    input,
    mocks::Wanted,
    servers::Servers,
    stop, words,
    world::World,
};

pub(crate) fn run(batch: &Batch, shared: &Shared) -> Result<Exit, Fault> {
    let provider = batch.format.provider();
    if batch.events && provider.is_none() {
        let hint = "give the whole turn, without --events.";
        return Err(Fault::usage("the plain form has no stream events", hint));
    }
    let given = given_context(batch, shared)?;
    // As in `call`: every body here is a mock, which waits without blocking, so one thread holds them all.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let walked = runtime.block_on(async {
        let mut world = World::build(shared, Wanted::Turn)?;
        words::set_aside(&world.loaded);
        let (turn, context) = read(batch, provider)?;
        let names: Vec<_> = turn.calls.iter().map(|call| &*call.name).collect();
        let servers = Servers::join(shared, &mut world, &names).await?;
        world.scope = Arc::new(placed(&world.scope, given.or(context)));
        world.recorder.watch(&world.gate);
        let events = batch.trace_events.then(|| Writer::start(&world.gate));
        let answers = walk(&world, provider, turn.calls).await;
        if let Some(events) = events {
            events.finish();
        }
        servers.upstreams.close().await;
        let took = turn.usage.as_ref().map(|usage| tollgate_store::ModelTurn {
            model: turn.message["model"].as_str().unwrap_or_default().to_owned(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            stop_reason: Some(turn.stop.as_str().to_owned()),
            ..tollgate_store::ModelTurn::default()
        });
        if let Some(took) = took {
            world.recorder.model(world.scope.run.id(), world.scope.turn, &took);
        }
        Ok((world, turn.message, answers, told_faults(turn.faults, &turn.stop)))
    });
    // A body that will not stop does not keep the program: its call is answered.
    runtime.shutdown_background();
    let (world, turn, answers, faults) = walked?;
    let told = words::data(&message(provider, &turn, &answers, &faults).to_string());
    world.recorder.finish(&world.scope.run, world.scope.turn, &answers);
    told.map(|()| Exit::Done)
}

/// What the command line says about where the turn stands.
fn given_context(batch: &Batch, shared: &Shared) -> Result<Context, Fault> {
    let mut context = Context::default();
    context.route = shared.route.as_ref().map(Route::new);
    context.caller = shared.caller.as_ref().map(Caller::new);
    let Some(given) = &batch.context else { return Ok(context) };
    let text = match given.strip_prefix('@') {
        None => given.clone(),
        Some(file) => {
            let bytes = input::read(Some(Path::new(file)), 1 << 20)?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let read = Context::parse(text.trim_start_matches('\u{feff}')).map_err(|why| {
        let hint = "--context is {\"route\": …, \"caller\": …, \"run\": …, \"turn\": …, \"approvals\": [digest, …]}, or @FILE.";
        Fault::usage(format!("--context cannot be used: {}", words::visible(&why)), hint)
    })?;
    Ok(context.or(read))
}

/// The scope of the turn: what was said about it, and of the world's the rest.
fn placed(scope: &Scope, context: Context) -> Scope {
    let mut scope = scope.clone();
    if let Some(run) = context.run {
        let named = Run::builder(run.as_str());
        scope.run = match scope.run.traced_under() {
            Some(under) => named.traced(under).build(),
            None => named.build(),
        };
    }
    scope.caller = context.caller.unwrap_or(scope.caller);
    scope.route = context.route.or(scope.route);
    scope.turn = context.turn.unwrap_or(scope.turn);
    context.approvals.into_iter().for_each(|digest| scope.approvals.grant(digest));
    scope
}

fn read(batch: &Batch, provider: Option<Provider>) -> Result<(ModelTurn, Context), Fault> {
    let file = batch.file.as_deref();
    let Some(provider) = provider else {
        let body = input::read(file, MAX_BODY_BYTES + 1)?;
        return plain::read_turn(&body).or_else(|error| no_turn(&error, &body));
    };
    if batch.events {
        return Ok((stream(file, provider)?, Context::default()));
    }
    let body = input::read(file, MAX_BODY_BYTES + 1)?;
    let turn = read_turn(provider, &body).map(|turn| (turn, Context::default()));
    turn.or_else(|error| no_turn(&error, &body))
}

/// JSON in which nobody finds a turn is a turn gone wrong, and the model is told. What somebody else would find one
/// in came with the wrong `--format`; what is no JSON has nobody to be told.
fn no_turn(error: &WireError, body: &[u8]) -> Result<(ModelTurn, Context), Fault> {
    let odd = matches!(error, WireError::NotATurn { .. } | WireError::NotPlain { .. });
    let says_something = |turn: ModelTurn| !turn.calls.is_empty() || !turn.text.is_empty();
    let found_elsewhere = || {
        Provider::ALL.into_iter().any(|other| read_turn(other, body).is_ok_and(says_something))
            || plain::read_turn(body).is_ok_and(|(turn, _)| says_something(turn))
    };
    if !odd || found_elsewhere() {
        return Err(unreadable(error, body));
    }
    let turn = ModelTurn {
        text: String::new(),
        calls: Vec::new(),
        stop: Stop::EndTurn,
        usage: None,
        message: Value::Null,
        faults: vec![format!("There is no turn to answer: {error}.")],
    };
    Ok((turn, Context::default()))
}

/// Sixteen times what a turn may hold, for all that stands around it.
const MOST_OF_A_STREAM: usize = 16 * MAX_BODY_BYTES;

fn stream(file: Option<&Path>, provider: Provider) -> Result<ModelTurn, Fault> {
    let mut source = input::source(file, MOST_OF_A_STREAM)?;
    let mut reader = TurnReader::new(provider);
    let (mut chunk, mut start, mut known, mut ignored) = (vec![0; 1 << 16], Vec::new(), false, 0);
    loop {
        let read = match source.read(&mut chunk) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            read => read.map_err(|error| Fault::machine("reading the events", &error))?,
        };
        if !known {
            start.extend_from_slice(&chunk[..read]);
            known = begins_as_events(&start, read == 0)?;
        }
        if read == 0 || cut(&reader.push(&chunk[..read]), &mut ignored) {
            return Ok(reader.finish());
        }
    }
}

/// How many events of unknown types are named.
const NAMED: usize = 5;

/// True when nothing more is to be read. Names the first events that nobody here knows.
fn cut(events: &[TurnEvent], ignored: &mut usize) -> bool {
    for event in events {
        if let TurnEvent::Ignored(kind) = event {
            *ignored += 1;
            if *ignored <= NAMED {
                words::talk(&format!(
                    "note: an event of an unknown type is ignored: {}",
                    words::visible(kind)
                ));
            }
        }
    }
    events.iter().any(|event| matches!(event, TurnEvent::Error(_)))
}

/// True once the input is known to be events; a fault when it is something else.
fn begins_as_events(start: &[u8], whole: bool) -> Result<bool, Fault> {
    const FIELDS: [&str; 5] = ["data:", "event:", "id:", "retry:", ":"];
    let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start).trim_ascii_start();
    let begins = |word: &str| text.starts_with(word.as_bytes());
    if begins("{") || FIELDS.iter().any(|field| begins(field)) {
        return Ok(true);
    }
    if !whole && text.len() < 8 {
        return Ok(false);
    }
    let shown = shown(text);
    let message = if text.is_empty() {
        "no event came (protocol_error)".to_owned()
    } else {
        format!("this is no stream of events (protocol_error); it begins with: {shown}")
    };
    Err(Fault::input(message, "--events takes SSE text (`data: {…}`) or one JSON object a line."))
}

fn shown(bytes: &[u8]) -> String {
    let start: String = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).chars().take(60).collect();
    words::visible(&start.replace(['\n', '\r'], " "))
}

/// The input is no turn at all: there is nobody to answer. The code says what a call in it would have been told.
fn unreadable(error: &WireError, body: &[u8]) -> Fault {
    let streams =
        || ["data:", "event:"].iter().any(|word| body.trim_ascii_start().starts_with(word.as_bytes()));
    let (code, hint) = match error {
        WireError::TooLarge { .. } => ("too_large", "ask the model for a shorter turn."),
        WireError::NotJson { .. } if streams() => {
            ("invalid_json", "it looks like stream events: add --events.")
        }
        WireError::NotJson { .. } => {
            ("invalid_json", "give the response body as the provider sent it, or the bare assistant message.")
        }
        WireError::Provider { .. } => {
            ("protocol_error", "the provider sent an error, not a turn: ask it again.")
        }
        WireError::NotPlain { .. } => {
            ("protocol_error", "the plain form is {\"calls\": [{\"id\": …, \"name\": …, \"input\": {…}}]}.")
        }
        _ => (
            "protocol_error",
            "--format says whose turn it is: anthropic, openai-responses, openai-chat or plain.",
        ),
    };
    Fault::input(format!("there is no turn to answer ({code}): {}", words::visible(&error.to_string())), hint)
}

/// One answer for each id, in call order. Stopped by a person or not, every call is answered.
async fn walk(world: &World, provider: Option<Provider>, calls: Vec<Proposed>) -> Vec<Settled> {
    let turn = world.gate.turn(&world.scope);
    let calls = match provider {
        None => calls,
        Some(provider) => {
            let target = Target { provider, strict: false };
            let offer = turn.snapshot().wire(target, world.scope.route.as_ref());
            calls.into_iter().map(|call| offer.inward(call)).collect()
        }
    };
    let mut run = std::pin::pin!(turn.run(calls));
    tokio::select! {
        biased;
        answers = &mut run => return answers,
        () = stop::wished() => world.scope.run.token().cancel(),
    }
    run.await
}

/// What is wrong with the turn as a whole. That it failed before it held a call is also something to be told.
fn told_faults(mut faults: Vec<String>, stop: &Stop) -> Vec<String> {
    if matches!(stop, Stop::ProviderFailed { .. } | Stop::Failed(_) | Stop::Other(_)) {
        faults.push(stop.reason());
    }
    faults
}

fn message(provider: Option<Provider>, turn: &Value, answers: &[Settled], faults: &[String]) -> Value {
    for fault in faults {
        words::talk(&format!("note: {}", words::visible(fault)));
    }
    match provider {
        None => plain::results(answers, faults),
        Some(provider) if answers.is_empty() && !faults.is_empty() => fault_message(provider, faults),
        Some(provider) => {
            if answers.is_empty() {
                words::talk("note: the turn holds no call; there is nothing to answer.");
            }
            results_for(provider, turn, answers)
        }
    }
}
