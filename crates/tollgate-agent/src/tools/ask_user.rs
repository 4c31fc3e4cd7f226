//! `ask_user`: the model's own question to the person; refused where nobody is there.

use std::time::Duration;

use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Output,
    tool::{BadName, DynTool, Interrupt, ToolBuilder},
};

use super::Desk;
use crate::person::Inquiry;

#[derive(Deserialize)]
struct Args {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn tool(desk: &Desk) -> Result<DynTool, BadName> {
    let desk = desk.clone();
    let schema = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "description": "The question, whole and short."},
            "choices": {
                "type": "array",
                "maxItems": 9,
                "items": {"type": "string", "minLength": 1},
                "description": "Answers to choose from, where there are a few. Another answer is always possible.",
            },
        },
        "required": ["question"],
    });
    let about =
        "Asks the person one question and waits for the answer. Only for what you cannot find out yourself.";
    Ok(ToolBuilder::new("ask_user", about, schema)?
        .spec(|spec| {
            spec.requires_permission = false;
            spec.requires_interaction = true;
            spec.interrupt = Interrupt::Cancel;
            spec.timeouts.total = PATIENCE;
            // A person is no workspace: others may work meanwhile.
            spec.conducts = true;
        })
        .effects(|_, _| Effects::reading())
        .run(move |cx, args| {
            let desk = desk.clone();
            let args = serde_json::from_value::<Args>(args.clone());
            async move {
                let args =
                    args.map_err(|error| Failure::fatal("the question could not be read").caused_by(error))?;
                ask(&desk, cx, &args).await
            }
            .boxed()
        }))
}

async fn ask(desk: &Desk, cx: &Cx, args: &Args) -> Result<Output, Failure> {
    let inquiry = Inquiry::new(cx.run.id(), cx.agent.as_deref(), &args.question, &args.choices);
    match desk.person().ask(inquiry).await {
        Some(answer) if answer.trim().is_empty() => Ok(Output::text("(The person gave an empty answer.)")),
        Some(answer) => Ok(Output::text(answer)),
        None => Err(Failure::fatal("Nobody is there to answer.")
            .with_hint("Decide yourself, say what you assumed, and go on.")),
    }
}
