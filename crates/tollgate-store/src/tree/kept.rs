//! What is kept in few letters, in the names and forms it has everywhere else.

use std::time::Duration;

use serde_json::{Value, json, value::RawValue};
use tollgate::Settled;

use super::CallTrace;

pub(super) fn in_millis(duration: Duration) -> f64 {
    duration.div_duration_f64(Duration::from_millis(1))
}

/// A step as it is kept, in the form of the event stream.
pub(super) fn step(kept: Value) -> Value {
    let Value::Object(mut kept) = kept else { return kept };
    match (kept.remove("is"), kept.remove("us")) {
        (Some(Value::Object(mut step)), Some(took)) => {
            step.insert("took_us".to_owned(), took);
            Value::Object(step)
        }
        _ => Value::Object(kept),
    }
}

/// An answer as it is kept, with the names and forms that answers have everywhere else.
pub(super) fn named(mut answer: Value, call: &CallTrace) -> Value {
    let Some(fields) = answer.as_object_mut() else { return answer };
    fields.remove("untrusted");
    if let Some(phase) = fields.get_mut("phase") {
        *phase = phase.as_str().and_then(|title| title.split(' ').next_back()).unwrap_or_default().into();
    }
    if let Some(rule) = fields.get_mut("rule") {
        *rule = json!({"text": rule.take()});
    }
    for (name, usual) in
        [("attempts", json!(0)), ("was_concurrent", json!(false)), ("trust", json!("trusted_system"))]
    {
        fields.entry(name).or_insert(usual);
    }
    if let Some(duration) = call.duration {
        fields.insert("duration_ms".to_owned(), in_millis(duration).into());
    }
    if let Some(evidence) = &call.evidence_ref {
        fields.insert("evidence_ref".to_owned(), evidence.as_str().into());
    }
    answer
}

/// Of what was put aside it is the reference; of anything else that is recorded whole, it is computed here.
pub(super) fn evidence(answer: &RawValue) -> Option<String> {
    let settled = Settled::restore(answer.get().as_bytes()).ok()?;
    settled.output()?;
    let aside = settled.offloaded.as_ref().and_then(|offloaded| offloaded.result.as_ref());
    Some(aside.map_or_else(|| settled.evidence_ref().as_str().to_owned(), |kept| kept.as_str().to_owned()))
}

pub(super) fn value(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
