//! Which servers the config files name, and which of them may start.

use std::path::{Path, PathBuf};

use tollgate::policy::config::{ConfigFile, Loaded as LoadedFiles, Sources, Trust};
use tollgate_mcp::{
    ServerConfig,
    config::{SECTION, read_json, read_toml},
};
use tollgate_tools::process::is_ours;

use super::Inert;
use crate::{args::Environment, exit::Fault, words};

/// The file of servers that other clients read in a project.
pub(crate) const JSON_FILE: &str = ".mcp.json";

/// No file of servers is larger.
const MOST: u64 = 4 << 20;

/// The servers of one `tollgate.toml`.
pub(crate) fn of_file(
    path: &Path,
    file: &ConfigFile,
    environment: &Environment,
) -> Result<Vec<ServerConfig>, Fault> {
    if file.section(SECTION).is_none() {
        return Ok(Vec::new());
    }
    let variable = |name: &str| variable(environment, name);
    read_toml(file.text(), path, &variable)
        .map_err(|bad| Fault::usage(format!("{}:{bad}", path.display()), bad.hint))
}

/// The value of a variable. Our own secrets are nobody's to have, by whatever name a file asks for them.
fn variable(environment: &Environment, name: &str) -> Option<String> {
    let found = environment.variables.iter().find(|(known, _)| known == name && !is_ours(known));
    found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
}

/// The servers of a `.mcp.json`, with what is odd about it.
pub(crate) fn of_json(
    path: &Path,
    text: &str,
    environment: &Environment,
) -> Result<Vec<ServerConfig>, Fault> {
    let variable = |name: &str| variable(environment, name);
    let read = read_json(text, path, Some(&variable)).map_err(|why| {
        let hint = "a file of servers is {\"mcpServers\": {\"name\": {\"command\": …}}}; `--no-config` leaves it out.";
        Fault::usage(format!("{} cannot be used: {why}", path.display()), hint)
    })?;
    for note in &read.notes {
        words::talk(&format!("note: {}: {}", path.display(), words::visible(note)));
    }
    Ok(read.servers)
}

/// The servers of all files, by what becomes of them.
#[derive(Default)]
pub(super) struct Found {
    pub(super) live: Vec<ServerConfig>,
    pub(super) inert: Vec<Inert>,
    pub(super) shadowed: Vec<ServerConfig>,
}

impl Found {
    pub(super) fn toml_files(&mut self, files: &LoadedFiles, environment: &Environment) -> Result<(), Fault> {
        for file in &files.files {
            for server in of_file(&file.path, &file.file, environment)? {
                self.take(server, &file.path, file.trust);
            }
        }
        Ok(())
    }

    /// The nearest `.mcp.json` of the project.
    pub(super) fn json_file(
        &mut self,
        sources: &Sources,
        working: &Path,
        environment: &Environment,
    ) -> Result<(), Fault> {
        let places = working.ancestors().map(|folder| folder.join(JSON_FILE));
        // An empty one names no servers. While a command runs, the sandbox has one in the place of a file that is not
        // there, so that the command cannot make it.
        let says = |path: PathBuf| Some((read(&path).filter(|text| !text.trim().is_empty())?, path));
        let Some((text, path)) = places.into_iter().find_map(says) else { return Ok(()) };
        let trust = sources.trust_of(&path, &text);
        for server in of_json(&path, &text, environment)? {
            self.take(server, &path, trust);
        }
        Ok(())
    }

    /// A file that binds more goes first: what it names is not another's to replace.
    fn take(&mut self, server: ServerConfig, file: &Path, trust: Trust) {
        if self.live.iter().any(|known| known.name == server.name) {
            self.shadowed.push(server);
        } else if trust == Trust::Trusted {
            self.live.push(server);
        } else {
            self.inert.push(Inert { config: server, file: file.to_owned(), trust });
        }
    }
}

/// The text of a file that is there and can be one.
fn read(path: &Path) -> Option<String> {
    let size = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    if size > MOST {
        return None;
    }
    std::fs::read_to_string(path).ok()
}
