//! What the environment says.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// What the environment says. This is the one place that reads it.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) max_concurrency: Option<OsString>,
    pub(crate) tollgate_home: Option<PathBuf>,
    /// A `postgres://` URL for the ledger, in the place of the file in the home folder.
    pub(crate) store_url: Option<OsString>,
    /// The key of the chain of records, 64 hexadecimal digits, or a file that holds it.
    pub(crate) store_key: Option<OsString>,
    pub(crate) store_key_file: Option<PathBuf>,
    /// The trace this program is a part of (W3C `traceparent`).
    pub(crate) traceparent: Option<OsString>,
    pub(crate) data_home: Option<PathBuf>,
    pub(crate) config_home: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// All of it, for the child processes that get a part.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The level below which no command runs.
    pub(crate) sandbox_required: Option<OsString>,
    /// What a client of `serve` proves itself with.
    pub(crate) token: Option<OsString>,
}

impl Environment {
    /// What a variable says; an empty one says nothing.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    #[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    pub(crate) fn read() -> Self {
        // An empty variable is as good as none.
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            max_concurrency: read("TOLLGATE_MAX_CONCURRENCY"),
            tollgate_home: read("TOLLGATE_HOME").map(PathBuf::from),
            store_url: read("TOLLGATE_STORE"),
            store_key: read("TOLLGATE_STORE_KEY"),
            store_key_file: read("TOLLGATE_STORE_KEY_FILE").map(PathBuf::from),
            traceparent: read("TRACEPARENT"),
            data_home: read("XDG_DATA_HOME").map(PathBuf::from),
            config_home: read("XDG_CONFIG_HOME").map(PathBuf::from),
            home: read("HOME").map(PathBuf::from),
            variables: std::env::vars_os().collect(),
            sandbox_required: read("TOLLGATE_SANDBOX_REQUIRED"),
            token: read("TOLLGATE_TOKEN"),
        }
    }
}
