//! The small languages that some programs take as words, each read by a closed list.

pub(super) mod test;
pub(super) mod sed;
pub(super) mod awk;
pub(super) mod find;
pub(super) mod tar;
pub(super) mod small;
