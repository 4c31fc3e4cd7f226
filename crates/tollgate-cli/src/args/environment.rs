//! What the environment says.

use std::{ffi::OsString, path::PathBuf};

/// What the environment says. This is the one place that reads it.
#[derive(Default)]
pub(crate) struct Environment {
    pub(crate) max_concurrency: Option<OsString>,
    pub(crate) tollgate_home: Option<PathBuf>,
    /// A `postgres://` URL for the ledger, in the place of the file in the home folder.
    pub(crate) store_url: Option<OsString>,
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
    #[expect(clippy::disallowed_methods, reason = "the environment is read here and nowhere else")]
    pub(crate) fn read() -> Self {
        // An empty variable is as good as none.
        let read = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Self {
            max_concurrency: read("TOLLGATE_MAX_CONCURRENCY"),
            tollgate_home: read("TOLLGATE_HOME").map(PathBuf::from),
            store_url: read("TOLLGATE_STORE"),
            data_home: read("XDG_DATA_HOME").map(PathBuf::from),
            config_home: read("XDG_CONFIG_HOME").map(PathBuf::from),
            home: read("HOME").map(PathBuf::from),
            variables: std::env::vars_os().collect(),
            sandbox_required: read("TOLLGATE_SANDBOX_REQUIRED"),
            token: read("TOLLGATE_TOKEN"),
        }
    }
}
