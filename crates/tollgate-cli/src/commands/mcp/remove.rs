//! `mcp remove`: a server is in no file any more, and what it offered is forgotten.

use serde_json::json;
use tollgate_mcp::config::{ServerName, without_server};

use super::file;
use crate::{
    args::{Environment, McpRemove, Shared},
    config,
    exit::{Exit, Fault},
    servers, words, world,
};

pub(super) fn run(remove: &McpRemove, shared: &Shared) -> Result<Exit, Fault> {
    let name = ServerName::new(&remove.name)
        .map_err(|error| Fault::usage(error.to_string(), "`tollgate mcp list` names them."))?;
    let environment = Environment::read();
    let working = world::working_folder(&world::roots(shared)?);
    let sources = config::sources(shared, &environment, &working);
    let own = file::own(&sources)?;
    let taken_out =
        file::change(&own, &sources, |text| without_server(text, &name)).map(|()| own.path.clone());
    let path = match taken_out {
        Ok(path) => path,
        // Not in the person's own file: then in the project's, or nowhere.
        Err(fault) => {
            let project = file::of_project(&sources).ok().filter(|project| project.path.exists());
            let Some(project) = project else { return Err(fault) };
            file::change(&project, &sources, |text| without_server(text, &name))?;
            project.path
        }
    };
    if let Some(pins) = servers::pins(&environment) {
        pins.forget(&name)
            .map_err(|fault| Fault::input(fault.to_string(), "move the file away, or put it right."))?;
    }
    let object = json!({"name": name.as_str(), "file": path, "done": "removed"});
    words::done(shared, &format!("took {name} out of {}.", path.display()), &object)?;
    Ok(Exit::Done)
}
