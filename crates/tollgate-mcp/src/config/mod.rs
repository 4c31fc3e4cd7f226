//! Which servers there are: from `tollgate.toml`, from the `mcpServers` files of other clients, and back again.

mod name;
mod address;
mod server;
mod expand;
mod toml_file;
mod json_file;
mod write;

pub use address::shown_address;
pub(crate) use address::shown_path;
pub use expand::{Expanded, expand};
pub use json_file::{JsonServers, read_json};
pub use name::{BadServerName, ServerName};
pub use server::{Confinement, Endpoint, Generation, Limits, OAuth, ServerConfig, ServerTimeouts};
pub use toml_file::{BadServer, read_toml};
pub use write::{NotWritten, with_server, without_server};

/// The section of `tollgate.toml` that names servers.
pub const SECTION: &str = "mcp";
