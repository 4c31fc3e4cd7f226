//! Effects as a file declares them, with paths, hosts and keys taken from the arguments of the call.

use serde_json::Value;

use super::{Why, fields::Fields};
use crate::tool::{Access, Concurrency, Effects, Resource};

/// What a mock says its calls do. Everything it leaves out is the worst.
pub(super) struct DeclaredEffects {
    // Without `touches`, which depend on the call.
    fixed: Effects,
    touches: Vec<Touch>,
}

enum Touch {
    Fixed(Resource),
    From { pointer: String, make: Make },
}

/// Makes a resource of the name an argument holds.
type Make = fn(&str) -> Resource;

impl DeclaredEffects {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, Why> {
        let mut fixed = Effects::worst();
        let Some(value) = fields.get("effects") else { return Ok(Self { fixed, touches: Vec::new() }) };
        let effects = Fields::inside("effects", value)?;
        let classes = [
            ("read_only", Concurrency::ReadOnly),
            ("write_exclusive", Concurrency::WriteExclusive),
            ("unsafe", Concurrency::Unsafe),
        ];
        fixed.concurrency = effects.word("concurrency", &classes)?.unwrap_or(fixed.concurrency);
        fixed.read_only = effects.flag("read_only")?.unwrap_or(fixed.read_only);
        fixed.destructive = effects.flag("destructive")?.unwrap_or(fixed.destructive);
        fixed.idempotent = effects.flag("idempotent")?.unwrap_or(fixed.idempotent);
        fixed.open_world = effects.flag("open_world")?.unwrap_or(fixed.open_world);
        let touches = effects.list("touches")?.unwrap_or_default();
        Ok(Self { fixed, touches: touches.iter().map(touch).collect::<Result<_, _>>()? })
    }

    /// The effects of one call. An argument that should name a thing and is no text makes them the worst; one
    /// that is absent names nothing.
    pub(super) fn of(&self, args: &Value) -> Effects {
        let mut effects = self.fixed.clone();
        for touch in &self.touches {
            match touch {
                Touch::Fixed(resource) => effects.touches.push(resource.clone()),
                Touch::From { pointer, make } => match named(args.pointer(pointer)) {
                    Some(names) => effects.touches.extend(names.into_iter().map(make)),
                    None => return Effects::worst(),
                },
            }
        }
        effects
    }
}

/// The names an argument holds: one, a list of them, or none; `None` when it is something else.
fn named(value: Option<&Value>) -> Option<Vec<&str>> {
    match value {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
        Some(_) => None,
    }
}

fn touch(value: &Value) -> Result<Touch, Why> {
    let fields = Fields::inside("effects.touches", value)?;
    let accesses = [("read", Access::Read), ("write", Access::Write)];
    let access = fields.word("access", &accesses)?.unwrap_or(Access::Write);
    let made: [(_, Make); 3] = [
        ("path_from", if access == Access::Read { reads } else { writes }),
        ("host_from", |host| Resource::Host { host: host.to_owned() }),
        ("key_from", |key| Resource::Key { key: key.to_owned() }),
    ];
    for (key, make) in made {
        if let Some(pointer) = fields.pointer(key)? {
            return Ok(Touch::From { pointer: pointer.to_owned(), make });
        }
    }
    let resource = if let Some(path) = fields.text("path")? {
        Resource::Path { path: path.into(), access }
    } else if let Some(host) = fields.text("host")? {
        Resource::Host { host: host.to_owned() }
    } else if let Some(key) = fields.text("key")? {
        Resource::Key { key: key.to_owned() }
    } else if fields.get("command").is_some() {
        let command = fields.texts("command")?.into_iter().map(str::to_owned).collect();
        Resource::Command { command }
    } else {
        return Err(fields.needs("`path`, `host`, `command` or `key`, and none taken from the arguments"));
    };
    Ok(Touch::Fixed(resource))
}

fn reads(path: &str) -> Resource {
    Resource::Path { path: path.into(), access: Access::Read }
}

fn writes(path: &str) -> Resource {
    Resource::Path { path: path.into(), access: Access::Write }
}
