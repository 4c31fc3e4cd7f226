//! What a `WWW-Authenticate` says of the login a server wants.

/// The parts of a challenge that count here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Challenge {
    /// Where the server describes itself.
    pub(super) resource_metadata: Option<String>,
    /// The rights it asks for.
    pub(super) scope: Option<String>,
}

impl Challenge {
    pub(super) fn read(header: &str) -> Self {
        Self { resource_metadata: parameter(header, "resource_metadata"), scope: parameter(header, "scope") }
    }
}

/// The value of `name=value` or `name="value"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    let mut rest = header;
    while let Some(at) = rest.to_ascii_lowercase().find(name) {
        let before = rest[..at].chars().next_back();
        let after = rest[at + name.len()..].trim_start();
        rest = &rest[at + name.len()..];
        let stands_alone = before.is_none_or(|c| c == ' ' || c == ',' || c == '\t');
        let (true, Some(value)) = (stands_alone, after.strip_prefix('=')) else { continue };
        let value = value.trim_start();
        return Some(match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
            None => value.split([',', ' ']).next().unwrap_or_default().to_owned(),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_found_in_any_order_and_quoting() {
        let header =
            r#"Bearer error="invalid_token", scope="a b", resource_metadata="https://x/.well-known/y""#;
        let expected = Challenge {
            resource_metadata: Some("https://x/.well-known/y".to_owned()),
            scope: Some("a b".to_owned()),
        };
        assert_eq!(Challenge::read(header), expected);
        assert_eq!(Challenge::read("Bearer scope=a").scope.as_deref(), Some("a"));
        assert_eq!(Challenge::read("Bearer my_scope=a"), Challenge::default());
        assert_eq!(Challenge::read(""), Challenge::default());
    }
}
