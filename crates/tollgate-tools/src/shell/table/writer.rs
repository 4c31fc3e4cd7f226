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
    /// None: each may be an address, with or without its scheme.
    Addresses,
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
        "curl" | "wget" | "http" | "https" | "xh" | "aria2c" | "lynx" | "w3m" | "links" => Writer::Addresses,
        _ => return None,
    })
}
