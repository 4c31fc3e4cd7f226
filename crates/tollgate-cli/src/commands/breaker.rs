//! `tollgate breaker`: what is not called any more because it kept failing; opened and reset by hand.

use serde_json::json;
use tollgate::{
    guard::{Breaker, BreakerKey},
    tool::Route,
};
use tollgate_store::{Store, StoreError};

use crate::{
    args::{BreakerCommand, Shared},
    exit::{Exit, Fault},
    mocks::Loaded,
    store, words, world,
};

pub(crate) fn run(command: &BreakerCommand, shared: &Shared) -> Result<Exit, Fault> {
    match command {
        BreakerCommand::List(_) => list_all(shared),
        BreakerCommand::Open(of) => open(&of.what, shared),
        BreakerCommand::Reset(of) => reset(&of.what, shared),
    }
}

fn open(what: &str, shared: &Shared) -> Result<Exit, Fault> {
    let given = key(what)?;
    let tools = Loaded::definitions(&shared.mocks).ok();
    let key = meant(&given, tools.as_ref());
    let store = store::open_or_make()?;
    let done = store.open_breaker(key.clone());
    store.close();
    done.map_err(|error| store::fault(&error))?;
    let (shown, typed) = (words::visible(&key.to_string()), typed(&key));
    let line =
        format!("open: {shown} is not called until `tollgate breaker reset {}`.", words::visible(&typed));
    words::done(shared, &line, &json!({"breaker": typed, "done": "opened"}))?;
    if let Some(tools) = &tools {
        tell_unknown(&key, tools);
    }
    Ok(Exit::Done)
}

fn reset(what: &str, shared: &Shared) -> Result<Exit, Fault> {
    let given = key(what)?;
    let key = meant(&given, Loaded::definitions(&shared.mocks).ok().as_ref());
    let store = store::open()?;
    let done = close(&store, &[given, key.clone()]);
    store.close();
    let shown = words::visible(&key.to_string());
    let (done, line) = if done.map_err(|error| store::fault(&error))? {
        ("closed", format!("closed: {shown}."))
    } else {
        let list = "hint: `tollgate breaker list` shows which there are.";
        ("nothing_to_do", format!("note: {shown} was not open and had not failed; nothing changed.\n{list}"))
    };
    words::done(shared, &line, &json!({"breaker": typed(&key), "done": done}))?;
    Ok(Exit::Done)
}

/// Closes those of these that are there, and says whether any was.
fn close(store: &Store, keys: &[BreakerKey]) -> Result<bool, StoreError> {
    let there = store.breakers()?;
    let there = there.iter().map(|breaker| &breaker.key).filter(|key| keys.contains(key));
    let mut any = false;
    for key in there {
        store.reset_breaker(key.clone())?;
        any = true;
    }
    Ok(any)
}

/// The breaker that counts: a tool's is under its own name, and its other names mean the same, as in rules.
fn meant(key: &BreakerKey, tools: Option<&Loaded>) -> BreakerKey {
    let BreakerKey::Tool(name) = key else { return key.clone() };
    let known = tools.and_then(|tools| world::named(&tools.registry, name));
    known.map_or_else(|| key.clone(), |spec| BreakerKey::Tool(spec.id.to_string().into()))
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
    let name = what.split_once(':').map_or(what, |(_, name)| name);
    if name.trim().is_empty() {
        let hint = "name a tool, or write server:NAME, capability:NAME or route:NAME.";
        return Err(Fault::usage(format!("{what:?} names nothing that has a breaker"), hint));
    }
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
fn tell_unknown(key: &BreakerKey, tools: &Loaded) {
    let BreakerKey::Tool(name) = key else { return };
    if tools.registry.specs().any(|spec| *spec.id.to_string() == **name) {
        return;
    }
    words::talk(&format!(
        "note: no tool of this program is called {}; it counts should one of that name come from a server.",
        words::visible(name)
    ));
    words::talk("hint: `tollgate tools list` shows the names.");
}
