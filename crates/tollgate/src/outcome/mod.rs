//! Answers: what a call ended as, and what travels with it.

mod refusal;
mod failure;
mod output;
mod settled;
mod preview;
mod offload;
mod folder;
mod reference;
mod fetched;
mod stored;
mod neutral;
mod fence;
mod redact;

pub use failure::{Failure, FailureDetails, FailureKind};
pub(crate) use fence::Fence;
pub(crate) use fetched::Fetched;
pub use folder::{FolderResults, Limits, Tidied};
pub use neutral::visible;
pub(crate) use neutral::{grows_beyond, neutralise};
pub use offload::{Label, Offloaded, Opened, Part, ResultRef, ResultStore, StoreFault};
pub use output::{IntoOutput, Item, Json, Output, Trust};
pub use preview::Preview;
pub(crate) use preview::{exceeds, preview_of};
pub use redact::{RedactStream, Redactor};
pub(crate) use reference::{may_refer, resolve as resolve_references};
pub use refusal::{Refusal, RefusalCode, RefusalDetails, Violation};
pub use settled::{Answer, Evidence, Outcome, Phase, Settled, Status, hex};
pub use stored::NotStored;
