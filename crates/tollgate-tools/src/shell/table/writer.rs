//! Programs that are known to change what their words name. For rules about paths: nothing here only reads.

/// Which words are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::shell) enum Writer {
    /// Every one.
    Every,
    /// The last; the others are read.
    Last,
    /// Every one, those that are moved away too.
    Moves,
    /// All but the first, which says what becomes of them.
    ModeFirst,
    /// None: the first is a host.
    Host,
}

/// What is known of a program that writes or talks.
pub(in crate::shell) fn writer(name: &str) -> Option<Writer> {
    Some(match name {
        "rm" | "rmdir" | "unlink" | "shred" | "touch" | "mkdir" | "mkfifo" | "truncate" | "tee"
        | "fallocate" => Writer::Every,
        "cp" | "install" | "ln" | "rsync" | "split" | "uniq" | "xxd" => Writer::Last,
        "mv" | "rename" => Writer::Moves,
        "chmod" | "chown" | "chgrp" | "chattr" | "setfacl" => Writer::ModeFirst,
        "ping" | "ping6" | "ssh" | "telnet" | "nc" | "ncat" | "nslookup" | "dig" | "host" | "traceroute"
        | "whois" | "ftp" | "sftp" => Writer::Host,
        _ => return None,
    })
}
