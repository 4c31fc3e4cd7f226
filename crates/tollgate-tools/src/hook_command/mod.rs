//! Hooks that are commands: the call as JSON on stdin, the answer as JSON on stdout or as an exit code.
//!
//! `docs/hooks.md` tells people how to write one; the files here follow its order.

mod config;
mod question;
mod answer;
mod cache;
mod hook;

pub use config::{Answers, CommandHookConfig, On, read};
pub use hook::{CommandHook, Probed};
