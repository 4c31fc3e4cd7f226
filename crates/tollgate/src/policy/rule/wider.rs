//! Whether one rule means all that another means, as far as their texts show it. For people, never for a decision.

use super::{Anchor, CommandPattern, HostPattern, PathPattern, Reading, Rule, Touch};
use crate::policy::Pattern;

impl Rule {
    /// True when a rule that tightens means whatever `other` means. Says no where the texts do not show it.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        if self.reading() == Reading::Narrow || self.is_conditional() {
            return false;
        }
        let tools = match (&self.tool, &other.tool) {
            (None, _) => true,
            (Some(tool), None) => tool.is_everything(),
            (Some(tool), Some(others)) => tool.is_everything() || tool == others || named(tool, others),
        };
        let things = match (&self.touch, &other.touch) {
            (None, _) => true,
            (
                Some(Touch::Path { access, pattern }),
                Some(Touch::Path { access: other_access, pattern: other }),
            ) => (access.is_none() || access == other_access) && pattern.includes(other),
            (Some(Touch::Host(pattern)), Some(Touch::Host(other))) => pattern.includes(other),
            (Some(Touch::Command(pattern)), Some(Touch::Command(other))) => pattern.includes(other),
            (Some(_), _) => false,
        };
        tools && things
    }
}

/// `rea*` means the `read_file` of another rule.
fn named(tool: &Pattern, other: &Pattern) -> bool {
    other.exact_name().is_some_and(|name| tool.is_bare_glob_over(name) && !other.has_server())
}

impl PathPattern {
    fn includes(&self, other: &Self) -> bool {
        let (all, some) = (self.glob(), other.glob());
        if self.anchored_at() == &Anchor::Top && matches!(all, "**" | "/**" | "**/*") {
            return other.anchored_at() != &Anchor::Home;
        }
        if self.anchored_at() != other.anchored_at() {
            return false;
        }
        // Read widely, a pattern without wildcards means the folder and all below it, as `x/**` does.
        let stem = all.strip_suffix("/**").unwrap_or(all);
        let plain = !stem.contains(['*', '?', '[', '{', '\\']);
        let below = some.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        all == some || all == "**" || (plain && (below || stem.is_empty()))
    }
}

impl HostPattern {
    fn includes(&self, other: &Self) -> bool {
        match (self.key(), other.key()) {
            // Read widely, a name means itself and all below it.
            (Some(name), Some(other)) => {
                other.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            _ => self == other || self.is_everything(),
        }
    }
}

impl CommandPattern {
    fn includes(&self, other: &Self) -> bool {
        let program = self.program() == other.program() && self.program().is_some() && !self.in_folder();
        if self.is_bare() {
            return self.program().is_none_or(|_| program);
        }
        let (words, others) = (self.words(), other.words());
        program
            && if self.is_open() { others.starts_with(words) } else { others == words && !other.is_open() }
    }
}
