//! `delegate`: sends out an agent with a role of its own, under the ceiling of whoever sends it.

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tollgate::{
    Cx, Effects, Failure, Output,
    guard::Run,
    outcome::hex,
    policy::Approvals,
    tool::{BadName, CallId, DynTool, RunId, ToolBuilder},
};

use super::{Desk, desk::Sitter, routes::DELEGATE};
use crate::{
    event::What,
    history::Part,
    model::Model,
    role::Role,
    runner::{Agent, Config, Conversation, Parent, Stopped},
    session::SessionFault,
};

#[derive(Deserialize)]
struct Args {
    role: String,
    task: String,
}

/// Longer than any budget; what ends it is its role's limits and its parent's.
const TOTAL: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn tool(desk: &Desk) -> Result<DynTool, BadName> {
    let roles: Vec<&String> = desk.roles().keys().collect();
    let known: Vec<String> =
        desk.roles().iter().map(|(name, role)| format!("{name}: {}", role.description)).collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "role": {"type": "string", "enum": roles, "description": "Who shall do it."},
            "task": {
                "type": "string",
                "minLength": 1,
                "description": "What is to be done, and what the report must hold. It knows nothing but this.",
            },
        },
        "required": ["role", "task"],
    });
    let about = format!(
        "Sends out another agent with a task and waits for its report. Several can be sent out at once, in one turn. \
         Roles:\n{}",
        known.join("\n")
    );
    let desk = desk.clone();
    Ok(ToolBuilder::new(DELEGATE, about, schema)?
        .spec(|spec| {
            // Each of its calls is judged on its own, and its spending is its sender's.
            spec.requires_permission = false;
            spec.conducts = true;
            spec.timeouts.total = TOTAL;
        })
        .effects(|_, _| Effects::reading())
        .run(move |cx, args| {
            let desk = desk.clone();
            let args = serde_json::from_value::<Args>(args.clone());
            async move {
                let args =
                    args.map_err(|error| Failure::fatal("the task could not be read").caused_by(error))?;
                send_out(&desk, cx, &args).await
            }
            .boxed()
        }))
}

async fn send_out(desk: &Desk, cx: &Cx, args: &Args) -> Result<Output, Failure> {
    let sender = desk.sitter(cx.run.id())?;
    let role = desk.roles().get(&args.role).ok_or_else(|| {
        Failure::fatal(format!("There is no role {:?}.", args.role))
            .with_hint("Use one of the roles you were told.")
    })?;
    let child = child_id(cx.run.id(), cx.turn, cx.call_id());
    let agent = Agent::of(config_of(desk, cx, &sender, (&args.role, role))?);
    let (mut conversation, resumed) = open(&agent, &child).map_err(not_opened)?;
    sender.tell(What::AgentBegan {
        child: child.clone(),
        role: args.role.clone(),
        call: cx.call_id().clone(),
        task: args.task.clone(),
    });
    let stopped = if resumed {
        conversation.go_on().await
    } else {
        conversation.say(vec![Part::text(args.task.clone())]).await
    };
    let spent = stopped.spent;
    sender.charge(spent.calls, spent.tokens, spent.microdollars);
    sender.tell(What::AgentEnded { child, stop: stopped.reason.clone(), spent });
    Ok(told(&stopped, conversation.reported()))
}

/// The same call gives the same id, so that what was broken off is taken up and not begun again.
fn child_id(parent: &RunId, turn: u32, call: &CallId) -> RunId {
    let short = hex(&Sha256::digest(call.as_str().as_bytes())[..4]);
    RunId::new(format!("{parent}.{turn}-{short}"))
}

fn open(agent: &Agent, child: &RunId) -> Result<(Conversation, bool), SessionFault> {
    match agent.resume(child) {
        Ok(conversation) => Ok((conversation, true)),
        Err(SessionFault::Unknown(_)) => Ok((agent.begin(child.clone())?, false)),
        Err(fault) => Err(fault),
    }
}

fn not_opened(fault: SessionFault) -> Failure {
    let hint = fault.hint();
    Failure::fatal("The agent could not be sent out.").with_hint(hint).caused_by(fault)
}

/// The sender's denies, roots, trust and budget hold for whom it sends; what a person granted it does not.
fn config_of(
    desk: &Desk,
    cx: &Cx,
    sender: &Arc<Sitter>,
    (name, role): (&str, &Role),
) -> Result<Config, Failure> {
    let sitting = &sender.sitting;
    let base: &Config = &sitting.config;
    let mut scope = (**cx).clone();
    scope.run = Run::builder(cx.run.id().as_str()).under(cx.token()).build();
    scope.agent = Some(match &scope.agent {
        Some(above) => format!("{above}/{name}").into(),
        None => Arc::from(name),
    });
    scope.approvals = Approvals::default();
    Ok(Config {
        model: model_of(desk, base, role)?,
        system: role.instructions.as_str().into(),
        context: Vec::new(),
        limits: role.limits.under(&sitting.meter.left()),
        role: Some(name.to_owned()),
        plan: false,
        scope,
        parent: Some(Parent {
            run: sitting.run.clone(),
            meter: sitting.meter.clone(),
            control: sitting.control.clone(),
        }),
        ..base.clone()
    })
}

fn model_of(desk: &Desk, base: &Config, role: &Role) -> Result<Arc<dyn Model>, Failure> {
    let Some(name) = &role.model else { return Ok(base.model.clone()) };
    if *name == base.model.name() {
        return Ok(base.model.clone());
    }
    let failed = |why: String| Failure::fatal(format!("The role's model {name:?} cannot be used: {why}."));
    let models = desk.models().ok_or_else(|| failed("nothing here makes models".to_owned()))?;
    models(name).map_err(|error| failed(error.to_string()).with_hint(error.hint()))
}

/// What the sender gets to read. Whatever the agent read is in it, so nobody vouches for it.
fn told(stopped: &Stopped, report: Option<String>) -> Output {
    let text = report.or_else(|| stopped.text.clone().filter(|_| stopped.reason.is_done()));
    match text {
        Some(text) if stopped.reason.is_done() => Output::text(text).untrusted(),
        text => {
            let so_far = text.or_else(|| stopped.text.clone()).unwrap_or_else(|| "(nothing)".to_owned());
            let why = stopped.reason.sentence();
            Output::text(format!("The agent stopped before it was done: {why}. Its last words: {so_far}"))
                .untrusted()
        }
    }
}
