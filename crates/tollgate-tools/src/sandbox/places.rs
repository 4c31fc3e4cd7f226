//! Places of the machine: what every command may read, and what no command may change.

use std::path::{Path, PathBuf};

/// Folders of programs and libraries, read and run.
pub(super) const PROGRAMS: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt", "/nix/store", "/snap", "/home/linuxbrew"];

/// Files and folders that programs look into, read only. Absent: passwords, keys, and other people's things.
pub(super) const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/java",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/profile",
    "/etc/protocols",
    "/etc/python3",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl",
    "/etc/terminfo",
    "/etc/timezone",
    "/etc/xdg",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
];

/// Devices that are open to everyone.
pub(super) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Folders of tool chains below the home folder, read and run. Their files with keys lie beside these, not in them.
const TOOL_CHAINS: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/env",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".sdkman",
    ".deno/bin",
    ".bun/bin",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".npm-global",
    ".rbenv",
    ".gem",
    ".goenv",
    "go",
];

/// Files and folders inside a root that make code run, or say what may: no command changes them, nor makes them where
/// they are not there yet.
pub(super) const PROTECTED: &[(&str, Kind)] = &[
    (".git/config", Kind::File),
    (".git/hooks", Kind::Folder),
    (".git/info/attributes", Kind::File),
    (".gitmodules", Kind::File),
    (".envrc", Kind::File),
    (".vscode", Kind::Folder),
    (".idea", Kind::Folder),
    (".github/workflows", Kind::Folder),
    (".mcp.json", Kind::File),
    ("tollgate.toml", Kind::File),
    (".tollgate", Kind::Folder),
];

/// More of them, held where they are there. One that is not is left to the rules, which ask before it is named: an
/// empty file of each of these names would be in everybody's way.
pub(super) const PROTECTED_WHERE_THERE: &[&str] = &[
    ".git/modules",
    ".git/worktrees",
    ".github/actions",
    ".husky",
    ".zed",
    ".cursor",
    ".claude",
    ".codex",
    ".gemini",
    ".windsurf",
    ".continue",
    ".devcontainer",
    ".circleci",
    ".buildkite",
    ".cargo/config",
    ".cargo/config.toml",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".pre-commit-config.yaml",
];

/// What a protected place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// Tool chains of this person that are there.
pub(super) fn tool_chains() -> Vec<PathBuf> {
    let home = std::env::home_dir().filter(|home| home.is_absolute() && home != Path::new("/"));
    let below =
        |home: PathBuf| TOOL_CHAINS.iter().map(move |name| home.join(name)).filter(|path| path.exists());
    home.map(below).into_iter().flatten().collect()
}

/// Settings of the system that lie at this place or below it, each as it really is. Not what only tells about processes
/// and devices, and not what is a program's.
pub(crate) fn settings_at(place: &Path) -> Vec<PathBuf> {
    let settings =
        SETTINGS.iter().map(Path::new).filter(|one| !matches!(one.to_str(), Some("/proc" | "/sys")));
    let at = settings.filter_map(|one| {
        if one.starts_with(place) {
            one.canonicalize().ok()
        } else {
            place.starts_with(one).then(|| place.to_owned())
        }
    });
    at.filter(|path| !PROGRAMS.iter().any(|program| path.starts_with(program))).collect()
}
