//! `[mcp.servers.NAME]` in `tollgate.toml`, read strictly: what is not understood is an error with its place.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use toml::Spanned;

use super::{Confinement, Endpoint, Generation, OAuth, ServerConfig, ServerName, expand};

/// Why the servers of a file cannot be used. None of the file's servers is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
#[non_exhaustive]
pub struct BadServer {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    mcp: Option<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(default)]
    servers: BTreeMap<Spanned<String>, Spanned<Server>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "independent settings, as they stand in the file")]
struct Server {
    command: Option<Spanned<Command>>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    pass_env: Vec<String>,
    cwd: Option<PathBuf>,
    url: Option<Spanned<String>>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    client_id: Option<String>,
    client_secret: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    #[serde(default)]
    generation: Generation,
    #[serde(default)]
    trust: bool,
    #[serde(default)]
    sampling: bool,
    #[serde(default = "yes")]
    elicitation: bool,
    #[serde(default = "yes")]
    roots: bool,
    sandbox: Option<Spanned<Sandboxed>>,
    network: Option<Spanned<bool>>,
    #[serde(default = "yes")]
    enabled: bool,
    #[serde(default)]
    tools: Vec<String>,
    start_ms: Option<Spanned<u64>>,
    idle_ms: Option<Spanned<u64>>,
    call_ms: Option<Spanned<u64>>,
    max_message_bytes: Option<Spanned<u64>>,
    max_in_prompt: Option<usize>,
}

/// A program with its arguments beside it or behind it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Command {
    Program(String),
    Words(Vec<String>),
}

/// Whether a program is held, and how.
#[derive(Deserialize)]
#[serde(untagged)]
enum Sandboxed {
    Is(bool),
    Named(String),
}

const KEYS: &str = "a server has `command` (with `args`, `env`, `pass_env`, `cwd`, `sandbox`, `network`) or `url` (with `headers`, `client_id`, \
                    `client_secret`, `scopes`), and may have generation, trust, sampling, elicitation, roots, enabled, tools, start_ms, \
                    idle_ms, call_ms, max_message_bytes, max_in_prompt.";

/// The longest anything may take.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The largest message anybody may wish for.
const LARGEST: u64 = 1 << 30;

fn yes() -> bool {
    true
}

/// Reads the servers of a config file at `path`; other sections are none of its business. Variables are put in by
/// `variable`; a relative folder starts at the file's own.
pub fn read_toml(
    text: &str,
    path: &Path,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<ServerConfig>, BadServer> {
    let file: File = toml::from_str(text)
        .map_err(|error| bad(text, error.span().unwrap_or_default(), error.message(), KEYS))?;
    let servers = file.mcp.map(|section| section.servers).unwrap_or_default();
    let mut understood = Vec::new();
    for (name, server) in servers {
        let at = name.span();
        let line = position(text, at.start).0;
        let name = ServerName::new(name.get_ref())
            .map_err(|error| bad(text, at.clone(), error.to_string(), "give the server another name."))?;
        let whole = server.span();
        let reader =
            Reader { name: &name, whole, folder: path.parent(), variable, missing: RefCell::default() };
        let mut config = reader
            .understand(server.into_inner())
            .map_err(|(span, message, hint)| bad(text, span, message, hint))?;
        config.source = format!("{}:{line}", path.display());
        understood.push(config);
    }
    Ok(understood)
}

type Wrong = (Range<usize>, String, String);

struct Reader<'a> {
    name: &'a ServerName,
    whole: Range<usize>,
    folder: Option<&'a Path>,
    variable: &'a dyn Fn(&str) -> Option<String>,
    missing: RefCell<Vec<String>>,
}

