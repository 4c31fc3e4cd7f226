//! What stands between a permit and a body: each guard, seen from outside, fails its test when it is taken out.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

mod breakers;
mod budgets;
mod cancellation;
mod deadlines;
mod idempotency;
mod ledger;
mod repetition;
mod retries;
mod turns;
#[path = "../world/mod.rs"]
mod world;

use std::time::Duration;

use tollgate::tool::{Timeouts, ToolBuilder};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How long a body that was told to stop may take.
const GRACE: Duration = ms(250);

fn within(builder: ToolBuilder, timeouts: Timeouts) -> ToolBuilder {
    builder.spec(|spec| spec.timeouts = timeouts)
}

fn total(limit: Duration) -> Timeouts {
    Timeouts { total: limit, ..Timeouts::default() }
}
