//! What a command line would do, in the terms every tool speaks.

use std::path::{Path, PathBuf};

use tollgate::{
    Effects,
    tool::{Access, Resource},
};

use crate::shell::{Analysis, analyse};

/// The effects of a command line that runs in `folder`, as seen from the working folder of the call.
pub(super) fn of(command: &str, folder: Option<&str>, home: Option<&Path>) -> Effects {
    let analysis = analyse(command);
    let mut effects = if analysis.is_read_only() { Effects::reading() } else { Effects::worst() };
    let Analysis { leaves, unclear, reads, writes, hosts, .. } = analysis;
    let from = |path: String| -> PathBuf {
        match (path.strip_prefix('~'), home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => folder.map_or_else(|| PathBuf::from(&path), |folder| Path::new(folder).join(&path)),
        }
    };
    let touched = |access| move |path| Resource::Path { path, access };
    effects.touches.extend(leaves.into_iter().map(|leaf| Resource::Command { command: leaf.words }));
    effects.touches.extend(unclear.into_iter().map(|unclear| Resource::Unclear { unclear }));
    if let Some(folder) = folder {
        effects.touches.push(touched(Access::Read)(folder.into()));
    }
    effects.touches.extend(reads.into_iter().map(from).map(touched(Access::Read)));
    effects.touches.extend(writes.into_iter().map(from).map(touched(Access::Write)));
    effects.touches.extend(hosts.into_iter().map(|host| Resource::Host { host }));
    effects
}

#[cfg(test)]
#[path = "effects_tests.rs"]
mod tests;
