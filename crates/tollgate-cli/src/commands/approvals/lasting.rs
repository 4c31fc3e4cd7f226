//! An Always or a Never that outlives a session is in force once it is given: written by whoever answers, where the call
//! was asked about, and for the other questions that wait too.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::PathBuf,
    sync::Arc,
};

use serde_json::json;
use tollgate::{
    Effects, Explanation, Foreseen, Proposed, Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{
        Confirmed, Grant, Lifetime, NotGranted, Pending, Policy as _, Query, Reply, RuleRef, Stance, Unfit,
        fits,
    },
    tool::{Caller, Origin, Route},
};

use crate::{
    args::{Environment, Shared},
    commands::trace::replay,
    config::Config,
    exit::Fault,
    servers, words,
    world::World,
};

/// What became of the rules of an answer.
#[derive(Debug)]
pub(super) enum Lasting {
    /// There are none, or they are for the session of whoever makes the call.
    Nothing,
    /// They are in force.
    Written(Vec<RuleRef>),
    /// They are not, and this is why.
    Not(String),
}

/// Writes the rules of an answer that is to last, where they belong.
pub(super) async fn write(
    reply: &Reply,
    pending: &Pending,
    confirmed: Confirmed,
    (shared, environment): (&Shared, &Environment),
) -> Result<Lasting, Fault> {
    let (stance, rules, lifetime) = match reply {
        Reply::Always { rules, lifetime } => (Stance::Grant, rules, *lifetime),
        Reply::Never { rules, lifetime } => (Stance::Deny, rules, *lifetime),
        Reply::Yes | Reply::No { .. } => return Ok(Lasting::Nothing),
    };
    let unfit = unfit(rules, (stance, confirmed), pending, shared).await;
    // Whether a session's rule means the call is seen where the call is made; how wide it is a person must know now.
    let minds = |why: &Unfit| lifetime != Lifetime::Session || matches!(why, Unfit::Wide(_));
    if let Some((rule, why)) = unfit.filter(|(_, why)| minds(why)) {
        return Err(not_taken(rule, &why));
    }
    if lifetime == Lifetime::Session {
        return Ok(Lasting::Nothing);
    }
    let config = Config::load(shared, environment, &pending.cwd)?;
    let grant = Grant { rules: rules.clone(), lifetime };
    match config.policy.remember(stance, &grant) {
        Ok(written) => Ok(Lasting::Written(written)),
        Err(NotGranted::NotKept(why)) => Ok(Lasting::Not(why)),
        Err(bad) => Err(Fault::usage(
            words::visible(&bad.to_string()),
            "choose a --reach of `tollgate approvals list`, or correct --rule.",
        )),
    }
}

/// The other questions that these rules answer, and how.
pub(super) async fn also_answered<'a>(
    written: &[RuleRef],
    waiting: impl Iterator<Item = &'a Pending>,
    shared: &Shared,
) -> Vec<(&'a Pending, Reply)> {
    let mut answered = Vec::new();
    let mut worlds: HashMap<&[PathBuf], Option<World>> = HashMap::new();
    for pending in waiting {
        let world = match worlds.entry(&pending.roots) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(world_of(pending, shared).await),
        };
        // One that cannot be looked at from here stays, and is answered by itself.
        let Some(world) = world.as_ref().filter(|world| world.scope.cwd() == pending.cwd) else { continue };
        let (_, foreseen) = look(pending, world).await;
        let by_these = |rule: &RuleRef| written.iter().any(|written| written.text == rule.text);
        if !foreseen.rule.as_ref().is_some_and(by_these) {
            continue;
        }
        match foreseen.status {
            Foreseen::Ok => answered.push((pending, Reply::Yes)),
            Foreseen::Refused => answered.push((pending, Reply::No { message: None })),
            Foreseen::Ask => {}
        }
    }
    answered
}

/// The first rule that does not mean the call, or far more than it, and why it is not written.
async fn unfit<'a>(
    rules: &'a [String],
    (stance, confirmed): (Stance, Confirmed),
    pending: &Pending,
    shared: &Shared,
) -> Option<(&'a str, Unfit)> {
    let first = |query: &Query<'_>, minds: fn(&Unfit) -> bool| {
        let unfit = |rule: &'a String| {
            let why = fits(stance, rule, query, confirmed).err().filter(minds)?;
            Some((rule.as_str(), why))
        };
        rules.iter().find_map(unfit)
    };
    if let Some(world) = world_of(pending, shared).await {
        let (scope, foreseen) = look(pending, &world).await;
        if let Some(tool) = world.spec(&foreseen.tool) {
            return first(&Query::new(tool, &pending.args, &foreseen.effects, &scope), |_| true);
        }
    }
    // Of a tool that is not here the question itself tells how wide a rule is, and no more.
    let (tool, effects) = as_asked(pending)?;
    let scope =
        Scope::new(Run::new("answer"), Workspace::with_roots(pending.cwd.clone(), pending.roots.clone()));
    let scope = of_whom(scope, pending);
    first(&Query::new(&tool, &pending.args, &effects, &scope), |why| matches!(why, Unfit::Wide(_)))
}

fn not_taken(rule: &str, why: &Unfit) -> Fault {
    let hint = match why {
        Unfit::Wide(_) => {
            "choose a --reach of `tollgate approvals list`, or add --confirm-wide if you mean all of it."
        }
        _ => "choose a --reach of `tollgate approvals list`, or correct --rule.",
    };
    let (rule, why) = (words::visible(rule), words::visible(&why.to_string()));
    Fault::usage(format!("the rule {rule:?} is not taken: {why}"), hint)
}

/// The tool and what its call would do, as far as the question says it; what it leaves out counts as the worst.
fn as_asked(pending: &Pending) -> Option<(ToolSpec, Effects)> {
    let server = pending.tool.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    let name = server.map_or(pending.tool.as_str(), |(_, name)| name);
    let mut tool = ToolSpec::new(name, "", json!({"type": "object"})).ok()?;
    if let Some((server, _)) = server {
        tool.id.origin = Origin::Server(server.into());
    }
    let mut effects = Effects::worst();
    effects.read_only = pending.effects["read_only"] == true;
    effects.open_world = pending.effects["open_world"] != false;
    effects.touches = serde_json::from_value(pending.effects["touches"].clone()).unwrap_or_default();
    Some((tool, effects))
}

/// The tools and rules of the folders a question is about; `None` where they cannot be read.
async fn world_of(pending: &Pending, shared: &Shared) -> Option<World> {
    let mut given = shared.clone();
    given.root.clone_from(&pending.roots);
    replay::today(&given).await.ok()
}

/// What would happen to the call of a question now, with its own caller and route.
async fn look(pending: &Pending, world: &World) -> (Arc<Scope>, Explanation) {
    let mut scope = (*world.scope).clone();
    scope.workspace = Workspace::with_roots(pending.cwd.clone(), pending.roots.clone());
    let scope = Arc::new(of_whom(scope, pending));
    let proposed = Proposed::new(&pending.call, servers::label(&pending.tool), &pending.args);
    let foreseen = world.gate.explain(&scope, proposed).await;
    (scope, foreseen)
}

/// The scope with the question's own caller and route.
fn of_whom(mut scope: Scope, pending: &Pending) -> Scope {
    scope.caller = Caller::new(&pending.caller);
    scope.route = pending.route.as_ref().map(Route::new);
    scope
}
