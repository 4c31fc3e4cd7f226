//! What touches the host: processes, command hooks, the sandbox, the understanding of shell commands, and the
//! built-in tools.

pub mod process;
mod section;
pub mod hook_command;
pub mod shell;
pub mod sandbox;
pub mod command;
pub mod beneath;
mod blocking;
mod builtin;
pub mod journal;
pub mod files;
pub mod search;

pub use section::BadSection;
