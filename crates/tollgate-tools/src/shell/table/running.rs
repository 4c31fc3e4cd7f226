//! What makes programs run a command that nobody wrote as one. For rules about commands: nothing here only reads.

/// Wrappers that change more than how long something may take, with how many words stand before the inner command.
pub(in crate::shell) const OPAQUE: &[(&str, usize)] = &[
    ("sudo", 0),
    ("doas", 0),
    ("nohup", 0),
    ("setsid", 0),
    ("exec", 0),
    ("coproc", 0),
    ("xargs", 0),
    ("parallel", 0),
    ("watch", 0),
    ("strace", 0),
    ("ltrace", 0),
    ("chroot", 1),
    ("unshare", 0),
    ("nsenter", 0),
    ("flock", 1),
    ("chrt", 1),
    ("taskset", 1),
    ("setarch", 0),
    ("linux32", 0),
    ("linux64", 0),
    ("i386", 0),
    ("i486", 0),
    ("i586", 0),
    ("i686", 0),
    ("x86_64", 0),
    ("aarch64", 0),
    ("uname26", 0),
    ("choom", 0),
    ("capsh", 0),
    ("script", 0),
    ("sg", 1),
    ("numactl", 0),
    ("cgexec", 0),
    ("systemd-inhibit", 0),
    ("pkexec", 0),
    ("run0", 0),
    ("gosu", 1),
    ("su-exec", 1),
    ("chpst", 0),
    ("setuidgid", 1),
    ("softlimit", 0),
    ("envdir", 1),
    ("tini", 0),
    ("dumb-init", 0),
    ("torsocks", 0),
    ("proxychains", 0),
    ("proxychains4", 0),
    ("rlwrap", 0),
    ("unbuffer", 0),
    ("chronic", 0),
    ("ifne", 0),
    ("ssh-agent", 0),
    ("dbus-launch", 0),
    ("gdb", 0),
    ("tmux", 1),
    ("screen", 0),
    ("concurrently", 0),
    ("direnv", 2),
    ("sshpass", 0),
    ("systemd-cat", 0),
    ("watchexec", 0),
    ("nodemon", 0),
    ("xterm", 0),
    ("nix-shell", 0),
    ("busybox", 0),
    ("toybox", 0),
    ("entr", 0),
    ("faketime", 1),
    ("caffeinate", 0),
    ("proot", 0),
    ("fakeroot", 0),
    ("eatmydata", 0),
    ("catchsegv", 0),
    ("valgrind", 0),
    ("perf", 1),
    ("hyperfine", 0),
    ("bwrap", 0),
    ("firejail", 0),
    ("setpriv", 0),
    ("prlimit", 0),
    ("systemd-run", 0),
    ("dbus-run-session", 0),
    ("xvfb-run", 0),
    ("npx", 0),
    ("bunx", 0),
    ("pnpx", 0),
    ("uvx", 0),
];
/// Programs that run commands as this shell does.
pub(in crate::shell) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "rbash", "su", "runuser", "csh", "tcsh"];

/// True where a shell would read the script in another way than bash does.
pub(in crate::shell) fn reads_otherwise(own: &str, script: &str) -> bool {
    match own {
        "bash" | "rbash" | "eval" | "trap" => false,
        "sh" | "dash" | "ash" | "ksh" | "mksh" | "su" | "runuser" => {
            ["&>", "$'", "[[", "<(", ">(", "|&", "<<<", "{"].iter().any(|sign| script.contains(sign))
        }
        _ => true,
    }
}

/// Variables whose value programs run.
const COMMANDS: &[&str] = &[
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "RSYNC_RSH",
    "CVS_RSH",
    "SVN_SSH",
    "TAR_OPTIONS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "MAKE",
    "MAKEFLAGS",
    "SHELL",
];

/// True for a variable whose value is run, or may be.
pub(in crate::shell) fn holds_a_command(name: &str) -> bool {
    COMMANDS.contains(&name)
        || name.starts_with("GIT_")
        || name.starts_with("BASH_FUNC_")
        || (name.starts_with("CARGO_") && name.ends_with(['R', 'C']))
}

/// True for a variable that names a file of commands.
pub(in crate::shell) fn names_a_script_file(name: &str) -> bool {
    matches!(name, "BASH_ENV" | "ENV" | "ZDOTDIR")
}

/// True for a variable by which git finds settings, and with them other names for its commands.
pub(in crate::shell) fn leads_to_settings(name: &str) -> bool {
    matches!(name, "HOME" | "XDG_CONFIG_HOME" | "GIT_DIR" | "GIT_COMMON_DIR")
        || name.starts_with("GIT_CONFIG")
}

/// Programs of which every word may be a script.
pub(in crate::shell) fn takes_scripts(own: &str) -> bool {
    matches!(
        own,
        "hyperfine"
            | "nodemon"
            | "watchexec"
            | "xterm"
            | "tmux"
            | "screen"
            | "parallel"
            | "concurrently"
            | "entr"
            | "script"
            | "nix-shell"
    )
}

/// Commands of git that run what their words say.
pub(in crate::shell) const GIT: &[&str] = &[
    "rebase",
    "bisect",
    "difftool",
    "mergetool",
    "submodule",
    "filter-branch",
    "for-each-repo",
    "grep",
    "send-email",
    "instaweb",
    "help",
];

/// Parts of the shell that take a name, and count what stands in its subscript.
pub(in crate::shell) fn takes_names(own: &str) -> bool {
    matches!(
        own,
        "test"
            | "["
            | "let"
            | "printf"
            | "read"
            | "unset"
            | "declare"
            | "typeset"
            | "local"
            | "export"
            | "readonly"
            | "mapfile"
            | "readarray"
            | "getopts"
            | "wait"
            | "return"
            | "exit"
            | "shift"
    )
}

/// True for a word that bash takes for more than a program's name, where the grammar did not: the words after it are a
/// statement of whatever kind.
pub(in crate::shell) fn is_grammar(name: &str) -> bool {
    let gives = name.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]+".contains(c))
    });
    gives
        || matches!(
            name,
            "!" | "if"
                | "then"
                | "elif"
                | "else"
                | "fi"
                | "while"
                | "until"
                | "for"
                | "select"
                | "do"
                | "done"
                | "case"
                | "esac"
                | "in"
                | "function"
                | "{"
                | "}"
                | "[["
                | "(("
        )
}
