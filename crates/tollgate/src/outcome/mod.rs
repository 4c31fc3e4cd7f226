//! Answers: what a call ended as, and what travels with it.

mod refusal;
mod failure;
mod output;
mod settled;
mod preview;
mod offload;
mod stored;
mod neutral;
mod fence;

pub use failure::{Failure, FailureDetails, FailureKind};
pub(crate) use fence::Fence;
pub(crate) use neutral::neutralise;
pub use neutral::visible;
pub use offload::{FolderResults, Offloaded, Part, ResultRef, ResultStore, StoreFault};
pub use output::{IntoOutput, Item, Json, Output, Trust};
pub use preview::Preview;
pub(crate) use preview::{exceeds, preview_of};
pub use refusal::{Refusal, RefusalCode, RefusalDetails, Violation};
pub(crate) use settled::hex;
pub use settled::{Answer, Evidence, Outcome, Phase, Settled, Status};
pub use stored::NotStored;
