//! `mcp import`: the servers of another client's file are in the person's own from now on.

use serde_json::json;
use tollgate_mcp::config::{NotWritten, read_json, with_server};

use super::file;
use crate::{
    args::{Environment, McpImport, Shared},
    config,
    exit::{Exit, Fault},
    input, words, world,
};

/// No file of servers is larger.
const MOST: usize = 4 << 20;

pub(super) fn run(import: &McpImport, shared: &Shared) -> Result<Exit, Fault> {
    let shown = import.file.display();
    let bytes = input::read(Some(&import.file), MOST)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Fault::usage(format!("{shown} is not UTF-8 text"), "save it as UTF-8."))?;
    // Variables stay as they are written: they are looked up when the server starts.
    let read = read_json(&text, &import.file, None).map_err(|why| {
        let hint = "name a file with {\"mcpServers\": {\"name\": {\"command\": …}}} in it.";
        Fault::usage(format!("{shown} cannot be used: {why}"), hint)
    })?;
    for note in &read.notes {
        words::talk(&format!("note: {}", words::visible(note)));
    }
    let working = world::working_folder(&world::roots(shared)?);
    let sources = config::sources(shared, &Environment::read(), &working);
    let target = file::own(&sources)?;
    let wanted = |name: &str| import.only.is_empty() || import.only.iter().any(|only| only == name);
    let mut taken = 0;
    for server in read.servers.iter().filter(|server| wanted(server.name.as_str())) {
        let told = |done: &str| {
            let mut object = json!({"name": server.name.as_str(), "reached_by": server.endpoint.shown(),
                                    "file": target.path, "done": done});
            if import.preview {
                object["preview"] = true.into();
            }
            words::json(&object)
        };
        if !import.preview {
            let mut known = false;
            file::change(&target, &sources, |text| match with_server(text, server) {
                Err(NotWritten::Taken(_)) => {
                    known = true;
                    Ok(text.to_owned())
                }
                written => written,
            })?;
            if known {
                words::talk(&format!(
                    "note: {} is in {} already; it is left as it is.",
                    server.name,
                    target.path.display()
                ));
                if shared.json {
                    words::data(&told("nothing_to_do"))?;
                }
                continue;
            }
        }
        taken += 1;
        words::data(&if shared.json {
            told("written")
        } else {
            words::entry::<20>(server.name.as_str(), &server.endpoint.shown())
        })?;
    }
    let done = if import.preview { "would be written" } else { "written" };
    words::talk(&format!("servers {done} into {}: {taken}.", target.path.display()));
    Ok(Exit::Done)
}
