//! `serve`: the governed tools for clients of MCP, over HTTP.

use std::{net::SocketAddr, path::PathBuf};

use super::Shared;

#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct Serve {
    /// The address; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub(crate) listen: SocketAddr,
    /// Who may ask: a caller's name, a token and maybe a route per line; `TOLLGATE_TOKEN` is one token more
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Who may ask: whoever has a token that this issuer signed
    #[arg(
        long,
        value_name = "URL",
        requires = "issuer_keys",
        requires = "audience",
        conflicts_with = "tokens"
    )]
    pub(crate) issuer: Option<String>,
    /// The issuer's keys, a JWK set
    #[arg(long, value_name = "FILE", requires = "issuer")]
    pub(crate) issuer_keys: Option<PathBuf>,
    /// The address of this server as the issuer knows it: whom tokens are for
    #[arg(long, value_name = "URL", requires = "issuer")]
    pub(crate) audience: Option<String>,
    /// The claim of a token that names the route its caller is on
    #[arg(long, value_name = "NAME", requires = "issuer")]
    pub(crate) route_claim: Option<String>,
    /// A name this server goes by, beside the loopback ones (repeatable)
    #[arg(long, value_name = "NAME[:PORT]")]
    pub(crate) host: Vec<String>,
    /// A page that may speak to this server, as `https://app.example.com` (repeatable)
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// The longest message, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20)]
    pub(crate) max_body: usize,
    /// How many requests each caller has a second; 0 for no limit. 200 beyond loopback when left out
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rate: Option<u32>,
    /// A session nobody used for so long is over, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) session_idle: u64,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(super) shared: Shared,
}

const SERVE_HELP: &str = "Speaks streamable HTTP at /mcp, with sessions and without. Beyond loopback it starts only with --tokens, \
                          TOLLGATE_TOKEN or --issuer, and answers only to names given by --host. It has no TLS of its own: put it \
                          behind something that does.";

/// What clients see, and how they are asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Shown {
    /// With more tools than this, clients get three that search, describe and call the others
    #[arg(long, value_name = "NUMBER", default_value_t = 60)]
    pub(crate) search_over: usize,
    /// Tools of servers go by the names they have there, where no other tool does
    #[arg(long)]
    pub(crate) plain_names: bool,
    /// How long a call waits for an answer of `tollgate approvals`, in seconds, before it is refused
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait_for_approval: u64,
}
