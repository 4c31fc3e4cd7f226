//! What came of a case, held against its label and each fact it expects.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tollgate::{Settled, outcome::Status};

use super::{
    scene::Facts,
    server::{count, lines},
};

/// Compares what came of a case with its label and with each fact it expects.
pub(crate) fn judge(case: &Value, facts: &Facts, own: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    must(facts.others_visible, "the other server's tool is offered".to_owned());
    must(facts.builtin_intact, "the built-in tool is as it was".to_owned());
    let status = facts.settled.first().map(Settled::status);
    let ok = status == Some(Status::Ok);
    match case["label"].as_str().unwrap_or_default() {
        "reject_tool" => {
            // Of a list with more than one tool, the others stay.
            let listed = case["input"]["server"].as_array().into_iter().flatten();
            let listed = listed
                .filter_map(|step| step["reply"]["tools"].as_array())
                .map(Vec::len)
                .max()
                .unwrap_or_default();
            // Where the case names those that stay, that is looked at below.
            let named = case["input"]["expect"].get("visible").is_some();
            must(
                facts.aside > 0 && (named || facts.visible.len() < listed.max(1)),
                format!("it is set aside: {:?}", facts.visible),
            );
        }
        "sanitize" => {
            must(facts.flagged && !facts.visible.is_empty(), "it is offered, and a person is told".to_owned())
        }
        "require_reapproval" => {
            must(facts.refused_after_change && facts.executed_after_change == 0, "it is refused".to_owned())
        }
        "error_result" => {
            let accepted = case["accept"].as_array().is_some_and(|accept| accept.contains(&json!("ok")));
            must(!ok || accepted, format!("the call failed: {:?}", facts.settled));
        }
        "namespaced" => must(!facts.visible.is_empty(), "it is offered under its server's name".to_owned()),
        "ok" if case["input"]["expect"]["executed"].is_u64() => {
            must(ok, format!("the call went well: {:?}", facts.settled))
        }
        _ => {}
    }
    wrong.extend(unmet(case, facts, own, ok));
    wrong
}

/// Every expected fact that is not so.
fn unmet(case: &Value, facts: &Facts, own: &Path, ok: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut must = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    for (key, wanted) in case["input"]["expect"].as_object().into_iter().flatten() {
        let number = wanted.as_u64().unwrap_or_default();
        let at_most = |found: usize| found as u64 <= number;
        let longest = facts.descriptions.iter().map(|text| text.len()).max().unwrap_or_default();
        let hidden = |c: char| {
            c.is_control() && c != '\n'
                || ('\u{e0000}'..='\u{e01ef}').contains(&c)
                || ('\u{200b}'..='\u{200f}').contains(&c)
        };
        let holds = match key.as_str() {
            "tool_visible" => facts.visible.is_empty() != (*wanted == true),
            "others_visible" => facts.others_visible == (*wanted == true),
            "description_max" => facts.visible.len() == 1 && longest as u64 <= number + 200,
            "list_requests_max" => at_most(count(own, "tools/list")),
            "cross_session" => !ok,
            "collision" => facts.visible.iter().all(|label| label.matches("__").count() == 1),
            "results" => facts.settled.len() as u64 == number,
            "escapes_removed" | "invisible_removed" => {
                !facts.descriptions.iter().any(|text| text.chars().any(hidden))
            }
            "builtin_intact" => facts.builtin_intact,
            "granted" => !lines(own).iter().any(|line| line == "answer accept"),
            "terminates_ms" => (facts.connected_ms + facts.call_ms) as u64 <= number,
            "memory_mb_max" => peak_mb() <= number,
            "executed" => facts.executed as u64 == number,
            "executed_max" => at_most(facts.executed),
            "executed_before_reapproval" => facts.executed_after_change as u64 == number,
            "provider_valid" => facts.visible.is_empty() || facts.provider_valid,
            "restarts_max" => at_most(count(own, "start")),
            "prompt_tools_max" => at_most(facts.in_prompt) && !facts.visible.is_empty(),
            "orphans" => children(own).iter().all(|child| gone(child)),
            "flagged" => facts.flagged,
            "status" => word(facts.settled.first()) == *wanted,
            "again" => word(facts.again.as_ref()) == *wanted,
            "call_ms_max" => facts.call_ms as u64 <= number,
            "visible" => {
                let own = facts.visible.iter().filter_map(|label| Some(label.split_once("__")?.1));
                json!(own.collect::<Vec<_>>()) == *wanted
            }
            "needs_permission" => facts.needs_permission == (*wanted == true),
            "told" => wanted.as_str().is_some_and(|words| told(facts).contains(words)),
            "not_told" => wanted.as_str().is_some_and(|words| !told(facts).contains(words)),
            "aside_max" => at_most(facts.aside),
            "clean" => !told(facts).chars().any(hidden),
            "distinct" => facts.others_visible && !facts.visible.is_empty(),
            _ => false,
        };
        must(
            holds,
            format!(
                "{key} = {wanted} (visible {:?}, in the prompt {}, lists {}, calls {}, starts {}, {} + {} ms, peak {} MB, settled {:?})",
                facts.visible.iter().take(3).collect::<Vec<_>>(),
                facts.in_prompt,
                count(own, "tools/list"),
                facts.executed,
                count(own, "start"),
                facts.connected_ms,
                facts.call_ms,
                peak_mb(),
                facts.settled
            ),
        );
    }
    wrong
}

fn word(settled: Option<&Settled>) -> Value {
    settled.map_or(Value::Null, |settled| json!(settled.status()))
}

/// Everything that a model or a person reads of it.
fn told(facts: &Facts) -> String {
    let settled = facts.settled.iter().chain(&facts.again);
    let settled: Vec<_> = settled.map(|settled| json!(settled).to_string()).collect();
    format!("{} {}", settled.join("\n"), facts.reasons)
}

/// The most memory this process ever held.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(u64::MAX) >> 10
}

fn children(own: &Path) -> Vec<String> {
    lines(own).iter().filter_map(|line| line.strip_prefix("child ").map(str::to_owned)).collect()
}

/// Whether a process is gone, soon.
fn gone(pid: &str) -> bool {
    for _ in 0..30 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}
