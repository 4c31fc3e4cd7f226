//! Programs that are known for nothing but saying which version they are, and the one word that asks.
//!
//! Absent are those that run settings of the project first, as test runners, build tools and linters do.

/// Names, and the words of which exactly one may stand alone.
pub(super) const PROGRAMS: &[(&str, &str)] = &[
    (
        "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 pip pip3 pipx ruby",
        "--version -V",
    ),
    ("node nodejs deno bun npm tsc php ruby perl", "--version -v"),
    ("cargo rustc rustup rustfmt clippy-driver rust-analyzer rustdoc", "--version -V"),
    ("cargo rustc", "-vV -Vv"),
    (
        "gcc g++ cc c++ clang clang++ cpp ld as ar make gmake cmake ninja meson gdb lldb bash zsh fish ksh vim nvim nano emacs less more \
         curl wget ssh-keygen rsync sqlite3 psql pg_ctl postgres mysql redis-server redis-cli docker podman kubectl helm \
         git-lfs lua luajit ghc swift kotlin julia R Rscript \
         ffmpeg convert magick pandoc latex pdflatex xelatex tmux screen sudo su ssh systemctl systemd busybox uv ruff black mypy \
         prettier ocaml opam elixir erl nim zig crystal dart bat batcat fzf htop \
         haproxy gpg gpg2 bc dc m4 autoconf automake libtool pkg-config patch ed ex entr watch parallel xargs nohup setsid",
        "--version",
    ),
    (
        "chgrp chmod chown cp csplit install ln mkdir mkfifo mknod mktemp mv rm rmdir shred split touch truncate unlink",
        "--version --help",
    ),
    ("go", "version"),
    ("openssl", "version"),
    ("kubectl", "--help"),
    ("ssh", "-V"),
    ("lua luajit", "-v"),
    ("zig helm ", "version"),
];
