//! One server: how it is reached, what it may do, and how long it may take.

use std::{fmt, path::PathBuf, time::Duration};

use super::{ServerName, shown_address};

/// Everything about one server that is known before it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "independent settings, each named where it is read")]
pub struct ServerConfig {
    /// What it is called here.
    pub name: ServerName,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// Which generation of the protocol it speaks.
    pub generation: Generation,
    /// Its hints are believed. Otherwise each of its tools is the worst case.
    pub trust: bool,
    /// It may ask for text from the model.
    pub sampling: bool,
    /// It may ask the person.
    pub elicitation: bool,
    /// It is told the roots when it asks.
    pub roots: bool,
    /// What its program may do, where it is started inside the sandbox of commands. Nothing holds it otherwise.
    pub sandbox: Option<Confinement>,
    /// The network is open to a program in the sandbox.
    pub network: bool,
    /// It is used at all.
    pub enabled: bool,
    /// Only these of its tools, by globs over their own names; all of them where there is none.
    pub tools: Vec<String>,
    /// How long things may take.
    pub timeouts: ServerTimeouts,
    /// How much it may say.
    pub limits: Limits,
    /// Variables it wants that are not set: it is not started without them.
    pub missing: Vec<String>,
    /// Where it stands: `tollgate.toml:14`, for messages.
    pub source: String,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A program that is talked to over its stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables it gets with these values.
        env: Vec<(String, String)>,
        /// Variables it gets from our environment, by name.
        env_names: Vec<String>,
        /// The folder it starts in.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// The one address.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
        /// How it is logged in to, where not by a header.
        oauth: Option<OAuth>,
    },
}

/// What a person set up for the login at a server, where it does not register clients by itself.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuth {
    /// The client's id, as registered there.
    pub client_id: Option<String>,
    /// The client's secret, where it was given one.
    pub client_secret: Option<String>,
    /// The rights to ask for.
    pub scopes: Vec<String>,
}

/// Generations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Generation {
    /// Asked first, then as the server answers.
    #[default]
    Auto,
    /// 2026-07-28: every request stands alone.
    Stateless,
    /// Up to 2025-11-25: a handshake, then a session.
    Legacy,
}

/// What a program in the sandbox may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// Read, and nothing else; there is no network.
    Reading,
    /// Change what is in the roots.
    Writing,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTimeouts {
    /// From start to the list of its tools.
    pub start: Duration,
    /// Between two signs of life during a call.
    pub idle: Option<Duration>,
    /// A whole call.
    pub call: Duration,
}

/// How much a server may say before it is cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message.
    pub message: usize,
    /// Tools of its list.
    pub tools: usize,
    /// Tools whose schemas go into the prompt; with more, all of them are found by search.
    pub in_prompt: usize,
    /// Characters of a description.
    pub description: usize,
}

impl ServerConfig {
    /// A server with every default on the safe side.
    pub fn new(name: ServerName, endpoint: Endpoint) -> Self {
        Self {
            name,
            endpoint,
            generation: Generation::default(),
            trust: false,
            sampling: false,
            elicitation: true,
            roots: true,
            sandbox: None,
            network: false,
            enabled: true,
            tools: Vec::new(),
            timeouts: ServerTimeouts::default(),
            limits: Limits::default(),
            missing: Vec::new(),
            source: String::new(),
        }
    }

    /// A server that is a program.
    pub fn stdio(
        name: ServerName,
        command: impl Into<String>,
        args: impl IntoIterator<Item = String>,
    ) -> Self {
        let args = args.into_iter().collect();
        let (env, env_names) = (Vec::new(), Vec::new());
        Self::new(name, Endpoint::Stdio { command: command.into(), args, env, env_names, cwd: None })
    }

    /// A server behind an address.
    pub fn http(name: ServerName, url: impl Into<String>) -> Self {
        Self::new(name, Endpoint::Http { url: url.into(), headers: Vec::new(), oauth: None })
    }
}

impl Endpoint {
    /// The exact command, or the address without what looks like a secret in it, on one line, for whoever approves it. Values
    /// of variables and headers are not shown.
    pub fn shown(&self) -> String {
        self.told(shown_address)
    }

    /// The same with the whole address, secrets and all: for telling two endpoints apart, never for showing.
    pub(crate) fn exact(&self) -> String {
        self.told(str::to_owned)
    }

    fn told(&self, address: impl Fn(&str) -> String) -> String {
        match self {
            Self::Stdio { command, args, env, env_names, cwd } => {
                let words = std::iter::once(command).chain(args).map(|word| quoted(word));
                let mut shown = words.collect::<Vec<_>>().join(" ");
                if let Some(cwd) = cwd {
                    shown = format!("{shown} (in {})", cwd.display());
                }
                let names: Vec<_> =
                    env.iter().map(|(name, _)| name).chain(env_names).map(String::as_str).collect();
                if !names.is_empty() {
                    shown = format!("{shown} (with {})", names.join(", "));
                }
                shown
            }
            Self::Http { url, headers, .. } if headers.is_empty() => address(url),
            Self::Http { url, headers, .. } => {
                let names: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
                format!("{} (with {})", address(url), names.join(", "))
            }
        }
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("{word:?}") }
}

// The secret is shown to nobody.
impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

// Values may be secrets: only names are shown.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Default for ServerTimeouts {
    fn default() -> Self {
        Self { start: Duration::from_secs(12), idle: None, call: Duration::from_secs(120) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { message: 16 << 20, tools: 10_000, in_prompt: 100, description: 4096 }
    }
}