impl Reader<'_> {
    fn understand(&self, server: Server) -> Result<ServerConfig, Wrong> {
        let time = |given: Option<Spanned<u64>>| match given {
            Some(given) if *given.get_ref() == 0 || u128::from(*given.get_ref()) > LONGEST.as_millis() => {
                let message = format!("a time of {} ms cannot be meant", given.get_ref());
                Err((given.span(), message, "give 1 to 86400000 milliseconds.".to_owned()))
            }
            given => Ok(given.map(|given| Duration::from_millis(given.into_inner()))),
        };
        let (start, idle, call) = (time(server.start_ms)?, time(server.idle_ms)?, time(server.call_ms)?);
        let endpoint = match (server.command, server.url) {
            (Some(command), None) => {
                self.none_of(&server.headers, "headers")?;
                let span = command.span();
                let words = match command.into_inner() {
                    Command::Program(program) => [vec![program], server.args].concat(),
                    Command::Words(words) => [words, server.args].concat(),
                };
                let env = self.pairs(server.env);
                self.stdio(&words, env, server.pass_env, server.cwd, span)?
            }
            (None, Some(url)) => {
                self.none_of(&server.env, "env")?;
                let oauth = OAuth {
                    client_id: server.client_id,
                    client_secret: server.client_secret.map(|secret| self.text(&secret)),
                    scopes: server.scopes,
                };
                let oauth = (oauth != OAuth::default()).then_some(oauth);
                let span = url.span();
                let url = self.text(url.get_ref());
                if !(url.starts_with("http://") || url.starts_with("https://")) {
                    let message = format!("`{url}` is no address of a server");
                    return Err((
                        span,
                        message,
                        "begin it with https:// (or http:// on this machine).".to_owned(),
                    ));
                }
                Endpoint::Http { url, headers: self.pairs(server.headers), oauth }
            }
            (command, _) => {
                let message = match command {
                    Some(_) => format!("the server {} has both a `command` and a `url`", self.name),
                    None => format!("the server {} has neither a `command` nor a `url`", self.name),
                };
                return Err((self.whole.clone(), message, KEYS.to_owned()));
            }
        };
        let mut config = ServerConfig::new(self.name.clone(), endpoint);
        config.generation = server.generation;
        config.trust = server.trust;
        config.sampling = server.sampling;
        config.elicitation = server.elicitation;
        config.roots = server.roots;
        (config.sandbox, config.network) =
            self.confinement(server.sandbox, server.network, &config.endpoint)?;
        config.enabled = server.enabled;
        config.tools = server.tools;
        config.timeouts.start = start.unwrap_or(config.timeouts.start);
        config.timeouts.call = call.unwrap_or(config.timeouts.call);
        config.timeouts.idle = idle;
        if let Some(most) = server.max_message_bytes {
            let fits =
                usize::try_from(*most.get_ref()).ok().filter(|_| (1024..=LARGEST).contains(most.get_ref()));
            config.limits.message = fits.ok_or_else(|| {
                let message = format!("a message of {} bytes cannot be meant", most.get_ref());
                (most.span(), message, format!("give 1024 to {LARGEST}."))
            })?;
        }
        config.missing = self.missing.take();
        config.limits.in_prompt = server.max_in_prompt.unwrap_or(config.limits.in_prompt);
        Ok(config)
    }

    /// How a program is held. What would hold nothing is an error, not a setting.
    fn confinement(
        &self,
        sandbox: Option<Spanned<Sandboxed>>,
        network: Option<Spanned<bool>>,
        endpoint: &Endpoint,
    ) -> Result<(Option<Confinement>, bool), Wrong> {
        let hint = "give sandbox = true (or \"writing\"), \"reading\", or false; network = true beside it opens the network.";
        let wrong = |span: Range<usize>, message: String| Err((span, message, hint.to_owned()));
        let confined = match sandbox {
            None => None,
            Some(given) => {
                let span = given.span();
                let confined = match given.into_inner() {
                    Sandboxed::Is(false) => None,
                    Sandboxed::Is(true) => Some(Confinement::Writing),
                    Sandboxed::Named(name) if name == "writing" => Some(Confinement::Writing),
                    Sandboxed::Named(name) if name == "reading" => Some(Confinement::Reading),
                    Sandboxed::Named(name) => {
                        return wrong(span, format!("`{name}` is no way to hold a server"));
                    }
                };
                if confined.is_some() && !matches!(endpoint, Endpoint::Stdio { .. }) {
                    return wrong(
                        span,
                        format!("the server {} is no program: nothing of it runs here", self.name),
                    );
                }
                confined
            }
        };
        match network {
            Some(open) if confined != Some(Confinement::Writing) => wrong(
                open.span(),
                "`network` is said of a server that may write in a sandbox, and of no other".to_owned(),
            ),
            open => Ok((confined, open.is_some_and(Spanned::into_inner))),
        }
    }

    fn stdio(
        &self,
        words: &[String],
        env: Vec<(String, String)>,
        env_names: Vec<String>,
        cwd: Option<PathBuf>,
        span: Range<usize>,
    ) -> Result<Endpoint, Wrong> {
        let mut words = words.iter().map(|word| self.text(word));
        let command = words.next().filter(|command| !command.is_empty()).ok_or_else(|| {
            (span, "there is no program in `command`".to_owned(), "name the program first.".to_owned())
        })?;
        let cwd = match (cwd, self.folder) {
            (Some(cwd), Some(folder)) => Some(folder.join(cwd)),
            (cwd, _) => cwd,
        };
        Ok(Endpoint::Stdio { command, args: words.collect(), env, env_names, cwd })
    }

    fn pairs(&self, pairs: BTreeMap<String, String>) -> Vec<(String, String)> {
        pairs.into_iter().map(|(name, value)| (name, self.text(&value))).collect()
    }

    /// A text with its variables in it. What is not set is noted: it is this server's trouble and nobody else's.
    fn text(&self, text: &str) -> String {
        let expanded = expand(text, self.variable);
        self.missing.borrow_mut().extend(expanded.missing);
        expanded.text
    }

    fn none_of(&self, given: &BTreeMap<String, String>, key: &str) -> Result<(), Wrong> {
        if given.is_empty() {
            return Ok(());
        }
        let message = format!("`{key}` means nothing for the way the server {} is reached", self.name);
        Err((self.whole.clone(), message, KEYS.to_owned()))
    }
}

