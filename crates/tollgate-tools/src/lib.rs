//! What touches the host: processes, command hooks, the sandbox, the understanding of shell commands, and the
//! built-in tools.

pub mod beneath;
mod blocking;
pub mod journal;
pub mod files;
pub mod search;
