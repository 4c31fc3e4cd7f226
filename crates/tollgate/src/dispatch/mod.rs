//! Dispatch: the calls of one model turn, split into batches, run in order, answered in order.

mod partition;
mod watch;
mod flight;
mod gather;
mod turn;
mod stream;

pub use stream::TurnStream;
pub use turn::{Interrupter, Turn};

#[cfg(test)]
mod partition_tests;