fn bad(text: &str, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> BadServer {
    let (line, column) = position(text, span.start);
    BadServer { line, column, message: message.into().replace('\n', ", "), hint: hint.into() }
}

/// Line and column of a byte, from 1.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ServerConfig>, BadServer> {
        let variable = |name: &str| (name == "TOKEN").then(|| "secret".to_owned());
        read_toml(text, Path::new("/p/tollgate.toml"), &variable)
    }

    #[test]
    fn both_ways_to_reach_a_server_are_read_with_their_settings() {
        let servers = read(
            "[policy]\n\n[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"server\"]\ncwd = \"sub\"\n\
             env = { KEY = \"${TOKEN}\" }\npass_env = [\"CI\"]\ntrust = true\nidle_ms = 500\n\n\
             [mcp.servers.web]\nurl = \"https://example.org/mcp\"\nheaders = { Authorization = \"Bearer ${TOKEN}\" }\n\
             generation = \"stateless\"\nscopes = [\"a\"]\n",
        )
        .unwrap();
        let endpoint = Endpoint::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "server".to_owned()],
            env: vec![("KEY".to_owned(), "secret".to_owned())],
            env_names: vec!["CI".to_owned()],
            cwd: Some("/p/sub".into()),
        };
        assert_eq!(servers[0].endpoint, endpoint);
        assert!(servers[0].trust && !servers[1].trust);
        assert_eq!(servers[0].timeouts.idle, Some(Duration::from_millis(500)));
        assert_eq!(servers[0].source, "/p/tollgate.toml:3");
        assert_eq!(servers[1].generation, Generation::Stateless);
        assert_eq!(servers[1].endpoint.shown(), "https://example.org/mcp (with Authorization)");
        assert!(!format!("{servers:?}").contains("secret"), "values are shown to nobody");
    }

    #[test]
    fn a_variable_that_is_not_set_is_the_trouble_of_its_server_alone() {
        let servers =
            read("[mcp.servers.a]\ncommand = \"x ${GONE}\"\n[mcp.servers.b]\ncommand = \"y\"\n").unwrap();
        assert_eq!(servers[0].missing, ["GONE"]);
        assert_eq!(servers[1].missing, [""; 0]);
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_place() {
        for (text, line, part) in [
            ("[mcp.servers.a]\ncomand = \"x\"\n", 2, "comand"),
            ("[mcp.servers.a]\n", 1, "neither"),
            ("[mcp.servers.a]\ncommand = \"x\"\nurl = \"http://x\"\n", 1, "both"),
            ("[mcp.servers.a]\nurl = \"ftp://x\"\n", 2, "no address"),
            ("[mcp.servers.built-in]\ncommand = \"x\"\n", 1, "pass for"),
            ("[mcp.servers.a]\ncommand = []\n", 2, "no program"),
            ("[mcp.servers.a]\ncommand = \"x\"\ncall_ms = 0\n", 3, "0 ms"),
            ("[mcp.servers.a]\ncommand = \"x\"\nheaders = { a = \"b\" }\n", 1, "headers"),
            ("[mcp]\nserver = 1\n", 2, "server"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(!error.hint.is_empty());
        }
    }
}
