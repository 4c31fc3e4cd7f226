//! `mcpServers` of other clients (`.mcp.json`, desktop configurations), read as they are. One odd entry costs no other.

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{Endpoint, ServerConfig, ServerName, expand};

/// The servers of a file of another client.
#[derive(Debug, Default)]
pub struct JsonServers {
    /// Those that are understood.
    pub servers: Vec<ServerConfig>,
    /// What was taken another way than it is written, and what could not be taken at all; for people.
    pub notes: Vec<String>,
}

/// Where the value of a variable comes from.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads such a file. An error where it is not one at all. Without variables, `${NAME}` stays as it is written.
pub fn read_json(text: &str, path: &Path, variable: Option<Variables<'_>>) -> Result<JsonServers, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Some(entries) = entries(&whole) else {
        return Err("it has no `mcpServers`".to_owned());
    };
    let mut read = JsonServers::default();
    for (key, entry) in entries {
        match one(key, entry, path, variable) {
            Ok((mut server, note)) => {
                if read.servers.iter().any(|known| known.name == server.name) {
                    read.notes.push(format!("{key:?}: another server is called {} already", server.name));
                    continue;
                }
                server.source = path.display().to_string();
                if server.name.as_str() != key {
                    read.notes.push(format!("{key:?} is called {} here", server.name));
                }
                read.notes.extend(note.map(|note| format!("{key:?}: {note}")));
                read.servers.push(server);
            }
            Err(why) => read.notes.push(format!("{key:?} is left out: {why}")),
        }
    }
    Ok(read)
}

/// Where clients keep them: `mcpServers`, or `servers` (also below `mcp`).
fn entries(whole: &Value) -> Option<&Map<String, Value>> {
    let places = ["/mcpServers", "/mcp/servers", "/servers"];
    places.iter().find_map(|place| whole.pointer(place)?.as_object())
}

fn one(
    key: &str,
    entry: &Value,
    path: &Path,
    variable: Option<Variables<'_>>,
) -> Result<(ServerConfig, Option<String>), String> {
    let name =
        ServerName::new(key).or_else(|_| ServerName::nearest(key)).map_err(|error| error.to_string())?;
    let entry = entry.as_object().ok_or("it is no object")?;
    let mut note = None;
    let missing = RefCell::new(Vec::new());
    let text = |text: &str| {
        let Some(variable) = variable else { return text.to_owned() };
        let expanded = expand(text, variable);
        missing.borrow_mut().extend(expanded.missing);
        expanded.text
    };
    let kind = entry.get("type").or_else(|| entry.get("transport")).and_then(Value::as_str);
    let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|key| entry.get(*key)?.as_str());
    let endpoint = match (kind, entry.get("command"), url) {
        (None | Some("stdio"), Some(command), _) => {
            let command = text(command.as_str().ok_or("`command` is no text")?);
            let args = texts(entry.get("args"), "args")?;
            let args = args.iter().map(|arg| text(arg)).collect();
            let env = pairs(entry.get("env"), "env", &text)?;
            let cwd = entry.get("cwd").and_then(Value::as_str).map(PathBuf::from);
            let cwd = cwd.map(|cwd| path.parent().map_or(cwd.clone(), |folder| folder.join(cwd)));
            if command.is_empty() {
                return Err("`command` is empty".to_owned());
            }
            Endpoint::Stdio { command, args, env, env_names: Vec::new(), cwd }
        }
        (Some("stdio"), None, _) => return Err("it has no `command`".to_owned()),
        (_, _, Some(url)) => {
            if kind == Some("sse") {
                note = Some("the old SSE transport is gone; it is spoken to in streamable HTTP".to_owned());
            }
            let url = text(url);
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                return Err(format!("`{url}` is no address of a server"));
            }
            Endpoint::Http { url, headers: pairs(entry.get("headers"), "headers", &text)?, oauth: None }
        }
        (Some(kind), ..) => {
            return Err(format!("`{kind}` is no transport that is known here, or its `url` is missing"));
        }
        _ => return Err("it has neither a `command` nor a `url`".to_owned()),
    };
    let mut server = ServerConfig::new(name, endpoint);
    let flag = |key: &str| entry.get(key).and_then(Value::as_bool).unwrap_or_default();
    server.missing = missing.take();
    server.enabled = !flag("disabled");
    Ok((server, note))
}

fn texts(value: Option<&Value>, key: &str) -> Result<Vec<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            let text = |item: &Value| {
                item.as_str().map(str::to_owned).ok_or(format!("`{key}` holds something that is no text"))
            };
            items.iter().map(text).collect()
        }
        Some(_) => Err(format!("`{key}` is no list")),
    }
}

fn pairs(
    value: Option<&Value>,
    key: &str,
    text: &dyn Fn(&str) -> String,
) -> Result<Vec<(String, String)>, String> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(map)) => {
            let pair = |(name, value): (&String, &Value)| {
                let value = match value {
                    Value::String(value) => text(value),
                    Value::Number(_) | Value::Bool(_) => value.to_string(),
                    _ => return Err(format!("`{key}` holds something that is no text")),
                };
                Ok((name.clone(), value))
            };
            map.iter().map(pair).collect()
        }
        Some(_) => Err(format!("`{key}` is no table")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> JsonServers {
        read_json(text, Path::new("/p/.mcp.json"), Some(&|name| (name == "T").then(|| "v".to_owned())))
            .unwrap()
    }

    #[test]
    fn files_of_other_clients_are_read_as_they_are() {
        let read = read(
            r#"{"mcpServers": {
              "files": {"command": "npx", "args": ["-y", "s", "${T}"], "env": {"A": "${T}", "N": 1}, "autoApprove": []},
              "My Web": {"type": "http", "url": "https://x/mcp", "headers": {"Authorization": "Bearer ${T}"}},
              "old": {"type": "sse", "url": "https://x/sse"},
              "off": {"command": "x", "disabled": true}}}"#,
        );
        let names: Vec<_> = read.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["files", "My-Web", "old", "off"]);
        let Endpoint::Stdio { args, env, .. } = &read.servers[0].endpoint else { panic!("a program") };
        assert_eq!((args[2].as_str(), env[0].1.as_str(), env[1].1.as_str()), ("v", "v", "1"));
        assert!(!read.servers[3].enabled);
        assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
    }

    #[test]
    fn an_entry_that_cannot_be_used_is_left_out_alone() {
        let read = read(
            r#"{"mcpServers": {"a": {"command": "x"}, "built-in": {"command": "x"}, "b": {}, "c": 1,
                "d": {"command": "x", "args": "y"}, "e": {"command": "x", "args": ["${GONE}"]}, "f": {"type": "ws", "url2": ""}}}"#,
        );
        assert_eq!(read.servers.len(), 2);
        assert_eq!(read.servers[1].missing, ["GONE"]);
        assert_eq!(read.notes.len(), 5, "{:?}", read.notes);
        assert!(read_json("{}", Path::new("x"), None).is_err());
        assert!(read_json("[", Path::new("x"), None).is_err());
    }
}
