//! What is never suggested: rules that would let far more run than the call they come from.

use crate::policy::{
    Pattern, Query, Rule,
    rule::{Anchor, Touch},
};

/// How far trust in a program may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// Any arguments.
    Free,
    /// Only with its subcommand, of so many words.
    Subcommand(usize),
    /// Only with exactly these words: it runs, fetches or removes whatever it is told.
    Exact,
    /// Not at all: each time a person says.
    Never,
}

/// How far trust in this command may go.
pub(crate) fn care(command: &[String]) -> Care {
    let Some((program, words)) = command.split_first() else { return Care::Never };
    let name = program.rsplit('/').next().unwrap_or(program);
    // `python3.12` is `python`.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let inline = || {
        words.iter().any(|word| matches!(word.as_str(), "-c" | "-e" | "-r" | "-p" | "--eval" | "--command"))
    };
    match name {
        "sudo" | "su" | "doas" | "pkexec" | "runuser" | "eval" | "exec" | "source" | "." | "chroot"
        | "nsenter" | "unshare" => Care::Never,
        "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish" | "csh" | "tcsh" | "busybox" | "pwsh" | "python"
        | "pypy" | "node" | "deno" | "bun" | "ruby" | "perl" | "php" | "lua" | "luajit" | "rscript"
        | "julia" | "osascript" | "tclsh" | "wish" | "guile" | "ghci" | "irb" | "ipython" | "groovy"
        | "scala" | "jshell" => {
            if inline() || words.is_empty() {
                Care::Never
            } else {
                Care::Exact
            }
        }
        "env" | "xargs" | "find" | "fd" | "parallel" | "nohup" | "time" | "timeout" | "nice" | "ionice"
        | "setsid" | "stdbuf" | "watch" | "script" | "strace" | "ltrace" | "gdb" | "awk" | "gawk"
        | "mawk" | "sed" | "vi" | "vim" | "nvim" | "emacs" | "ed" | "less" | "man" | "ssh" | "scp"
        | "sftp" | "rsync" | "curl" | "wget" | "nc" | "ncat" | "socat" | "telnet" | "rm" | "rmdir"
        | "shred" | "dd" | "mkfs" | "mount" | "umount" | "chmod" | "chown" | "chgrp" | "mv" | "cp" | "ln"
        | "install" | "tee" | "tar" | "zip" | "unzip" | "kill" | "pkill" | "killall" | "crontab" | "at"
        | "systemctl" | "service" | "npx" | "uvx" | "pipx" | "make" | "just" | "ninja" | "task" | "psql"
        | "mysql" | "sqlite" | "redis-cli" | "mongo" | "mongosh" | "openssl" | "gpg" => Care::Exact,
        "git" => match words.first().map(String::as_str) {
            Some("config" | "filter-branch" | "bisect" | "rebase" | "submodule") => Care::Exact,
            _ => Care::Subcommand(1),
        },
        "npm" | "yarn" | "pnpm" => match words.first().map(String::as_str) {
            Some("run" | "run-script") => Care::Subcommand(2),
            Some("exec" | "x" | "dlx" | "config" | "set") => Care::Exact,
            _ => Care::Subcommand(1),
        },
        "docker" | "podman" => match words.first().map(String::as_str) {
            Some("run" | "exec" | "cp") => Care::Exact,
            Some("compose" | "image" | "container" | "volume" | "network") => Care::Subcommand(2),
            _ => Care::Subcommand(1),
        },
        "gh" | "glab" | "aws" | "gcloud" | "az" => Care::Subcommand(2),
        "cargo" | "go" | "pip" | "pip3" | "uv" | "poetry" | "hatch" | "gem" | "bundle" | "composer"
        | "mix" | "rustup" | "kubectl" | "helm" | "terraform" | "tofu" | "ansible" | "apt" | "apt-get"
        | "brew" | "dnf" | "yum" | "pacman" | "apk" | "dotnet" | "mvn" | "gradle" | "swift" | "flutter"
        | "dart" | "nix" | "jj" | "hg" | "svn" => Care::Subcommand(1),
        _ => Care::Free,
    }
}

/// Why a rule is far wider than any one call.
pub(super) fn too_wide(rule: &Rule, query: &Query<'_>) -> Option<String> {
    let text = rule.text();
    match &rule.touch {
        Some(Touch::Command(pattern)) => {
            let program = pattern.program().unwrap_or("*");
            let words: Vec<String> =
                std::iter::once(program).chain(pattern.subcommand()).map(str::to_owned).collect();
            match (pattern.program(), care(&words)) {
                (None, _) => Some(format!("`{text}` lets any program run")),
                (_, Care::Never) => Some(format!("`{text}` lets `{program}` run whatever it is told")),
                (_, Care::Exact) if pattern.is_open() => {
                    Some(format!("`{text}` lets `{program}` do whatever it is told"))
                }
                (_, Care::Subcommand(_)) if pattern.is_bare() => {
                    Some(format!("`{text}` lets every subcommand of `{program}` run"))
                }
                _ => None,
            }
        }
        Some(Touch::Path { pattern, .. }) => {
            let all = matches!(pattern.glob(), "**" | "/**" | "**/*" | "/" | "")
                || pattern.glob().ends_with("**/**");
            let where_ = match pattern.anchored_at() {
                Anchor::Top if all => "every path there is",
                Anchor::Home if all => "the whole home folder",
                _ => return None,
            };
            Some(format!("`{text}` is for {where_}"))
        }
        Some(Touch::Host(pattern)) => {
            pattern.key().is_none().then(|| format!("`{text}` is for hosts nobody has named"))
        }
        None if rule.tool.as_ref().is_some_and(Pattern::is_everything) && !rule.is_conditional() => {
            Some(format!("`{text}` is for every tool there is"))
        }
        None if rule.tool.as_ref().is_some_and(|tool| tool.exact_name().is_none()) => {
            Some(format!("`{text}` is for every tool whose name is like that"))
        }
        None if !rule.is_conditional() && (!query.effects.read_only || query.effects.open_world) => {
            Some(format!("`{text}` is for every call of `{}`, whatever its arguments", query.tool.id))
        }
        None => None,
    }
}
