//! URI references resolved against a base as RFC 3986 says, as far as schemas within one document need it.

/// The base of a document that does not name itself.
pub(in crate::schema) const NAMELESS: &str = "json-schema:///";

/// The absolute URI a reference means, without its fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let reference = Parts::of(split_fragment(reference).0);
    let base = Parts::of(split_fragment(base).0);
    let (scheme, authority, path, query) = if reference.scheme.is_some() {
        (reference.scheme, reference.authority, without_dots(reference.path), reference.query)
    } else if reference.authority.is_some() {
        (base.scheme, reference.authority, without_dots(reference.path), reference.query)
    } else if reference.path.is_empty() {
        let query = reference.query.or(base.query);
        (base.scheme, base.authority, base.path.to_owned(), query)
    } else if reference.path.starts_with('/') {
        (base.scheme, base.authority, without_dots(reference.path), reference.query)
    } else {
        let folder = match base.path.rfind('/') {
            Some(end) => &base.path[..=end],
            None if base.authority.is_some() => "/",
            None => "",
        };
        (base.scheme, base.authority, without_dots(&format!("{folder}{}", reference.path)), reference.query)
    };
    let mut uri = String::new();
    if let Some(scheme) = scheme {
        uri.push_str(&scheme.to_ascii_lowercase());
        uri.push(':');
    }
    if let Some(authority) = authority {
        uri.push_str("//");
        uri.push_str(&authority.to_ascii_lowercase());
    }
    uri.push_str(&path);
    if let Some(query) = query {
        uri.push('?');
        uri.push_str(query);
    }
    uri
}

/// A reference and its fragment, the latter empty where there is none.
pub(super) fn split_fragment(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let (text, query) = match text.split_once('?') {
            Some((text, query)) => (text, Some(query)),
            None => (text, None),
        };
        let (scheme, text) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (authority, path) = match text.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, text),
        };
        Self { scheme, authority, path, query }
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// A path with its `.` and `..` carried out.
fn without_dots(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => kept.push(""),
            "." => {}
            ".." => {
                kept.pop();
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    let joined = kept.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

/// The text with every `%41` read as the byte it stands for.
pub(super) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
