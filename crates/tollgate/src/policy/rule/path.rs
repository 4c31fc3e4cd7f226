//! Paths by glob: `./src/**`, `~/.ssh/*`, `/etc/**`, `**/.env`.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use globset::{Glob, GlobBuilder, GlobMatcher};

use super::Reading;
use crate::{policy::lexical_path, tool::Access};

/// Which paths are meant. `*` stays inside one name, `**` crosses folders.
///
/// To tighten, a pattern means also everything below what it means, and the folder itself whose content it means.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    /// As written, without what it is anchored to.
    glob: Arc<str>,
    anchor: Anchor,
    compiled: Arc<Compiled>,
}

/// What a pattern starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The top: the glob is matched on absolute paths.
    Top,
    /// The working folder of the call.
    Working,
    /// The home folder, which is not known yet.
    Home,
}

/// A path of a call, as patterns look at it.
#[derive(Debug, Clone)]
pub(crate) struct Located {
    /// Absolute, without `.` and `..`.
    pub(crate) absolute: String,
    /// From the working folder, where it lies below it.
    pub(crate) relative: Option<String>,
}

// Compiled when first needed: of thousands of rules a call meets few.
#[derive(Debug, Default)]
struct Compiled {
    exact: OnceLock<Option<GlobMatcher>>,
    below: OnceLock<Option<GlobMatcher>>,
    folder: OnceLock<Option<GlobMatcher>>,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("a path is missing; write one as `./src/**`".to_owned());
        }
        if text == ".." || text.starts_with("../") || text.contains("/../") || text.ends_with("/..") {
            return Err("`..` cannot stand in a path pattern; write where it leads".to_owned());
        }
        let (anchor, glob) = if let Some(rest) = text.strip_prefix("~/") {
            (Anchor::Home, rest)
        } else if text == "~" {
            (Anchor::Home, "")
        } else if text.starts_with('/') || text.starts_with("**") {
            (Anchor::Top, text)
        } else {
            (Anchor::Working, text.strip_prefix("./").unwrap_or(text))
        };
        let glob = match glob.trim_end_matches('/') {
            "." => "",
            glob => glob,
        };
        parsed(glob).map_err(|error| format!("{:?} is no path pattern: {}", text, error.kind()))?;
        Ok(Self { glob: glob.into(), anchor, compiled: Arc::default() })
    }

    /// Says what `./` and `~/` stand for.
    pub(crate) fn anchor(&mut self, folder: Option<&Path>, home: Option<&Path>) {
        let base = match self.anchor {
            Anchor::Working => folder,
            Anchor::Home => home,
            Anchor::Top => None,
        };
        if let Some(base) = base {
            let base = globset::escape(base.to_string_lossy().trim_end_matches('/'));
            self.glob = if self.glob.is_empty() { base } else { format!("{base}/{}", self.glob) }.into();
            self.anchor = Anchor::Top;
            self.compiled = Arc::default();
        }
    }

    pub(crate) fn matches(&self, path: &Located, done: Access, reading: Reading) -> bool {
        let Some(path) = self.seen(path) else { return false };
        let wide = reading == Reading::Wide;
        let Compiled { exact, below, folder } = &*self.compiled;
        let glob = &*self.glob;
        if (glob.is_empty() && path.is_empty()) || hits(exact, path, || Some(glob.to_owned())) {
            return true;
        }
        // Listing a folder whose content may be read is reading no more than that.
        let itself = wide || done == Access::Read;
        (itself && hits(folder, path, || Some(stem(glob)?.to_owned())))
            || (wide && hits(below, path, || (!glob.ends_with("**")).then(|| under(glob))))
    }

    /// The path as this pattern looks at it.
    pub(crate) fn seen<'a>(&self, path: &'a Located) -> Option<&'a str> {
        match self.anchor {
            Anchor::Top => Some(&path.absolute),
            Anchor::Working => path.relative.as_deref(),
            Anchor::Home => None,
        }
    }

    pub(crate) fn anchored_at(&self) -> &Anchor {
        &self.anchor
    }

    pub(crate) fn glob(&self) -> &str {
        &self.glob
    }

    /// True when a part of the pattern that is more than wildcards means this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.glob.split('/').any(|part| {
            part.contains(|c: char| !"*?".contains(c))
                && crate::policy::pattern::glob(&part.to_lowercase(), &name.to_lowercase())
        })
    }
}

impl Located {
    /// `None` for a path that climbs above the top.
    pub(crate) fn new(cwd: &Path, path: &Path) -> Option<Self> {
        let absolute = lexical_path(cwd, path)?;
        let relative = absolute.strip_prefix(cwd).ok().map(|path| path.to_string_lossy().into_owned());
        Some(Self { absolute: absolute.to_string_lossy().into_owned(), relative })
    }
}

fn parsed(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).empty_alternates(true).build()
}

fn hits(compiled: &OnceLock<Option<GlobMatcher>>, path: &str, glob: impl FnOnce() -> Option<String>) -> bool {
    let matcher = compiled
        .get_or_init(|| glob().and_then(|glob| parsed(&glob).ok()).map(|glob| glob.compile_matcher()));
    matcher.as_ref().is_some_and(|matcher| matcher.is_match(path))
}

/// The folder whose content is meant: `x` of `x/**` and of `x/*`; nothing for a pattern that is all wildcard.
fn stem(glob: &str) -> Option<&str> {
    match glob {
        "**" | "*" => Some(""),
        _ => glob.strip_suffix("/**").or_else(|| glob.strip_suffix("/*")).filter(|stem| *stem != "**"),
    }
}

fn under(glob: &str) -> String {
    if glob.is_empty() { "**".to_owned() } else { format!("{glob}/**") }
}
