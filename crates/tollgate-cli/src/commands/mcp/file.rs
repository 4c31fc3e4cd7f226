//! A `tollgate.toml` changed in one step, everything else in it left as it is.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use tollgate::policy::{
    Layer,
    config::{Sources, Trust, TrustStore},
};
use tollgate_mcp::config::NotWritten;

use crate::{config, exit::Fault};

/// One file, and how it would be read.
pub(super) struct Target {
    pub(super) path: PathBuf,
    layer: Layer,
}

/// The person's own file.
pub(super) fn own(sources: &Sources) -> Result<Target, Fault> {
    let path = sources.user.clone();
    let path = path.ok_or_else(|| {
        Fault::usage("nothing says where your own tollgate.toml is", "set HOME, or TOLLGATE_HOME.")
    })?;
    Ok(Target { path, layer: Layer::User })
}

/// The project's.
pub(super) fn of_project(sources: &Sources) -> Result<Target, Fault> {
    let path = sources.project_file();
    let path = path.ok_or_else(|| Fault::usage("there is no project folder", "leave out --no-config."))?;
    Ok(Target { path, layer: Layer::Project })
}

/// Changes the file. A project's file that was trusted stays so: it was a person who changed it just now.
pub(super) fn change(
    target: &Target,
    sources: &Sources,
    change: impl FnOnce(&str) -> Result<String, NotWritten>,
) -> Result<(), Fault> {
    let shown = target.path.display();
    let before = match std::fs::read_to_string(&target.path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Fault::usage(format!("{shown} cannot be read: {error}"), "put it right first."));
        }
    };
    let trusted = before.as_ref().is_none_or(|text| sources.trust_of(&target.path, text) == Trust::Trusted);
    let after = change(before.as_deref().unwrap_or_default()).map_err(|error| {
        let hint = match error {
            NotWritten::Odd(_) => "put the TOML right first.",
            NotWritten::Taken(_) => "take another name, or `tollgate mcp remove` it first.",
            NotWritten::Missing(_) => "`tollgate mcp list` says which there are, and where.",
        };
        Fault::usage(format!("{shown}: {error}"), hint)
    })?;
    // What we write we must be able to read.
    sources.parse(target.layer, &target.path, &after).map_err(config::unusable)?;
    replace(&target.path, &after).map_err(|error| Fault::machine("writing the file", &error))?;
    if target.layer == Layer::Project
        && trusted
        && let Some(store) = &sources.trust
    {
        let kept = TrustStore::new(store).trust(&target.path, &after);
        kept.map_err(|error| Fault::machine("writing down what is trusted", &error))?;
    }
    Ok(())
}

/// Whoever reads sees the old content or the new one, whole.
fn replace(file: &Path, content: &str) -> std::io::Result<()> {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let beside = folder.join(format!(".tollgate.toml.{:x}.new", std::process::id()));
    let written = (|| {
        // Values of variables may be secrets: a file that is new is the person's alone.
        let mut open =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        open.write_all(content.as_bytes())?;
        if let Ok(known) = file.metadata() {
            open.set_permissions(known.permissions())?;
        }
        open.sync_all()?;
        std::fs::rename(&beside, &file)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}
