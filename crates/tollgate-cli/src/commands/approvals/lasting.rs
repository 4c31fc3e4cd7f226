//! An Always or a Never that outlives a session is in force once it is given: written by whoever answers, where the call
//! was asked about, and for the other questions that wait too.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::PathBuf,
    sync::Arc,
};

use tollgate::{
    Explanation, Foreseen, Proposed, Scope,
    guard::Workspace,
    policy::{
        Confirmed, Grant, Lifetime, NotGranted, Pending, Policy as _, Query, Reply, RuleRef, Stance, fits,
    },
    tool::{Caller, Route},
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
    shared: &Shared,
    environment: &Environment,
) -> Result<Lasting, Fault> {
    let (stance, rules, lifetime) = match reply {
        Reply::Always { rules, lifetime } => (Stance::Grant, rules, *lifetime),
        Reply::Never { rules, lifetime } => (Stance::Deny, rules, *lifetime),
        Reply::Yes | Reply::No { .. } => return Ok(Lasting::Nothing),
    };
    if lifetime == Lifetime::Session {
        return Ok(Lasting::Nothing);
    }
    must_mean(rules, stance, pending, shared).await?;
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

/// A rule that does not mean the call is a mistake, and is not written. Of a tool that is not here nobody can tell.
async fn must_mean(
    rules: &[String],
    stance: Stance,
    pending: &Pending,
    shared: &Shared,
) -> Result<(), Fault> {
    let Some(world) = world_of(pending, shared).await else { return Ok(()) };
    let (scope, foreseen) = look(pending, &world).await;
    let Some(tool) = world.spec(&foreseen.tool) else { return Ok(()) };
    let query = Query::new(tool, &pending.args, &foreseen.effects, &scope);
    let unfit =
        |rule: &String| fits(stance, rule, &query, Confirmed::Yes).err().map(|why| (rule.clone(), why));
    match rules.iter().find_map(unfit) {
        None => Ok(()),
        Some((rule, why)) => Err(Fault::usage(
            format!(
                "the rule {:?} is not taken: {}",
                words::visible(&rule),
                words::visible(&why.to_string())
            ),
            "choose a --reach of `tollgate approvals list`, or correct --rule.",
        )),
    }
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
    scope.caller = Caller::new(&pending.caller);
    scope.route = pending.route.as_ref().map(Route::new);
    let scope = Arc::new(scope);
    let proposed = Proposed::new(&pending.call, servers::label(&pending.tool), &pending.args);
    let foreseen = world.gate.explain(&scope, proposed).await;
    (scope, foreseen)
}
