//! The facts of a session, applied again.

use super::Saved;
use crate::machine::{Limits, Machine};

/// The conversation a session holds. Facts that do not fit where they stand are left out; how many is told too.
pub fn replay(saved: Saved) -> (Machine, usize) {
    let mut machine = Machine::new(Limits::unlimited());
    if saved.header.plan {
        machine = machine.planning();
    }
    let misplaced = saved.facts.into_iter().filter_map(|fact| machine.apply(fact).err()).count();
    (machine, misplaced)
}
