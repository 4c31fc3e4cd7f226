//! Formats: which ones the validator checks, in which draft.

use super::dialect::Dialect;

/// True when the validator refuses values that do not have this format, in this draft.
pub(crate) fn is_checked(dialect: Dialect, format: &str) -> bool {
    const CHECKED: [&str; 17] = [
        "date",
        "date-time",
        "time",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "uri-template",
        "iri",
        "iri-reference",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ];
    dialect.asserts_formats() && CHECKED.contains(&format)
}
