//! `${NAME}` and `${NAME:-otherwise}` in values of a server's configuration, each replaced once.

/// A text with its variables put in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expanded {
    /// The text.
    pub text: String,
    /// Variables it wanted that are not set.
    pub missing: Vec<String>,
}

/// Puts variables in. What a variable holds is not looked at again, and `$NAME` without brackets stays as it is.
pub fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Expanded {
    let mut expanded = Expanded::default();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        expanded.text.push_str(&rest[..at]);
        let inside = &rest[at + 2..];
        let Some(end) = inside.find('}') else {
            expanded.text.push_str(&rest[at..]);
            return expanded;
        };
        let (name, otherwise) = match inside[..end].split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (&inside[..end], None),
        };
        // Other clients write `${env:NAME}` for the same.
        let name = name.strip_prefix("env:").unwrap_or(name);
        match (is_name(name), variable(name).filter(|value| !value.is_empty()), otherwise) {
            (false, _, _) => expanded.text.push_str(&rest[at..at + 3 + end]),
            (true, Some(value), _) => expanded.text.push_str(&value),
            (true, None, Some(otherwise)) => expanded.text.push_str(otherwise),
            (true, None, None) => expanded.missing.push(name.to_owned()),
        }
        rest = &inside[end + 1..];
    }
    expanded.text.push_str(rest);
    expanded
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_brackets_are_put_in_once_and_nothing_else_is() {
        let variable = |name: &str| match name {
            "A" => Some("x".to_owned()),
            "NESTED" => Some("${A}".to_owned()),
            _ => None,
        };
        for (text, expected, missing) in [
            ("plain", "plain", &[][..]),
            ("${A}-${A}", "x-x", &[]),
            ("${NESTED}", "${A}", &[]),
            ("${NO:-y}", "y", &[]),
            ("${A:-y}", "x", &[]),
            ("${env:A}", "x", &[]),
            ("a${NO}b", "ab", &["NO"]),
            ("$A ${} ${1} ${A b} ${", "$A ${} ${1} ${A b} ${", &[]),
        ] {
            let found = expand(text, &variable);
            assert_eq!(found.text, expected, "{text}");
            assert_eq!(found.missing, missing, "{text}");
        }
    }
}
