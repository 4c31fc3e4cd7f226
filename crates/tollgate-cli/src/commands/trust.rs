//! `tollgate trust`: what a project's file would widen holds from now on, for exactly this content.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use tollgate::policy::{
    Layer, Rule, RuleRef,
    config::{FILE_NAME, Sources, TrustStore},
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
        let (done, line) = if known {
            ("forgotten", "it is trusted no longer.")
        } else {
            ("nothing_to_do", "it was not trusted.")
        };
        words::done(shared, line, &json!({"file": absolute, "done": done}))?;
        return Ok(Exit::Done);
    }
    let environment = Environment::read();
    let (holds, line) = if absolute.file_name().is_some_and(|name| name == servers::JSON_FILE) {
        let servers = servers::of_json(&absolute, &text, &environment)?;
        (Holds::default().with_servers(&servers), "is trusted as it is now: these servers may start.")
    } else {
        let line = "is trusted as it is now; a change of it makes all this inert again.";
        (Holds::read(&sources, &absolute, &text, &environment)?, line)
    };
    if !shared.json {
        holds.tell()?;
    }
    store.trust(&absolute, &text).map_err(failed)?;
    let mut object = json!(holds);
    object["file"] = json!(absolute);
    object["done"] = "trusted".into();
    words::done(shared, &format!("{} {line}", file.display()), &object)?;
    Ok(Exit::Done)
}

/// What a file holds that counts once it is trusted.
#[derive(Default, Serialize)]
struct Holds {
    rules: Vec<RuleRef>,
    hooks: Vec<Runs>,
    opens: Vec<String>,
    run: Vec<String>,
    servers: Vec<Runs>,
}

/// Something with a name, and the exact command or address that starts or is reached from now on.
#[derive(Serialize)]
struct Runs {
    name: String,
    runs: String,
}

impl Holds {
    /// Reads a project's file strictly: what cannot be read so is not there to be trusted.
    fn read(sources: &Sources, file: &Path, text: &str, environment: &Environment) -> Result<Self, Fault> {
        if file.file_name().is_none_or(|name| name != FILE_NAME) {
            return Err(Fault::usage(
                format!("{} is no {FILE_NAME} and no {}", file.display(), servers::JSON_FILE),
                "name the tollgate.toml of a project.",
            ));
        }
        let parsed = sources.parse(Layer::Project, file, text).map_err(config::unusable)?;
        let rules = parsed.rules().iter().filter(|rule| rule.stance().widens()).map(Rule::reference);
        let hooks = hooks::of_file(file, &parsed)?.into_iter().map(|hook| {
            let runs = [&[hook.program.display().to_string()], &hook.args[..]].concat().join(" ");
            Runs { name: hook.name, runs }
        });
        let holds = Self {
            rules: rules.collect(),
            hooks: hooks.collect(),
            opens: sandbox::of_file(file, &parsed, sources.home.as_deref())?.openings(),
            run: Settings::of_file(file, &parsed)?.told(),
            servers: Vec::new(),
        };
        Ok(holds.with_servers(&servers::of_file(file, &parsed, environment)?))
    }

    fn with_servers(mut self, servers: &[ServerConfig]) -> Self {
        let runs =
            |server: &ServerConfig| Runs { name: server.name.to_string(), runs: server.endpoint.shown() };
        self.servers.extend(servers.iter().map(runs));
        self
    }

    fn tell(&self) -> Result<(), Fault> {
        let runs = |one: &Runs| format!("{} runs {}", one.name, one.runs);
        let rules = self.rules.iter().map(|rule| format!("{}   {}", rule.text, rule.source));
        let lines = rules.map(|line| ("rule", line));
        let lines = lines.chain(self.hooks.iter().map(|hook| ("hook", runs(hook))));
        let lines = lines.chain(self.opens.iter().map(|line| ("opens", line.clone())));
        let lines = lines.chain(self.run.iter().map(|line| ("run", line.clone())));
        let mut lines = lines.chain(self.servers.iter().map(|server| ("server", runs(server))));
        lines.try_for_each(|(word, line)| words::data(&words::entry::<5>(word, &line)))
    }
}

fn nearest(file: Option<PathBuf>) -> Result<PathBuf, Fault> {
    file.filter(|file| file.exists()).ok_or_else(|| {
        let hint = "name one, or write one with `tollgate init`.";
        Fault::usage(format!("there is no {FILE_NAME} in this folder or above it"), hint)
    })
}
