//! What stays guarded even inside the roots: our own files, secrets, and files that make code run.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::tool::Access;

/// Why a path is guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protected {
    /// Policy, hooks, pins, approvals, ledger: refused to every tool, always.
    Own,
    /// Keys and credentials: reading or writing them asks.
    Secret,
    /// Whoever writes it has something run later: writing asks.
    RunsCode,
}

/// Which paths are guarded: the names everybody knows, and the places of this installation.
#[derive(Debug, Clone, Default)]
pub struct Protection {
    own: Arc<[PathBuf]>,
}

impl Protection {
    /// The well-known names, and these files and folders of ours, whether they exist yet or not.
    ///
    /// Each is guarded as it is written and, where it exists, as what it really is.
    pub fn with_own(places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { own: places.into_iter().filter(|place| place.is_absolute()).collect() }
    }

    /// Why this absolute path, without `.` and `..`, is guarded.
    pub fn of(&self, path: &Path) -> Option<Protected> {
        self.find(path).map(|(kind, _)| kind)
    }

    /// Why, and by which of its names.
    pub(crate) fn find<'a>(&self, path: &'a Path) -> Option<(Protected, Cow<'a, str>)> {
        if self.own.iter().any(|own| within(path, own)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            return Some((Protected::Own, name));
        }
        let mut found: Option<(Protected, Cow<'a, str>)> = None;
        let mut before = Cow::Borrowed("");
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let name = lower(name.to_string_lossy());
            match by_name(&before, &name, names.peek().is_none()) {
                Some(Protected::Own) => return Some((Protected::Own, name)),
                // A secret is guarded more than what makes code run.
                Some(kind) if found.as_ref().is_none_or(|(known, _)| *known == Protected::RunsCode) => {
                    found = Some((kind, name.clone()));
                }
                _ => {}
            }
            before = name;
        }
        found
    }
}

impl Protected {
    /// True when this access is guarded.
    pub fn guards(self, access: Access) -> bool {
        match self {
            Self::Own | Self::Secret => true,
            Self::RunsCode => access == Access::Write,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Own => "it is one of Tollgate's own files, which no tool may touch",
            Self::Secret => "it holds secrets, and is asked about even where its folder is allowed",
            Self::RunsCode => {
                "what is written there runs later, so it is asked about even where its folder is allowed"
            }
        }
    }
}

/// Why an absolute path is guarded by its names alone; [`Protection::of`] knows this installation's places too.
pub fn protection_of(path: &Path) -> Option<Protected> {
    Protection::default().of(path)
}

/// `path` is `own` or lies below it, on file systems that tell upper from lower case and on those that do not.
fn within(path: &Path, own: &Path) -> bool {
    let mut path = path.iter();
    own.iter().all(|part| path.next().is_some_and(|name| name.eq_ignore_ascii_case(part)))
}

fn lower(name: Cow<'_, str>) -> Cow<'_, str> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        name
    }
}

fn by_name(before: &str, name: &str, last: bool) -> Option<Protected> {
    if name == ".tollgate" || (last && (name == "tollgate.toml" || name.starts_with(".tollgate.toml."))) {
        return Some(Protected::Own);
    }
    if is_secret(before, name, last) {
        return Some(Protected::Secret);
    }
    runs_code(before, name, last).then_some(Protected::RunsCode)
}

fn is_secret(before: &str, name: &str, last: bool) -> bool {
    if matches!(name, ".ssh" | ".gnupg" | ".aws" | ".azure" | ".password-store")
        || matches!((before, name), (".config", "gcloud"))
    {
        return true;
    }
    if !last {
        return false;
    }
    let endings = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk"];
    let samples = [".example", ".sample", ".template", ".dist", ".defaults"];
    name == ".env"
        || (name.starts_with(".env.") && !samples.iter().any(|sample| name.ends_with(sample)))
        || endings.iter().any(|ending| name.ends_with(ending))
        || matches!(
            name,
            "id_rsa"
                | "id_dsa"
                | "id_ecdsa"
                | "id_ed25519"
                | ".netrc"
                | "_netrc"
                | ".pgpass"
                | ".npmrc"
                | ".pypirc"
                | ".git-credentials"
                | ".htpasswd"
                | ".vault-token"
                | "credentials.json"
                | "secrets.json"
                | "secrets.yml"
                | "secrets.yaml"
                | "secrets.toml"
                | ".envrc"
        )
        || matches!(
            (before, name),
            (".docker", "config.json")
                | (".kube", "config")
                | ("gh", "hosts.yml")
                | (".cargo", "credentials" | "credentials.toml")
        )
}

fn runs_code(before: &str, name: &str, last: bool) -> bool {
    let folder = matches!(
        name,
        ".git"
            | ".husky"
            | ".vscode"
            | ".idea"
            | ".zed"
            | ".cursor"
            | ".claude"
            | ".codex"
            | ".gemini"
            | ".windsurf"
            | ".continue"
            | ".devcontainer"
            | ".circleci"
            | ".buildkite"
            | ".vim"
            | ".emacs.d"
    ) || matches!(
        (before, name),
        (".github", "workflows" | "actions")
            | (".config", "fish" | "autostart" | "systemd" | "nvim" | "git" | "mcp")
            | (".cargo", "config" | "config.toml" | "bin")
    );
    folder
        || (last
            && matches!(
                name,
                ".bashrc"
                    | ".bash_profile"
                    | ".bash_login"
                    | ".bash_logout"
                    | ".bash_aliases"
                    | ".profile"
                    | ".zshrc"
                    | ".zshenv"
                    | ".zprofile"
                    | ".zlogin"
                    | ".zlogout"
                    | ".kshrc"
                    | ".cshrc"
                    | ".tcshrc"
                    | ".login"
                    | ".inputrc"
                    | ".xinitrc"
                    | ".xprofile"
                    | ".xsession"
                    | ".vimrc"
                    | ".nvimrc"
                    | ".exrc"
                    | ".nvim.lua"
                    | ".emacs"
                    | ".dir-locals.el"
                    | ".gitconfig"
                    | ".gitmodules"
                    | ".gitlab-ci.yml"
                    | ".travis.yml"
                    | "azure-pipelines.yml"
                    | "bitbucket-pipelines.yml"
                    | "appveyor.yml"
                    | ".drone.yml"
                    | ".woodpecker.yml"
                    | "jenkinsfile"
                    | ".pre-commit-config.yaml"
                    | "lefthook.yml"
                    | ".mcp.json"
                    | "mcp.json"
                    | "mcp_config.json"
                    | ".yarnrc"
                    | ".yarnrc.yml"
                    | "authorized_keys"
                    | "crontab"
                    | "sitecustomize.py"
                    | "usercustomize.py"
            ))
}
