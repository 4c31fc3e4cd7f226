//! How a built-in tool is described and registered.

use serde_json::Value;
use tollgate::{Registry, Tool, ToolSpec, catalog::RegistryError, tool::ToolName};

/// The metadata of a built-in tool: its name, its aliases, and what differs from the safe side.
pub(crate) fn builtin(
    names: &[&str],
    description: &str,
    schema: Value,
    declare: impl FnOnce(&mut ToolSpec),
) -> ToolSpec {
    let (name, aliases) = names.split_first().map_or(("", names), |(name, aliases)| (*name, aliases));
    #[expect(clippy::expect_used, reason = "the names are constants, and registered in every test")]
    let mut spec = ToolSpec::new(name, description, schema).expect("a legal name");
    spec.owner = Some("tollgate".into());
    spec.aliases = aliases.iter().filter_map(|alias| ToolName::new(alias).ok()).collect();
    declare(&mut spec);
    spec
}

/// The registry with this tool, unless `only` is a name of another one.
pub(crate) fn add<T: Tool>(
    registry: Registry,
    only: Option<&str>,
    names: &[&str],
    tool: impl FnOnce() -> T,
) -> Result<Registry, RegistryError> {
    if only.is_none_or(|only| names.contains(&only)) { registry.with(tool()) } else { Ok(registry) }
}
