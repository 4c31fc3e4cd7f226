//! `tollgate trust`: what a project's file would widen holds from now on, for exactly this content.

use std::path::PathBuf;

use tollgate::policy::{
    Layer,
    config::{FILE_NAME, TrustStore},
};

use tollgate_mcp::ServerConfig;

use crate::{
    args::{Environment, Shared, TrustFile},
    config,
    exit::{Exit, Fault},
    hooks, input,
    run::settings::Settings,
    sandbox, servers, words, world,
};

/// No file of rules is larger.
const MOST: usize = 16 << 20;

pub(crate) fn run(trust: &TrustFile, shared: &Shared) -> Result<Exit, Fault> {
    let working = world::working_folder(&world::roots(shared)?);
    let sources = config::sources(shared, &Environment::read(), &working);
    let store = sources
        .trust
        .clone()
        .ok_or_else(|| Fault::usage("nothing says where trust is kept", "set HOME, or TOLLGATE_HOME."))?;
    let store = TrustStore::new(store);
    let file = match &trust.file {
        Some(file) => file.clone(),
        None => nearest(sources.project_file())?,
    };
    let bytes = input::read(Some(&file), MOST)?;
    let not_text = || Fault::usage(format!("{} is not UTF-8 text", file.display()), "save it as UTF-8.");
    let text = String::from_utf8(bytes).map_err(|_| not_text())?;
    let absolute = file.canonicalize().map_err(|error| Fault::machine("finding the file", &error))?;
    let failed = |error: std::io::Error| Fault::machine("writing down what is trusted", &error);
    if trust.forget {
        let known = store.forget(&absolute).map_err(failed)?;
        words::talk(if known { "it is trusted no longer." } else { "it was not trusted." });
        return Ok(Exit::Done);
    }
    let environment = Environment::read();
    if absolute.file_name().is_some_and(|name| name == servers::JSON_FILE) {
        tell_servers(&servers::of_json(&absolute, &text, &environment)?)?;
        store.trust(&absolute, &text).map_err(failed)?;
        words::talk(&format!("{} is trusted as it is now: these servers may start.", file.display()));
        return Ok(Exit::Done);
    }
    if absolute.file_name().is_none_or(|name| name != FILE_NAME) {
        return Err(Fault::usage(
            format!("{} is no {FILE_NAME} and no {}", file.display(), servers::JSON_FILE),
            "name the tollgate.toml of a project.",
        ));
    }
    // What cannot be read strictly is not there to be trusted.
    let parsed = sources.parse(Layer::Project, &absolute, &text).map_err(config::unusable)?;
    for rule in parsed.rules().iter().filter(|rule| rule.stance().widens()) {
        let reference = rule.reference();
        words::data(&words::entry::<5>("rule", &format!("{}   {}", reference.text, reference.source)))?;
    }
    for hook in hooks::of_file(&absolute, &parsed)? {
        let command = [&[hook.program.display().to_string()], &hook.args[..]].concat().join(" ");
        words::data(&words::entry::<5>("hook", &format!("{} runs {command}", hook.name)))?;
    }
    for opening in sandbox::of_file(&absolute, &parsed, sources.home.as_deref())?.openings() {
        words::data(&words::entry::<5>("opens", &opening))?;
    }
    for line in Settings::of_file(&absolute, &parsed)?.told() {
        words::data(&words::entry::<5>("run", &line))?;
    }
    tell_servers(&servers::of_file(&absolute, &parsed, &environment)?)?;
    store.trust(&absolute, &text).map_err(failed)?;
    words::talk(&format!(
        "{} is trusted as it is now; a change of it makes all this inert again.",
        file.display()
    ));
    Ok(Exit::Done)
}

/// Each server with the exact command or address that starts or is reached from now on.
fn tell_servers(servers: &[ServerConfig]) -> Result<(), Fault> {
    for server in servers {
        words::data(&words::entry::<5>(
            "server",
            &format!("{} runs {}", server.name, server.endpoint.shown()),
        ))?;
    }
    Ok(())
}

fn nearest(file: Option<PathBuf>) -> Result<PathBuf, Fault> {
    file.filter(|file| file.exists()).ok_or_else(|| {
        let hint = "name one, or write one with `tollgate init`.";
        Fault::usage(format!("there is no {FILE_NAME} in this folder or above it"), hint)
    })
}
