//! `mcp`: the governed tools over stdin and stdout; `mcp add|list|remove|import|check`: servers that bring tools.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::{Plain, Shared, Shown};

#[derive(Debug, clap::Args)]
#[command(after_help = MCP_HELP)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    shared: Shared,
}

const MCP_HELP: &str = "Without a command it serves one client on stdin and stdout. Rules, roots, route and caller are those of \
                        every command. Where a rule asks, the client's person is shown a form; where the client has none, the \
                        question waits for `tollgate approvals`. `--on-ask park` asks there only, `--on-ask deny` asks nobody.";

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Writes a server into your tollgate.toml: `mcp add files -- npx -y @scope/server .`, `mcp add web --url https://…`
    Add(McpAdd),
    /// Every server that is configured, and whether it may start; starts none
    List(Plain),
    /// Takes a server out of the file it is in, and forgets what it offered
    Remove(McpRemove),
    /// Takes over the servers of another client's file (`mcpServers`)
    Import(McpImport),
    /// Logs in at a server behind HTTP; the login is kept for you alone
    Login(McpLogin),
    /// Connects, lists and judges what is offered: cost, defects, what changed since it was approved
    Check(McpCheck),
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpAdd {
    /// What the server is called here
    pub(crate) name: String,
    /// Its address, for a server behind HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// A header it is sent; `${NAME}` in the value is replaced when it is used (repeatable)
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// A variable it gets; `${NAME}` in the value is replaced when it is used (repeatable)
    #[arg(long, value_name = "NAME=VALUE", requires = "command")]
    pub(crate) env: Vec<String>,
    /// A variable it gets as it is in your environment (repeatable)
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) pass_env: Vec<String>,
    /// The folder it starts in
    #[arg(long, value_name = "DIR", requires = "command")]
    pub(crate) cwd: Option<PathBuf>,
    /// Which generation of the protocol it speaks
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub(crate) generation: GenerationName,
    /// Believe what it says about its tools: that one only reads, that one destroys
    #[arg(long)]
    pub(crate) trust: bool,
    /// Start its program in the sandbox of commands: it may change the roots alone (`--sandbox`), or nothing (`--sandbox=reading`)
    #[arg(long, value_name = "MAY", num_args = 0..=1, require_equals = true, default_missing_value = "writing", requires = "command")]
    pub(crate) sandbox: Option<ConfinementName>,
    /// Leave the network open to it inside the sandbox
    #[arg(long, requires = "sandbox")]
    pub(crate) network: bool,
    /// Write it into the project's file instead of your own
    #[arg(long)]
    pub(crate) project: bool,
    /// The program and its arguments, after `--`
    #[arg(value_name = "COMMAND", last = true)]
    pub(crate) command: Vec<String>,
    #[command(flatten)]
    pub(super) shared: Shared,
}

/// Generations of the protocol, by the names people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GenerationName {
    /// Asked first, then as the server answers
    Auto,
    /// 2026-07-28
    Stateless,
    /// Up to 2025-11-25
    Legacy,
}

/// What a program in the sandbox may do, by the names people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfinementName {
    /// Change what is in the roots
    Writing,
    /// Change nothing; it has no network
    Reading,
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpRemove {
    /// The server
    pub(crate) name: String,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpImport {
    /// The file of another client, as `.mcp.json` or `claude_desktop_config.json`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only these of its servers (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Say what would be taken over, and write nothing
    #[arg(long)]
    pub(crate) preview: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpCheck {
    /// The server; all of them when left out
    pub(crate) name: Option<String>,
    /// Take what it offers now for what may be called from now on
    #[arg(long, requires = "name")]
    pub(crate) accept: bool,
    #[command(flatten)]
    pub(super) shared: Shared,
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpLogin {
    /// The server
    pub(crate) name: String,
    /// How many seconds to wait for you to come back
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) wait: u64,
    #[command(flatten)]
    pub(super) shared: Shared,
}

impl Mcp {
    pub(super) fn take_shared(&mut self) -> Shared {
        let own = std::mem::take(&mut self.shared);
        let inner = match &mut self.command {
            None => return own,
            Some(McpCommand::Add(add)) => &mut add.shared,
            Some(McpCommand::List(plain)) => &mut plain.shared,
            Some(McpCommand::Remove(remove)) => &mut remove.shared,
            Some(McpCommand::Import(import)) => &mut import.shared,
            Some(McpCommand::Check(check)) => &mut check.shared,
            Some(McpCommand::Login(login)) => &mut login.shared,
        };
        own.and(std::mem::take(inner))
    }
}
