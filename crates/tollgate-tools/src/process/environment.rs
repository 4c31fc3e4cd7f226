//! What a child process gets to know of the environment: an allow list, and what it was explicitly given.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// The whole environment of a child process.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

/// What any program needs to work and none can misuse. `LC_*` goes with them.
const ALLOWED: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "TMPDIR",
];

/// Our own secrets: keys of the models we talk to.
const OURS: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];

/// True for a variable that is ours alone: settings and secrets of Tollgate. No child ever gets one, asked for or not.
pub fn is_ours(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("TOLLGATE_") || OURS.contains(&&*name)
}

impl Environment {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Of these variables, the ones every child may have and the ones named. Ours never pass.
    pub fn of<N: AsRef<str>>(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        named: impl IntoIterator<Item = N>,
    ) -> Self {
        let named: Vec<OsString> = named.into_iter().map(|name| name.as_ref().into()).collect();
        let passes = |name: &OsStr| {
            let known = name.to_str().is_some_and(|name| ALLOWED.contains(&name) || name.starts_with("LC_"));
            (known || named.iter().any(|named| named == name)) && !is_ours(name)
        };
        Self(variables.into_iter().filter(|(name, _)| passes(name)).collect())
    }

    /// The same with one variable more, or with another value. Ours are left out even here.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        if !is_ours(&name) {
            self.0.insert(name, value.into());
        }
        self
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Every variable, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

// Values may be secrets of somebody else: only names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Vec<(OsString, OsString)> {
        ["PATH", "LC_ALL", "HOME", "AWS_SECRET", "CI", "OPENAI_API_KEY", "TOLLGATE_HOME", "LD_PRELOAD"]
            .map(|name| (name.into(), "x".into()))
            .into()
    }

    fn names(environment: &Environment) -> Vec<&str> {
        environment.iter().map(|(name, _)| name.to_str().unwrap()).collect()
    }

    #[test]
    fn a_child_gets_the_allow_list_and_what_was_named_and_nothing_else() {
        assert_eq!(names(&Environment::of(ours(), [""; 0])), ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(names(&Environment::of(ours(), ["CI"])), ["CI", "HOME", "LC_ALL", "PATH"]);
    }

    #[test]
    fn our_secrets_never_pass_even_when_asked_for() {
        let environment =
            Environment::of(ours(), ["OPENAI_API_KEY", "TOLLGATE_HOME"]).with("TOLLGATE_KEY", "x");
        assert_eq!(names(&environment), ["HOME", "LC_ALL", "PATH"]);
    }
}
