//! The command hooks of all config files: those in force, and those that do nothing until a person trusts their file.

use std::path::{Path, PathBuf};

use tollgate::policy::config::{ConfigFile, Loaded, Trust};
use tollgate_tools::hook_command::{CommandHook, CommandHookConfig, read};

use crate::{args::Environment, exit::Fault, words};

/// Every hook that is configured.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    /// Those of files that count, in the order of the layers.
    pub(crate) live: Vec<CommandHook>,
    /// Those of a project nobody trusts: a command of somebody else's does not run here.
    pub(crate) inert: Vec<Inert>,
}

/// A hook that does nothing.
#[derive(Debug)]
pub(crate) struct Inert {
    pub(crate) name: String,
    /// As `tollgate.toml:14`.
    pub(crate) source: String,
}

impl Hooks {
    /// Reads the hooks of every file, or says which one is wrong: nothing runs beside half its gates.
    pub(crate) fn load(files: &Loaded, environment: &Environment) -> Result<Self, Fault> {
        let mut hooks = Self::default();
        for file in &files.files {
            for hook in of_file(&file.path, &file.file)? {
                if file.trust == Trust::Trusted {
                    hooks.live.push(CommandHook::new(hook, environment.variables.iter().cloned()));
                } else {
                    let source = format!("{}:{}", file.path.display(), hook.line);
                    hooks.inert.push(Inert { name: hook.name, source });
                }
            }
        }
        Ok(hooks)
    }

    /// Says which hooks do nothing.
    pub(crate) fn tell_inert(&self) {
        for Inert { name, source } in &self.inert {
            let name = words::visible(name);
            words::talk(&format!("note: the hook {name} ({source}) does nothing until `tollgate trust`."));
        }
    }
}

/// The hooks of one file.
pub(crate) fn of_file(path: &Path, file: &ConfigFile) -> Result<Vec<CommandHookConfig>, Fault> {
    if file.section("hook").is_none() {
        return Ok(Vec::new());
    }
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    read(file.text(), &folder).map_err(|bad| Fault::usage(format!("{}:{bad}", path.display()), bad.hint))
}
