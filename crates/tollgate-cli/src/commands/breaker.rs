//! `tollgate breaker`: what is not called any more because it kept failing; opened and reset by hand.

use serde_json::json;
use tollgate::{
    guard::{Breaker, BreakerKey},
    tool::Route,
};

use crate::{
    args::{BreakerCommand, Shared},
    exit::{Exit, Fault},
    mocks::Loaded,
    store, words,
};

pub(crate) fn run(command: &BreakerCommand, shared: &Shared) -> Result<Exit, Fault> {
    let meant = match command {
        BreakerCommand::List(_) => None,
        BreakerCommand::Open(of) | BreakerCommand::Reset(of) => Some(key(&of.what)?),
    };
    if let (BreakerCommand::Open(_), Some(BreakerKey::Tool(name))) = (command, &meant) {
        tell_unknown(name, shared)?;
    }
    let store = match command {
        BreakerCommand::Open(_) => store::open_or_make(),
        _ => store::open(),
    }?;
    let done = match command {
        BreakerCommand::List(_) => store.breakers().map(|breakers| list(&breakers, shared)),
        BreakerCommand::Open(of) => store.open_breaker(key(&of.what)?).map(|()| Vec::new()),
        BreakerCommand::Reset(of) => store.reset_breaker(key(&of.what)?).map(|()| Vec::new()),
    };
    store.close();
    let lines = done.map_err(|error| store::fault(&error))?;
    if lines.is_empty() {
        words::talk(&match command {
            BreakerCommand::List(_) => "note: every breaker is closed.".to_owned(),
            BreakerCommand::Open(of) => {
                let what = words::visible(&of.what);
                format!(
                    "open: {} is not called until `tollgate breaker reset {what}`.",
                    words::visible(&key(&of.what)?.to_string())
                )
            }
            BreakerCommand::Reset(of) => format!("closed: {}.", words::visible(&key(&of.what)?.to_string())),
        });
        return Ok(Exit::Done);
    }
    words::data(&lines.join("\n")).map(|()| Exit::Done)
}

fn list(breakers: &[Breaker], shared: &Shared) -> Vec<String> {
    let line = |breaker: &Breaker| {
        let wait = breaker.retry_after.map(|wait| wait.as_secs());
        if shared.json {
            return json!({
                "breaker": breaker.key.to_string(), "state": breaker.state, "failures": breaker.failures,
                "retry_after_s": wait,
            })
            .to_string();
        }
        let state = serde_json::to_value(breaker.state).unwrap_or_default();
        let when = match wait {
            Some(0) => "; the next call tries".to_owned(),
            Some(wait) => format!("; tried again in {wait} s"),
            None if state == "open" => "; until it is reset".to_owned(),
            None => String::new(),
        };
        let state = state.as_str().unwrap_or_default().replace('_', "-");
        format!("{}  {state}  {} failures{when}", words::visible(&breaker.key.to_string()), breaker.failures)
    };
    breakers.iter().map(line).collect()
}

fn key(what: &str) -> Result<BreakerKey, Fault> {
    Ok(match what.split_once(':') {
        Some(("capability", name)) => BreakerKey::Capability(name.into()),
        Some(("server", name)) => BreakerKey::Server(name.into()),
        Some(("route", name)) => BreakerKey::Route(Route::new(name)),
        Some(("tool", name)) => BreakerKey::Tool(name.into()),
        Some((kind, _)) => {
            let hint = "write tool:NAME, server:NAME, capability:NAME or route:NAME.";
            return Err(Fault::usage(format!("nothing of the kind {kind:?} has a breaker"), hint));
        }
        None => BreakerKey::Tool(what.into()),
    })
}

/// A slip of the pen must not look like a stop. Tools of servers that are not here now may still come.
fn tell_unknown(name: &str, shared: &Shared) -> Result<(), Fault> {
    let loaded = Loaded::definitions(&shared.mocks)?;
    if loaded.registry.specs().any(|spec| *spec.id.to_string() == *name) {
        return Ok(());
    }
    words::talk(&format!(
        "note: no tool of this program is called {}; it counts should one of that name come from a server.",
        words::visible(name)
    ));
    words::talk("hint: `tollgate tools list` shows the names.");
    Ok(())
}
