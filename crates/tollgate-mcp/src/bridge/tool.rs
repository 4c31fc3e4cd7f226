//! A server's tool as a tool of ours: same path, its hints believed only where its server is.

use std::{sync::Arc, time::Duration};

use tollgate::{
    Effects, Refusal,
    outcome::RefusalCode,
    schema::Schema,
    tool::{DynTool, Interrupt, Origin, Timeouts, ToolBuilder, Visibility},
};

use super::{
    call,
    definition::Definition,
    life::Health,
    upstream::{Offered, Standing, Upstream},
};

/// How much longer than the server's own limit a call may take: a start may come before it.
const SPARE: Duration = Duration::from_secs(1);

/// The tool that the path sees, and what else its definition says.
pub(super) fn tool(
    upstream: &Arc<Upstream>,
    offered: &Arc<Offered>,
    deferred: bool,
) -> Result<DynTool, String> {
    // What nobody approved is not shown to the model: it sees the definition that was.
    let shown = offered.pinned.as_ref().unwrap_or(&offered.definition);
    let builder = ToolBuilder::new(
        shown.name.as_str(),
        shown.description.clone(),
        Schema::from(shown.input_schema.clone()),
    );
    let builder = builder.map_err(|error| error.to_string())?;
    let config = &upstream.config;
    let trusted_read = config.trust && shown.hints.read_only;
    let output_schema = shown.output_schema.clone();
    let builder = builder.spec(|spec| {
        spec.id.origin = Origin::Server(config.name.shared());
        spec.output_schema = output_schema;
        // A server's word that it only reads waives nothing until somebody vouches for the server.
        spec.requires_permission = !trusted_read;
        spec.timeouts = Timeouts {
            connect: Some(config.timeouts.start + SPARE),
            idle: config.timeouts.idle,
            total: config.timeouts.call + config.timeouts.start,
        };
        // It waits for a server and blocks no thread: a task of its own would only be one hand-over more.
        spec.inline = true;
        spec.interrupt = if trusted_read { Interrupt::Cancel } else { Interrupt::Block };
        spec.visibility = if deferred { Visibility::Deferred } else { Visibility::Normal };
    });
    let effects = effects(config.trust, shown);
    let (judge, judged) = (upstream.clone(), offered.clone());
    let health = upstream.clone();
    let (runner, run) = (upstream.clone(), offered.clone());
    Ok(builder
        .always(effects)
        .enabled(move || !matches!(health.health(), Health::Broken { .. }))
        .check(move |_, _| check(&judge, &judged))
        .run(move |cx, args| Box::pin(call::run(runner.clone(), run.clone(), cx, args))))
}

/// The worst case, until the server is trusted: its hints then say what its calls do.
fn effects(trust: bool, definition: &Definition) -> Effects {
    if !trust {
        return Effects::worst();
    }
    let hints = definition.hints;
    let mut effects = if hints.read_only { Effects::reading() } else { Effects::writing() };
    effects.destructive = hints.destructive;
    effects.idempotent = hints.idempotent;
    effects.open_world = hints.open_world;
    effects
}

/// Refuses what is not as it was approved.
fn check(upstream: &Upstream, offered: &Offered) -> Result<(), Refusal> {
    let name = offered.definition.name.as_str();
    let server = &upstream.config.name;
    let now = upstream.offers(name);
    let (now, hash) = match &now {
        Some(now) => (&now.standing, &now.definition.hash),
        None => (&offered.standing, &offered.definition.hash),
    };
    let reason = match now {
        Standing::Pinned if *hash == offered.definition.hash => return Ok(()),
        Standing::Pinned => format!("The server {server} defines `{name}` otherwise since this turn began."),
        Standing::Changed { .. } => {
            format!("The server {server} has changed the definition of `{name}` since it was approved.")
        }
        Standing::OtherServer => {
            format!("The server {server} is reached by another command or address than when it was approved.")
        }
        Standing::Unknown { why } => {
            format!("Whether `{name}` of the server {server} is as it was approved cannot be told: {why}.")
        }
    };
    let hint = format!(
        "A person looks at the change with `tollgate mcp check {server}` and approves it with `--accept`."
    );
    Err(Refusal::new(RefusalCode::DefinitionChanged, reason).with_hint(hint))
}
