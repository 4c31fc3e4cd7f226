//! A server's address as people may see it: where it is, without what would let others in.

use reqwest::Url;
use tollgate::outcome::Redactor;

/// Stands for what is not shown.
const HIDDEN: &str = "[redacted]";

/// Shorter pieces are names, numbers and versions.
const SHORTEST: usize = 16;

/// Words after which a path holds a secret, however short.
const ANNOUNCES: [&str; 8] = ["token", "key", "secret", "apikey", "api-key", "api_key", "auth", "access"];

/// The address without its user, the values of its query, and the parts of its path that look like secrets. Host, port and
/// harmless paths stay. What is no address is shown as [`shown_path`] shows a path.
pub fn shown_address(address: &str) -> String {
    let Some((url, host)) = Url::parse(address).ok().and_then(|url| {
        let host = url.host_str()?.to_owned();
        Some((url, host))
    }) else {
        return shown_path(address);
    };
    let user = if url.username().is_empty() && url.password().is_none() { "" } else { "[redacted]@" };
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let mut shown = format!("{}://{user}{host}{port}{}", url.scheme(), shown_path(url.path()));
    // `https://host` and `https://host/` are the same; the way it is written is the way it is known.
    if url.path() == "/" && !address.ends_with('/') && url.query().is_none() {
        shown.pop();
    }
    if url.query().is_some() {
        let pairs = url.query_pairs().map(|(name, _)| format!("{name}={HIDDEN}"));
        shown = format!("{shown}?{}", pairs.collect::<Vec<_>>().join("&"));
    }
    shown
}

/// A path without those of its parts that look like secrets.
pub(crate) fn shown_path(path: &str) -> String {
    let mut announced = false;
    let mut shown = Vec::new();
    for part in path.split('/') {
        let secret = is_secret(part) || (announced && part.len() >= 8 && part.contains(is_digit));
        announced = ANNOUNCES.contains(&part.to_ascii_lowercase().as_str());
        shown.push(if secret { HIDDEN } else { part });
    }
    shown.join("/")
}

/// True for what has the form of a known key, and for what is long and made by nobody's hand.
fn is_secret(part: &str) -> bool {
    part != Redactor::new().text(part) || is_uuid(part) || is_random(part)
}

fn is_uuid(part: &str) -> bool {
    let lengths: Vec<_> = part.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && part.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Words and numbers, however many, change seldom between letters and digits and between small and capital ones.
fn is_random(part: &str) -> bool {
    let bare: Vec<char> = part.chars().filter(char::is_ascii_alphanumeric).collect();
    if bare.len() < SHORTEST {
        return false;
    }
    let changes = |is: fn(char) -> bool| bare.windows(2).filter(|two| is(two[0]) != is(two[1])).count();
    // A capital begins a word, which is two changes; a row of words in one part is rarely longer than six.
    changes(is_digit) >= 4 || changes(|c| c.is_ascii_uppercase()) > 12
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_an_address_is_not_shown_and_where_it_leads_is() {
        for (address, shown) in [
            ("https://host/mcp/8f14e45fceea167a5a36dedd4bea2543", "https://host/mcp/[redacted]"),
            ("https://host/s/550e8400-e29b-41d4-a716-446655440000/mcp", "https://host/s/[redacted]/mcp"),
            ("https://host/s/MTg5ZmE3ZTItNDRhYi00Y2Q1/sse", "https://host/s/[redacted]/sse"),
            ("https://host/ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6/x", "https://host/[redacted]/x"),
            ("https://host/s/QxTzBvNmLpWsRdFgHjKlYtRe/mcp", "https://host/s/[redacted]/mcp"),
            ("https://host/token/hunter22/mcp", "https://host/token/[redacted]/mcp"),
            (
                "https://me:word@host:8443/mcp?key=word&p=1#x",
                "https://[redacted]@host:8443/mcp?key=[redacted]&p=[redacted]",
            ),
        ] {
            assert_eq!(shown_address(address), shown);
        }
    }

    #[test]
    fn harmless_addresses_are_shown_as_they_are_written() {
        for address in [
            "https://mcp.example.com",
            "https://mcp.example.com/",
            "https://mcp.example.com/mcp",
            "http://127.0.0.1:8787/v1/projects/my-first-project/mcp",
            "https://host/model-context-protocol-server/2026-07-28-preview-2",
            "https://host/ModelContextProtocolServer/auth/callback",
            "https://host/api/v1beta2/organizations/acme-corporation-europe/sse",
        ] {
            assert_eq!(shown_address(address), address);
        }
    }
}
