//! `[sandbox]` in `tollgate.toml`, read strictly: what a layer asks for, and what it may get.

use std::{
    ops::Range,
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;
use toml::Spanned;

use super::{Level, Sandbox};
use crate::section::{BadSection, Wrong, variables};

/// What files say about the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Below this level no command runs.
    pub required: Option<Level>,
    /// Whether commands that do more than read reach the network; closed where any file closes it.
    pub network: Option<bool>,
    /// Read beside the roots, as what they really are.
    pub readable: Vec<PathBuf>,
    /// Changed beside the roots.
    pub writable: Vec<PathBuf>,
    /// Variables commands get beside the usual ones.
    pub environment: Vec<String>,
}

#[derive(Deserialize)]
struct File {
    sandbox: Option<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    required: Option<Spanned<String>>,
    network: Option<bool>,
    #[serde(default)]
    readable: Vec<Spanned<String>>,
    #[serde(default)]
    writable: Vec<Spanned<String>>,
    #[serde(default)]
    environment: Vec<Spanned<String>>,
}

impl SandboxConfig {
    /// Reads the section of a file in the folder `base`; `~/` is `home`. Without the section, nothing is asked for.
    pub fn read(text: &str, base: &Path, home: Option<&Path>) -> Result<Self, BadSection> {
        let file: File = toml::from_str(text).map_err(|error| {
            let hint = "[sandbox] may have required, network, readable, writable and environment.";
            BadSection::new(text, &error.span().unwrap_or_default(), error.message(), hint)
        })?;
        let Some(section) = file.sandbox else { return Ok(Self::default()) };
        section.understand(base, home).map_err(|wrong| BadSection::of(text, wrong))
    }

    /// Only what tightens: all that a file may say whom nobody trusts.
    #[must_use]
    pub fn tightening(self) -> Self {
        let network = self.network.filter(|open| !open);
        Self { required: self.required, network, ..Self::default() }
    }

    /// True where something would be wider with it.
    pub fn widens(&self) -> bool {
        !self.openings().is_empty()
    }

    /// What would be open with it, in words.
    pub fn openings(&self) -> Vec<String> {
        let mut all = Vec::new();
        if self.network == Some(true) {
            all.push("the network to commands that do more than read".to_owned());
        }
        all.extend(self.readable.iter().map(|place| format!("{} for reading", place.display())));
        all.extend(self.writable.iter().map(|place| format!("{} for writing", place.display())));
        all.extend(self.environment.iter().map(|name| format!("the variable {name}")));
        all
    }

    /// Both together: the stricter level; the network closed where either closes it.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.required = self.required.max(other.required);
        self.network = match (self.network, other.network) {
            (Some(one), Some(other)) => Some(one && other),
            (one, other) => one.or(other),
        };
        self.readable.extend(other.readable);
        self.writable.extend(other.writable);
        self.environment.extend(other.environment);
        self
    }

    /// A sandbox as this asks for.
    #[must_use]
    pub fn applied(&self, mut sandbox: Sandbox) -> Sandbox {
        if let Some(level) = self.required {
            sandbox = sandbox.required(level);
        }
        if self.network == Some(true) {
            sandbox = sandbox.with_network();
        }
        sandbox.with_places(self.readable.clone(), self.writable.clone())
    }
}

impl Section {
    fn understand(self, base: &Path, home: Option<&Path>) -> Result<SandboxConfig, Wrong> {
        let required = self.required.map(|given| {
            Level::parse(given.get_ref()).ok_or_else(|| {
                (
                    given.span(),
                    format!("{:?} is no level", given.get_ref()),
                    "write \"L1\", \"L2\" or \"L3\".",
                )
            })
        });
        let places = |given: Vec<Spanned<String>>| -> Result<Vec<PathBuf>, Wrong> {
            let all: Result<Vec<_>, Wrong> =
                given.into_iter().map(|one| place(one.get_ref(), one.span(), base, home)).collect();
            Ok(all?.into_iter().flatten().collect())
        };
        Ok(SandboxConfig {
            required: required.transpose()?,
            network: self.network,
            readable: places(self.readable)?,
            writable: places(self.writable)?,
            environment: variables(self.environment)?,
        })
    }
}

/// What a place of a file really is; `None` where nothing is there.
fn place(text: &str, span: Range<usize>, base: &Path, home: Option<&Path>) -> Result<Option<PathBuf>, Wrong> {
    let written = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(text),
    };
    let climbs = written.components().any(|part| part == Component::ParentDir);
    let whole = [Some(Path::new("/")), home].into_iter().flatten().any(|place| written.as_path() == place);
    if text.is_empty() || text.contains(['*', '?', '\0']) || climbs {
        return Err((span, format!("{text:?} is no place"), "name one folder or file: no pattern, no `..`."));
    }
    if whole {
        let hint = "name the folders below it that commands need.";
        return Err((span, format!("{text:?} would open everything"), hint));
    }
    Ok(written.canonicalize().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SandboxConfig, String> {
        SandboxConfig::read(text, Path::new("/usr"), Some(Path::new("/etc"))).map_err(|bad| bad.to_string())
    }

    #[test]
    fn a_section_is_read_and_what_is_not_understood_is_named_with_its_place() {
        let all = "[sandbox]\nrequired = \"l2\"\nnetwork = true\nreadable = [\"bin\", \"~/passwd\", \"/not/there\"]\n\
                   environment = [\"CI\"]\n";
        let expected = SandboxConfig {
            required: Some(Level::L2),
            network: Some(true),
            readable: vec!["/usr/bin".into(), "/etc/passwd".into()],
            writable: Vec::new(),
            environment: vec!["CI".into()],
        };
        assert_eq!(read(all), Ok(expected));
        assert_eq!(read("[policy]\n"), Ok(SandboxConfig::default()));
        for (text, said) in [
            ("[sandbox]\nrequired = \"L9\"\n", "2:12: \"L9\" is no level"),
            ("[sandbox]\nwritable = [\"~/\"]\n", "2:13: \"~/\" would open everything"),
            ("[sandbox]\nwritable = [\"/\"]\n", "2:13: \"/\" would open everything"),
            ("[sandbox]\nreadable = [\"../x\"]\n", "2:13: \"../x\" is no place"),
            (
                "[sandbox]\nenvironment = [\"OPENAI_API_KEY\"]\n",
                "2:16: OPENAI_API_KEY is Tollgate's own and never passes to a child process",
            ),
        ] {
            assert_eq!(read(text), Err(said.to_owned()));
        }
        assert!(read("[sandbox]\nnetwrk = true\n").unwrap_err().contains("unknown field"));
    }

    #[test]
    fn nobody_trusted_can_only_tighten_and_the_strictest_of_all_counts() {
        let open = SandboxConfig {
            required: Some(Level::L2),
            network: Some(true),
            writable: vec!["/usr".into()],
            ..SandboxConfig::default()
        };
        assert!(open.widens());
        let tight = open.clone().tightening();
        assert_eq!(tight, SandboxConfig { required: Some(Level::L2), ..SandboxConfig::default() });
        let closed =
            SandboxConfig { required: Some(Level::L3), network: Some(false), ..SandboxConfig::default() };
        let both = open.clone().and(closed.clone());
        assert_eq!((both.required, both.network), (Some(Level::L3), Some(false)));
        assert_eq!(closed.and(open).required, Some(Level::L3));
    }
}
