//! A server that asks the person.

use serde_json::Value;

use crate::skipped::skipped;
use crate::world::World;

/// A world with a server `up` that asks this; `None` with one clear line where there is no Python.
pub(crate) fn asking(question: &Value) -> Option<World> {
    if !std::path::Path::new("/usr/bin/python3").exists() {
        skipped("a server that asks: there is no /usr/bin/python3 here");
        return None;
    }
    let world = World::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/asks.py");
    let folder = world.path().join(".config/tollgate");
    std::fs::create_dir_all(&folder).unwrap();
    let question = world.file("question.json", question.to_string()).display().to_string();
    let config = format!(
        "[policy]\nallow = [\"@up/book\"]\n[mcp.servers.up]\ncommand = [\"/usr/bin/python3\", {script:?}, {question:?}]\n"
    );
    std::fs::write(folder.join("tollgate.toml"), config).unwrap();
    Some(world)
}
