//! `mcp add`: a server is in the file from now on. It is not started.

use serde_json::json;
use tollgate_mcp::config::{Confinement, Endpoint, Generation, ServerConfig, ServerName, with_server};

use super::file;
use crate::{
    args::{ConfinementName, Environment, GenerationName, McpAdd, Shared},
    config,
    exit::{Exit, Fault},
    servers, words, world,
};

pub(super) fn run(add: &McpAdd, shared: &Shared) -> Result<Exit, Fault> {
    let server = understood(add)?;
    let environment = Environment::read();
    let working = world::working_folder(&world::roots(shared)?);
    let sources = config::sources(shared, &environment, &working);
    let target = if add.project { file::of_project(&sources)? } else { file::own(&sources)? };
    file::change(&target, &sources, |text| with_server(text, &server))?;
    // Whatever a server of that name once offered was another one's.
    if let Some(pins) = servers::pins(&environment) {
        pins.forget(&server.name)
            .map_err(|fault| Fault::input(fault.to_string(), "move the file away, or put it right."))?;
    }
    let line = format!(
        "wrote {} into {}; `tollgate mcp check {}` connects to it and shows what it offers.",
        server.name,
        target.path.display(),
        server.name
    );
    let object = json!({"name": server.name.as_str(), "file": target.path, "done": "written"});
    words::done(shared, &line, &object)?;
    Ok(Exit::Done)
}

fn understood(add: &McpAdd) -> Result<ServerConfig, Fault> {
    let name =
        ServerName::new(&add.name).map_err(|error| Fault::usage(error.to_string(), "take another name."))?;
    let endpoint = match (&add.url, add.command.split_first()) {
        (Some(url), _) => {
            if !(url.starts_with("https://") || url.starts_with("http://")) {
                return Err(Fault::usage(
                    format!("`{url}` is no address of a server"),
                    "begin it with https://.",
                ));
            }
            of_no_program(add)?;
            let headers = add.header.iter().map(|header| pair(header, ':', "--header", "NAME: VALUE"));
            Endpoint::Http { url: url.clone(), headers: headers.collect::<Result<_, _>>()?, oauth: None }
        }
        (None, Some((command, args))) => Endpoint::Stdio {
            command: command.clone(),
            args: args.to_vec(),
            env: add.env.iter().map(|env| pair(env, '=', "--env", "NAME=VALUE")).collect::<Result<_, _>>()?,
            env_names: add.pass_env.clone(),
            cwd: match &add.cwd {
                Some(cwd) => Some(cwd.canonicalize().map_err(|error| {
                    Fault::usage(
                        format!("the folder {} cannot be used: {error}", cwd.display()),
                        "name one that exists.",
                    )
                })?),
                None => None,
            },
        },
        (None, None) => {
            let hint = "`tollgate mcp add NAME -- PROGRAM ARGUMENTS`, or `--url ADDRESS`.";
            return Err(Fault::usage("nothing says how the server is reached", hint));
        }
    };
    let mut server = ServerConfig::new(name, endpoint);
    server.trust = add.trust;
    server.network = add.network;
    server.sandbox = add.sandbox.map(|may| match may {
        ConfinementName::Writing => Confinement::Writing,
        ConfinementName::Reading => Confinement::Reading,
    });
    if server.network && server.sandbox == Some(Confinement::Reading) {
        let hint = "leave --network out, or say --sandbox.";
        return Err(Fault::usage("a server that may only read has no network", hint));
    }
    server.generation = match add.generation {
        GenerationName::Auto => Generation::Auto,
        GenerationName::Stateless => Generation::Stateless,
        GenerationName::Legacy => Generation::Legacy,
    };
    Ok(server)
}

/// What is said of a program means nothing for an address; a sandbox that holds nothing must not be believed in.
fn of_no_program(add: &McpAdd) -> Result<(), Fault> {
    let said = [
        ("--env", !add.env.is_empty()),
        ("--pass-env", !add.pass_env.is_empty()),
        ("--cwd", add.cwd.is_some()),
        ("--sandbox", add.sandbox.is_some()),
    ];
    match said.into_iter().find(|(_, said)| *said) {
        None => Ok(()),
        Some((option, _)) => {
            let message =
                format!("{option} is said of a program, and nothing of a server behind --url runs here");
            Err(Fault::usage(message, "leave it out, or give a command after `--` instead of --url."))
        }
    }
}

fn pair(given: &str, between: char, option: &str, form: &str) -> Result<(String, String), Fault> {
    let pair =
        given.split_once(between).map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
    // The value may be a secret: it is not repeated.
    pair.filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| Fault::usage(format!("one {option} is not {form}"), format!("write it as {form}.")))
}
