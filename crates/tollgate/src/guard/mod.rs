//! What stands between a permit and a body: exclusivity, budgets, breakers, deadlines, retries, the ledger.

mod spawn;
mod workspace;
mod run;
mod budget;
mod purse_book;
mod repetition;
mod trace_parent;
mod breaker;
mod retry;
mod hourglass;
mod contained;
mod first;
mod inbox;
mod post;
mod pulse;
mod deadline;
mod ledger;
mod idempotency;

pub use breaker::{Breaker, BreakerBook, BreakerKey, BreakerSettings, BreakerState, Breakers};
pub(crate) use breaker::{Health, Probe};
pub(crate) use budget::Reservation;
pub use budget::{Budget, Purse, Spent};
pub(crate) use contained::{Contained, caught, contained_until};
pub(crate) use deadline::{Clock, Ended, Guarded, cancellable, drive, guarded, later, patiently};
pub use hourglass::{Hourglass, Still};
pub use idempotency::MemoryLedger;
pub(crate) use inbox::Inbox;
pub use ledger::{
    CallRecord, Claim, End, Fence, Fingerprint, InputRecord, Ledger, LedgerFault, Recalled, Start, Ticket,
    Written,
};
pub(crate) use post::Post;
pub(crate) use pulse::Pulse;
pub use purse_book::{PurseBook, Reserved};
pub use repetition::Repetition;
pub use retry::RetryPolicy;
pub use run::{Run, RunBuilder};
pub(crate) use spawn::off_thread;
pub use spawn::{Spawner, TokioSpawner};
pub use trace_parent::TraceParent;
pub(crate) use workspace::Place;
pub use workspace::Workspace;
