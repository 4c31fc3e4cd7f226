//! A payment takes effect at most once: repeated under its key, it is answered and not made again.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::json;
use tollgate::{
    Effects, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    outcome::Outcome,
    policy::Rules,
    tool,
};

static PAYMENTS: AtomicU32 = AtomicU32::new(0);

/// Pays somebody.
#[tool(effects = |_, _| Effects::writing().open_world(), requires_idempotency_key, timeout_ms = 50)]
async fn pay(
    /// Who gets it.
    to: String,
    /// How much, in cents.
    cents: u32,
) -> String {
    let number = PAYMENTS.fetch_add(1, Ordering::Relaxed) + 1;
    if to == "the slow bank" {
        // The money may be on its way when the deadline comes.
        std::future::pending::<()>().await;
    }
    format!("payment {number}: {cents} to {to}")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let gate = Tollgate::builder(Registry::new().with(pay)?).policy(Rules::new().allow("pay")?).build();
    let scope = Arc::new(Scope::new(Run::new("shop"), Workspace::new("/work")));
    let to_ann = r#"{"to": "Ann", "cents": 500}"#;
    let to_the_bank = r#"{"to": "the slow bank", "cents": 1}"#;

    let calls = [
        ("a key is required", Proposed::new("c1", "pay", to_ann)),
        ("the first one pays", Proposed::new("c2", "pay", to_ann).with_key("order 7")),
        ("the same again is replayed", Proposed::new("c3", "pay", to_ann).with_key("order 7")),
        ("other arguments under that key", Proposed::new("c4", "pay", to_the_bank).with_key("order 7")),
        ("cut off on its way", Proposed::new("c5", "pay", to_the_bank).with_key("order 8")),
        ("and never tried again by itself", Proposed::new("c6", "pay", to_the_bank).with_key("order 8")),
    ];
    for (what, call) in calls {
        let settled = gate.call(&scope, call).await;
        let said = match &settled.outcome {
            Outcome::Ok(output) => json!(output).to_string(),
            Outcome::Refused(refusal) => refusal.code.to_string(),
            Outcome::Failed(failure) => failure.to_string(),
        };
        println!("{what}:\n  {} replayed={} {said}", settled.status(), settled.replayed);
    }
    println!("payments begun: {}", PAYMENTS.load(Ordering::Relaxed));
    Ok(())
}
