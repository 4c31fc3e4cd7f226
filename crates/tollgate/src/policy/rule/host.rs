//! Hosts by name: `example.com`, `*.example.com`, `10.0.*`.

use url::{Host, Url};

use super::Reading;
use crate::policy::pattern::glob;

/// Which hosts are meant.
///
/// To widen, a name means itself and `*.name` what is below it. To tighten, both mean the name and all below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPattern {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exact,
    Below,
    Glob,
}

impl HostPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let text = text.strip_suffix('.').unwrap_or(&text);
        let odd = |c: &char| !(c.is_alphanumeric() || "-_.*?:[]".contains(*c));
        if text.is_empty() {
            return Err("a host is missing".to_owned());
        }
        if let Some(odd) = text.chars().find(odd) {
            return Err(format!("{odd:?} cannot stand in a host; write `example.com` or `*.example.com`"));
        }
        let wild = |text: &str| text.contains(['*', '?']);
        // One with a port means no host at all, and not the host with every port.
        let name = |text: &str| if text.matches(':').count() == 1 { text.to_owned() } else { normal(text) };
        Ok(match text.strip_prefix("*.") {
            Some(below) if !wild(below) => Self { name: name(below), kind: Kind::Below },
            _ if wild(text) => Self { name: text.to_owned(), kind: Kind::Glob },
            _ => Self { name: name(text), kind: Kind::Exact },
        })
    }

    pub(crate) fn matches(&self, host: &str, reading: Reading) -> bool {
        let host = normal(host);
        let below = || host.strip_suffix(self.name.as_str()).is_some_and(|rest| rest.ends_with('.'));
        match (self.kind, reading) {
            (Kind::Glob, _) => glob(&self.name, &host),
            (Kind::Exact, Reading::Narrow) => host == self.name,
            (Kind::Below, Reading::Narrow) => below(),
            (Kind::Exact | Kind::Below, Reading::Wide) => host == self.name || below(),
        }
    }

    /// True when it is for every host there is.
    pub(super) fn is_everything(&self) -> bool {
        self.kind == Kind::Glob && self.name == "*"
    }

    /// The name that every host it means is or ends with; `None` for a glob.
    pub(crate) fn key(&self) -> Option<&str> {
        (self.kind != Kind::Glob).then_some(&self.name)
    }
}

/// The host as programs come to read it: lower case, without port, closing dot or the brackets of an address, its
/// escapes and wide letters taken off, an address in its usual form.
pub(crate) fn normal(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    let bare = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        // More than one colon is an address, exactly one is a port.
        None if host.matches(':').count() == 1 => host.split(':').next().unwrap_or(&host),
        None => &host,
    };
    usual(bare).unwrap_or_else(|| bare.strip_suffix('.').unwrap_or(bare).to_owned())
}

/// A host without port as the URL standard writes it; `None` where it says that it is none.
fn usual(bare: &str) -> Option<String> {
    // The most usual ones need no table of letters.
    let plain = |byte: u8| byte.is_ascii_lowercase() || b"-.".contains(&byte);
    if !bare.is_empty() && !bare.contains("xn--") && bare.bytes().all(plain) {
        return Some(bare.strip_suffix('.').unwrap_or(bare).to_owned());
    }
    let bracketed;
    let text = if bare.contains(':') {
        bracketed = format!("[{bare}]");
        &bracketed
    } else {
        bare
    };
    Host::parse(text).ok().map(|host| written(&host))
}

fn written<S: AsRef<str>>(host: &Host<S>) -> String {
    match host {
        Host::Domain(name) => {
            let name = name.as_ref();
            name.strip_suffix('.').unwrap_or(name).to_owned()
        }
        Host::Ipv4(address) => address.to_string(),
        // The same machine, whichever way its address is written.
        Host::Ipv6(address) => {
            address.to_ipv4_mapped().map_or_else(|| address.to_string(), |address| address.to_string())
        }
    }
}

/// The host of a URL, or of a text that is one already, where nobody could read another one in it.
fn certain(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None if text.contains(['/', '@', '\\', ' ']) => return None,
        None => text,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let host = (!host.is_empty()).then(|| normal(host))?;
    let all = possible(text);
    (!all.is_empty() && all.iter().all(|other| *other == host)).then_some(host)
}

/// Every host that a program could read in the text: as a URL, as one without its scheme, as one of the web.
fn possible(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut add = |text: &str| {
        if let Ok(url) = Url::parse(text)
            && let Some(host) = url.host()
        {
            let host = match host {
                Host::Domain(name) => normal(name),
                other => written(&other),
            };
            if !host.is_empty() && !found.contains(&host) {
                found.push(host);
            }
        }
    };
    add(text);
    let trimmed = text.trim();
    let special = |scheme: &str| matches!(scheme, "http" | "https" | "ftp" | "ws" | "wss");
    let scheme = trimmed.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    if !scheme.is_some_and(|scheme| special(&scheme)) {
        // Web programs put their own scheme before what has none they know.
        let rest = trimmed.split_once("://").map_or(trimmed, |(_, rest)| rest);
        add(&format!("http://{}", rest.trim_start_matches(['/', '\\'])));
    }
    found
}

impl HostPattern {
    /// True when an argument is a URL or host it means. What cannot be read as one is meant by what tightens, and never
    /// by what widens.
    pub(crate) fn accepts(&self, text: &str, reading: Reading) -> bool {
        match reading {
            Reading::Narrow => certain(text).is_some_and(|host| self.matches(&host, reading)),
            Reading::Wide => {
                let hosts = possible(text);
                hosts.is_empty() || hosts.iter().any(|host| self.matches(host, reading))
            }
        }
    }
}
