//! `tollgate budget`: what runs with a budget have spent, and a fresh start for one of them.

use std::collections::BTreeMap;

use serde_json::json;
use tollgate::guard::Spent;
use tollgate_store::RunSpent;

use crate::{
    args::{BudgetCommand, Shared},
    exit::{Exit, Fault},
    store, words,
};

pub(crate) fn run(command: &BudgetCommand, shared: &Shared) -> Result<Exit, Fault> {
    let lists = matches!(command, BudgetCommand::List(_));
    let Some(store) = (if lists { store::open_to_list() } else { store::open().map(Some) })? else {
        return Ok(Exit::Done);
    };
    let done = match command {
        BudgetCommand::List(_) => store.spending(None).map(|runs| {
            let line = |run: &RunSpent| {
                if shared.json {
                    as_json(run)
                } else {
                    format!("{}  {}", words::visible(&run.run), told(&run.spent))
                }
            };
            runs.iter().map(line).collect::<Vec<_>>()
        }),
        BudgetCommand::Reset(of) => store.reset_spending(&of.run).map(|found| {
            let word = if found { "forgotten" } else { "nothing was counted" };
            if shared.json {
                return vec![json!({"run": of.run, "reset": found}).to_string()];
            }
            words::talk(&format!("{}: {word}.", words::visible(&of.run)));
            Vec::new()
        }),
    };
    store.close();
    let lines = done.map_err(|error| store::fault(&error))?;
    if lines.is_empty() {
        if lists {
            words::talk("note: no run with a budget has spent anything.");
        }
        return Ok(Exit::Done);
    }
    words::data(&lines.join("\n")).map(|()| Exit::Done)
}

fn as_json(run: &RunSpent) -> String {
    let Spent { calls, tool_time, tokens, microdollars, calls_of, .. } = &run.spent;
    let tool_ms = u64::try_from(tool_time.as_millis()).unwrap_or(u64::MAX);
    let calls_of: BTreeMap<_, _> = calls_of.iter().collect();
    json!({"run": run.run, "spent": {"calls": calls, "tool_ms": tool_ms, "tokens": tokens,
                                     "microdollars": microdollars, "calls_of": calls_of}})
    .to_string()
}

/// What was spent, in a line.
pub(crate) fn told(spent: &Spent) -> String {
    let calls = if spent.calls == 1 { "call" } else { "calls" };
    let mut parts = vec![format!("{} {calls} ran", spent.calls)];
    if !spent.tool_time.is_zero() {
        parts.push(format!("{:.1} s in tools", spent.tool_time.as_secs_f64()));
    }
    if spent.tokens > 0 {
        parts.push(format!("{} tokens", spent.tokens));
    }
    if spent.microdollars > 0 {
        parts.push(dollars(spent.microdollars));
    }
    let mut tools: Vec<_> = spent.calls_of.iter().collect();
    tools.sort();
    parts.extend(tools.iter().map(|(tool, calls)| format!("{calls} of {}", words::visible(tool))));
    parts.join(", ")
}

/// Money, to the hundredth of a cent.
pub(crate) fn dollars(microdollars: u64) -> String {
    format!("${}.{:04}", microdollars / 1_000_000, microdollars % 1_000_000 / 100)
}
