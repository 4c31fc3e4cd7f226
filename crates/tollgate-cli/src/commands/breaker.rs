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
    let (what, opens) = match command {
        BreakerCommand::List(_) => return list_all(shared),
        BreakerCommand::Open(of) => (&of.what, true),
        BreakerCommand::Reset(of) => (&of.what, false),
    };
    let key = key(what)?;
    let shown = words::visible(&key.to_string());
    let store = if opens { store::open_or_make() } else { store::open() }?;
    let done = if opens { store.open_breaker(key.clone()) } else { store.reset_breaker(key.clone()) };
    store.close();
    done.map_err(|error| store::fault(&error))?;
    if opens {
        let what = words::visible(what);
        words::talk(&format!("open: {shown} is not called until `tollgate breaker reset {what}`."));
        tell_unknown(&key, shared);
    } else {
        words::talk(&format!("closed: {shown}."));
    }
    Ok(Exit::Done)
}

fn list_all(shared: &Shared) -> Result<Exit, Fault> {
    let Some(store) = store::open_to_list()? else { return Ok(Exit::Done) };
    let breakers = store.breakers();
    store.close();
    let lines = list(&breakers.map_err(|error| store::fault(&error))?, shared);
    if lines.is_empty() {
        words::talk("note: every breaker is closed.");
        return Ok(Exit::Done);
    }
    words::data(&lines.join("\n")).map(|()| Exit::Done)
}

fn list(breakers: &[Breaker], shared: &Shared) -> Vec<String> {
    let line = |breaker: &Breaker| {
        if shared.json {
            let wait = breaker.retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
            return json!({
                "breaker": typed(&breaker.key), "state": breaker.state, "failures": breaker.failures,
                "retry_after_ms": wait,
            })
            .to_string();
        }
        let wait = breaker.retry_after.map(|wait| wait.as_secs());
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

/// A breaker as it is typed after `breaker open` and `breaker reset`.
fn typed(key: &BreakerKey) -> String {
    match key {
        BreakerKey::Tool(name) => format!("tool:{name}"),
        BreakerKey::Capability(name) => format!("capability:{name}"),
        BreakerKey::Server(name) => format!("server:{name}"),
        BreakerKey::Route(route) => format!("route:{}", route.as_str()),
    }
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

/// A slip of the pen must not look like a stop. Told afterwards, and only where the tools can be read: nothing keeps a
/// stop from being made.
fn tell_unknown(key: &BreakerKey, shared: &Shared) {
    let (BreakerKey::Tool(name), Ok(loaded)) = (key, Loaded::definitions(&shared.mocks)) else { return };
    if loaded.registry.specs().any(|spec| *spec.id.to_string() == **name) {
        return;
    }
    words::talk(&format!(
        "note: no tool of this program is called {}; it counts should one of that name come from a server.",
        words::visible(name)
    ));
    words::talk("hint: `tollgate tools list` shows the names.");
}
