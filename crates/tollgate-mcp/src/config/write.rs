//! Servers written back into a `tollgate.toml`, everything else in it left as it is.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::{Confinement, Endpoint, Generation, ServerConfig, ServerName};

/// Why a file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    /// It is no TOML, or `mcp.servers` is something else in it.
    #[error("the file cannot be changed: {0}")]
    Odd(String),
    /// There is one of that name.
    #[error("there is a server called {0} already")]
    Taken(ServerName),
    /// There is none of that name.
    #[error("there is no server called {0} in it")]
    Missing(ServerName),
}

/// The text with one server more.
pub fn with_server(text: &str, server: &ServerConfig) -> Result<String, NotWritten> {
    let mut document = parse(text)?;
    let mcp = document.entry("mcp").or_insert_with(hidden);
    let mcp = mcp.as_table_like_mut().ok_or_else(|| NotWritten::Odd("`mcp` is no table".to_owned()))?;
    let servers = mcp.entry("servers").or_insert_with(hidden);
    let servers =
        servers.as_table_like_mut().ok_or_else(|| NotWritten::Odd("`mcp.servers` is no table".to_owned()))?;
    if servers.contains_key(server.name.as_str()) {
        return Err(NotWritten::Taken(server.name.clone()));
    }
    servers.insert(server.name.as_str(), Item::Table(table(server)));
    Ok(document.to_string())
}

/// The text without that server.
pub fn without_server(text: &str, name: &ServerName) -> Result<String, NotWritten> {
    let mut document = parse(text)?;
    let servers = document.get_mut("mcp").and_then(|mcp| mcp.get_mut("servers"));
    let servers = servers.and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(name.as_str()));
    removed.map(|_| document.to_string()).ok_or_else(|| NotWritten::Missing(name.clone()))
}

fn parse(text: &str) -> Result<DocumentMut, NotWritten> {
    text.parse().map_err(|error: toml_edit::TomlError| NotWritten::Odd(error.message().to_owned()))
}

/// A table that has no heading of its own.
fn hidden() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn table(server: &ServerConfig) -> Table {
    let mut table = Table::new();
    match &server.endpoint {
        Endpoint::Stdio { command, args, env, env_names, cwd } => {
            table["command"] = value(command);
            if !args.is_empty() {
                table["args"] = value(args.iter().collect::<Array>());
            }
            if !env.is_empty() {
                table["env"] = value(pairs(env));
            }
            if !env_names.is_empty() {
                table["pass_env"] = value(env_names.iter().collect::<Array>());
            }
            if let Some(cwd) = cwd {
                table["cwd"] = value(cwd.to_string_lossy().into_owned());
            }
        }
        Endpoint::Http { url, headers, oauth } => {
            table["url"] = value(url);
            if !headers.is_empty() {
                table["headers"] = value(pairs(headers));
            }
            if let Some(oauth) = oauth {
                if let Some(id) = &oauth.client_id {
                    table["client_id"] = value(id);
                }
                if let Some(secret) = &oauth.client_secret {
                    table["client_secret"] = value(secret);
                }
                if !oauth.scopes.is_empty() {
                    table["scopes"] = value(oauth.scopes.iter().collect::<Array>());
                }
            }
        }
    }
    match server.generation {
        Generation::Auto => {}
        Generation::Stateless => table["generation"] = value("stateless"),
        Generation::Legacy => table["generation"] = value("legacy"),
    }
    match server.sandbox {
        None => {}
        Some(Confinement::Writing) => table["sandbox"] = value(true),
        Some(Confinement::Reading) => table["sandbox"] = value("reading"),
    }
    if server.network {
        table["network"] = value(true);
    }
    if server.trust {
        table["trust"] = value(true);
    }
    if !server.enabled {
        table["enabled"] = value(false);
    }
    table
}

fn pairs(pairs: &[(String, String)]) -> InlineTable {
    pairs.iter().map(|(name, value)| (name.as_str(), toml_edit::Value::from(value.as_str()))).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::read_toml;

    #[test]
    fn what_is_written_is_read_back_and_comments_stay() {
        let before = "# mine\n[policy]\nallow = [\"a\"] # why\n";
        let name = ServerName::new("files").unwrap();
        let mut server = ServerConfig::stdio(name.clone(), "npx", ["-y".to_owned(), "a b".to_owned()]);
        let Endpoint::Stdio { env, .. } = &mut server.endpoint else { panic!("a program") };
        env.push(("K".to_owned(), "v".to_owned()));
        server.trust = true;
        (server.sandbox, server.network) = (Some(Confinement::Writing), true);
        let after = with_server(before, &server).unwrap();
        assert!(after.starts_with(before), "{after}");
        let read = read_toml(&after, Path::new("t"), &|_| None).unwrap();
        assert_eq!(read[0].endpoint, server.endpoint);
        assert!(read[0].trust);
        assert_eq!((read[0].sandbox, read[0].network), (server.sandbox, server.network));
        assert_eq!(with_server(&after, &server), Err(NotWritten::Taken(name.clone())));

        let web = ServerConfig::http(ServerName::new("web").unwrap(), "https://x");
        let both = with_server(&after, &web).unwrap();
        assert_eq!(read_toml(&both, Path::new("t"), &|_| None).unwrap().len(), 2);
        assert_eq!(without_server(&both, &web.name).unwrap(), after);
        assert_eq!(without_server(before, &name), Err(NotWritten::Missing(name)));
    }
}
