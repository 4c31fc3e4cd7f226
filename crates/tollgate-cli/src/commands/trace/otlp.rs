//! A run as OpenTelemetry spans, in the JSON form of OTLP, with the words of the GenAI conventions.

use std::{
    collections::HashMap,
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::{guard::TraceParent, tool::RunId};
use tollgate_store::{CallTrace, ModelTurn, RunTrace};

use crate::exit::Fault;

/// One `ExportTraceServiceRequest`: a span for the run, and below it one for each call. A run that somebody gave a
/// `traceparent` is a part of their trace.
pub(super) fn request(tree: &RunTrace) -> Value {
    let run = RunId::new(&tree.run);
    let under = tree.traced_under.as_deref().and_then(TraceParent::parse);
    let root = under.map_or_else(|| TraceParent::of(&run), |under| under.run(&run));
    let first = tree.calls.iter().map(|call| nanos(call.proposed_ms)).min().unwrap_or(0);
    let last = tree.calls.iter().map(end).max().unwrap_or(first);
    let mut attributes =
        vec![text("gen_ai.operation.name", "invoke_agent"), text("gen_ai.conversation.id", &tree.run)];
    if let Some(model) = tree.models.last().map(|model| &model.of).filter(|model| !model.model.is_empty()) {
        attributes.push(text("gen_ai.request.model", &model.model));
    }
    if !tree.models.is_empty() {
        let sum = |of: fn(&ModelTurn) -> u64| tree.models.iter().map(|model| of(&model.of)).sum::<u64>();
        attributes.push(number("gen_ai.usage.input_tokens", sum(|model| model.input_tokens)));
        attributes.push(number("gen_ai.usage.output_tokens", sum(|model| model.output_tokens)));
        attributes.push(number("tollgate.cost_microdollars", sum(|model| model.microdollars.unwrap_or(0))));
        let reasons: Vec<Value> = tree
            .models
            .iter()
            .filter_map(|model| model.of.stop_reason.as_ref())
            .map(|reason| json!({"stringValue": reason}))
            .collect();
        attributes.push(
            json!({"key": "gen_ai.response.finish_reasons", "value": {"arrayValue": {"values": reasons}}}),
        );
    }
    attributes.extend(tree.stopped.as_deref().map(|reason| text("tollgate.stopped", reason)));
    let mut span = json!({
        "traceId": root.trace_id(), "spanId": root.span_id(), "name": format!("invoke_agent {}", tree.run), "kind": 1,
        "startTimeUnixNano": first.to_string(), "endTimeUnixNano": last.to_string(), "attributes": attributes,
    });
    if let Some(under) = under {
        span["parentSpanId"] = under.span_id().into();
    }
    let mut spans = vec![span];
    let mut seen = HashMap::new();
    for call in &tree.calls {
        let again = seen.entry((call.turn, &call.id)).and_modify(|count| *count += 1).or_insert(0);
        spans.push(self::span(call, *again, &run, root));
    }
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "tollgate"), text("service.version", env!("CARGO_PKG_VERSION"))]},
        "scopeSpans": [{"scope": {"name": "tollgate", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

/// `again` counts earlier calls of the same id in the same turn: the first has the span that its tool was told of.
fn span(call: &CallTrace, again: u32, run: &RunId, root: TraceParent) -> Value {
    let id = if again == 0 { call.id.clone() } else { format!("{}#{again}", call.id) };
    let under = call.traced_under.as_deref().and_then(TraceParent::parse).unwrap_or(root);
    let own = under.call(run, call.turn, &id);
    let status = call.status();
    // What the model wrote, where nobody accepted it as arguments, goes as it was written.
    let arguments = call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned);
    let mut attributes = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.name", &call.tool),
        text("gen_ai.tool.call.id", &call.id),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.conversation.id", run.as_str()),
        text("gen_ai.tool.call.arguments", &arguments),
        text("tollgate.status", status),
        text("tollgate.caller", &call.caller),
        number("tollgate.turn", call.turn.into()),
    ];
    if !call.answer["output"].is_null() {
        attributes.push(text("gen_ai.tool.call.result", &call.answer["output"].to_string()));
    }
    let said = [
        ("tollgate.allowed_by", call.by.as_deref()),
        ("tollgate.code", call.answer["code"].as_str()),
        ("tollgate.phase", call.answer["phase"].as_str()),
        ("tollgate.evidence", call.evidence_ref.as_deref()),
        ("tollgate.sandbox", call.sandbox.as_deref()),
        ("tollgate.route", call.route.as_deref()),
    ];
    attributes.extend(said.iter().filter_map(|(key, value)| value.map(|value| text(key, value))));
    if status != "ok" {
        attributes.push(text("error.type", call.answer["code"].as_str().unwrap_or(status)));
    }
    let outcome = match status {
        "ok" => json!({"code": 1}),
        _ => json!({"code": 2, "message": call.answer["reason"].as_str().unwrap_or(status)}),
    };
    json!({
        "traceId": own.trace_id(), "spanId": own.span_id(), "parentSpanId": under.span_id(),
        "name": format!("execute_tool {}", call.tool), "kind": 1,
        "startTimeUnixNano": nanos(call.proposed_ms).to_string(), "endTimeUnixNano": end(call).to_string(),
        "attributes": attributes, "events": events(call), "status": outcome,
    })
}

/// When a call ended; when it was proposed, while it has not.
fn end(call: &CallTrace) -> i128 {
    match call.duration {
        Some(took) => nanos(call.proposed_ms) + i128::try_from(took.as_nanos()).unwrap_or(i128::MAX),
        None => nanos(call.settled_ms.unwrap_or(call.proposed_ms)),
    }
}

/// The steps of a call, each at the time it ended; the last of them is told after the clock of the call has stopped.
fn events(call: &CallTrace) -> Vec<Value> {
    let (mut at, end) = (nanos(call.proposed_ms), end(call));
    let steps = call.steps.iter().map(|step| {
        #[expect(clippy::cast_possible_truncation, reason = "nanoseconds of one call")]
        let took = (step["took_us"].as_f64().unwrap_or(0.0) * 1e3) as i64;
        at += i128::from(took.max(0));
        json!({"timeUnixNano": at.min(end).to_string(), "name": step["event"].as_str().unwrap_or("step")})
    });
    steps.collect()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn nanos(ms: i64) -> i128 {
    i128::from(ms) * 1_000_000
}

/// Sends one request to a receiver. Plain HTTP alone: receivers stand beside the program; for others, a collector does.
pub(super) fn send(url: &str, request: &Value) -> Result<(), Fault> {
    let hint = "give the address of an OTLP/HTTP receiver as http://127.0.0.1:4318, or leave it out and pipe the output.";
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(Fault::usage(format!("{url:?} is no http:// address"), hint));
    };
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let path = if path.is_empty() { "v1/traces" } else { path };
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:4318") };
    let failed =
        |error: std::io::Error| Fault::input(format!("sending the trace to {url} failed: {error}"), hint);
    let body = super::protobuf::request(request).ok_or_else(|| {
        Fault::input(
            "the trace has no form in protobuf".to_owned(),
            "leave the address out, and report this.",
        )
    })?;
    let mut stream = TcpStream::connect(&address).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    stream.set_write_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).map_err(failed)?;
    // The first line, however it is cut on its way.
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < 1_024 {
        let mut block = [0; 64];
        let read = stream.read(&mut block).map_err(failed)?;
        if read == 0 {
            break;
        }
        answer.extend_from_slice(&block[..read]);
    }
    let line = String::from_utf8_lossy(&answer);
    let code = line.split(' ').nth(1).unwrap_or_default();
    if code.starts_with('2') {
        return Ok(());
    }
    Err(Fault::input(format!("the receiver at {url} said {code:?}"), hint))
}
