//! Hosts by name: `example.com`, `*.example.com`, `10.0.*`.

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
        Ok(match text.strip_prefix("*.") {
            Some(name) if !wild(name) => Self { name: name.to_owned(), kind: Kind::Below },
            _ if wild(text) => Self { name: text.to_owned(), kind: Kind::Glob },
            _ => Self { name: text.to_owned(), kind: Kind::Exact },
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

/// Lower case, without port, closing dot or the brackets of an address.
pub(crate) fn normal(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    let bare = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        // More than one colon is an address, exactly one is a port.
        None if host.matches(':').count() == 1 => host.split(':').next().unwrap_or(&host),
        None => &host,
    };
    bare.strip_suffix('.').unwrap_or(bare).to_owned()
}

/// The host of a URL, or of a text that is one already.
pub(crate) fn host_of(text: &str) -> Option<String> {
    let rest = match text.split_once("://") {
        Some((_, rest)) => rest,
        None if text.contains(['/', '@', '\\', ' ']) => return None,
        None => text,
    };
    // A backslash is a slash to some readers of URLs: whoever writes one means to be misread.
    if rest.contains('\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    (!host.is_empty()).then(|| normal(host))
}
