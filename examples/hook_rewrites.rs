//! Two hooks: one rewrites what a model asked for, one blocks. Both come before anyone is asked.

use std::{error::Error, sync::Arc};

use serde_json::json;
use tollgate::{
    Effects, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    hook::{Before, Hook, HookedCall},
    outcome::Outcome,
    policy::Rules,
    tool,
};

/// Sends a message.
#[tool(effects = |_, _| Effects::writing().open_world())]
async fn send(
    /// Who gets it.
    to: String,
    /// What it says.
    #[schemars(length(max = 40))]
    text: String,
) -> String {
    format!("to {to}: {text}")
}

/// Sends everything to the test mailbox. The rewritten call begins again: validated, checked, seen by every hook.
struct TestMailbox;

impl Hook for TestMailbox {
    fn name(&self) -> &'static str {
        "test-mailbox"
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        let mut args = call.args.clone();
        // A rewrite to what is there already is none, so this comes to rest.
        args["to"] = json!("test@example.org");
        Before::Rewrite(args)
    }
}

/// Keeps what looks like a password from leaving.
struct NoPasswords;

impl Hook for NoPasswords {
    fn name(&self) -> &'static str {
        "no-passwords"
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        let text = call.args["text"].as_str().unwrap_or_default();
        if text.contains("password") {
            Before::Block("it speaks of a password.".into())
        } else {
            Before::Pass
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let gate = Tollgate::builder(Registry::new().with(send)?)
        .policy(Rules::new().allow("send")?)
        .hook(TestMailbox)
        .hook(NoPasswords)
        .build();
    let scope = Arc::new(Scope::new(Run::new("mail"), Workspace::new("/work")));

    for (id, text) in [("c1", "The build is green."), ("c2", "The password is tulip.")] {
        let input = json!({"to": "everyone@example.org", "text": text});
        let settled = gate.call(&scope, Proposed::new(id, "send", &input)).await;
        match &settled.outcome {
            Outcome::Ok(output) => println!("{id} ok: {}", json!(output)),
            Outcome::Refused(refusal) => println!("{id} refused, {}: {refusal}", refusal.code),
            Outcome::Failed(failure) => println!("{id} failed: {failure}"),
        }
    }
    Ok(())
}
