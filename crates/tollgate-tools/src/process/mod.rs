//! The one place that starts processes: command hooks, shell commands and servers all start here.
//!
//! Describe a process with [`Launch`]; [`Launch::run`] waits for its end and keeps what it said, within limits;
//! [`Launch::start`] hands over its pipes. Whatever happens to the caller, the process and everything in its group
//! ends: by itself, at its deadline, on cancellation, or when the handle is dropped. A child that makes a session
//! of its own leaves the group; a sandbox that can tell its own processes from others holds that one too.

mod launch;
mod environment;
mod program;
mod watcher;
mod group;
mod capture;
mod run;
mod input;
mod launcher;
mod leash;
mod stacked;

pub use capture::{Captured, Keep};
pub use environment::{Environment, is_ours};
pub use group::{Pipes, Running};
pub use launch::{Inside, Launch, LaunchError, Wrapper};
pub use launcher::HostLauncher;
pub use leash::{Leash, ON_A_LEASH, become_leashed};
pub use program::find;
pub use run::{Ended, How};
pub use stacked::Stacked;
