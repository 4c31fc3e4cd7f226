//! What models cost and how much they take: a table as data, with the operator's own rows before ours.

mod money;
mod models;

pub use models::{BadModels, ModelRow, Models};
pub use money::Money;
