//! Which tools are meant: `*`, `rea*`, `@server`, `@server/get_*`, and `!name` for what is not.

use crate::{
    policy::{BadPattern, Pattern},
    tool::ToolSpec,
};

/// A list of patterns. A tool passes when one of them matches and no `!pattern` does, whatever their order.
///
/// A list of `!patterns` alone means everything else. An `explicit_only` tool passes by its full name only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    with: Vec<Pattern>,
    without: Vec<Pattern>,
}

impl Filter {
    /// Reads the patterns.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, BadPattern> {
        let mut filter = Self::default();
        for pattern in patterns {
            match pattern.strip_prefix('!') {
                Some(pattern) => filter.without.push(Pattern::parse(pattern)?),
                None => filter.with.push(Pattern::parse(pattern)?),
            }
        }
        Ok(filter)
    }

    /// True when the tool is meant.
    pub fn passes(&self, tool: &ToolSpec) -> bool {
        let named = match &self.with[..] {
            [] => !self.without.is_empty() && !tool.explicit_only,
            patterns => patterns.iter().any(|pattern| pattern.matches(tool)),
        };
        // What is taken out goes out by any name it has, explicit or not.
        named && !self.without.iter().any(|pattern| pattern.covers(tool))
    }
}
