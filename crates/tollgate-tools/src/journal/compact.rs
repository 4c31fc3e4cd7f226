//! A journal that has grown large loses its oldest entries and the content only they named.

use std::{
    collections::HashSet,
    fs::OpenOptions,
    io::{self, Write as _},
    time::{Duration, SystemTime},
};

use super::{Journal, Line, private, random_name};

/// As many changes as are kept.
const KEPT: usize = 10_000;
/// Content younger than this may belong to a change that is just being recorded.
const YOUNG: Duration = Duration::from_secs(60 * 60);

impl Journal {
    /// Writes the journal anew with its newest entries. The caller holds its lock.
    pub(super) fn compact(&self) -> io::Result<()> {
        let mut entries = self.open_entries()?;
        entries.drain(..entries.len().saturating_sub(KEPT));
        let part = self.folder.join(random_name());
        let written = (|| {
            let mut out =
                io::BufWriter::new(private(OpenOptions::new().write(true).create_new(true), &part)?);
            for entry in &entries {
                serde_json::to_writer(&mut out, &Line::Changed(Box::new(entry.clone())))?;
                out.write_all(b"\n")?;
            }
            out.into_inner()?.sync_data()?;
            std::fs::rename(&part, self.file())
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
            return written;
        }
        let named: HashSet<_> = entries
            .iter()
            .filter_map(|entry| entry.change.before.as_deref())
            .map(|hash| self.blob(hash))
            .collect();
        for kept in std::fs::read_dir(self.folder.join("before"))?.flatten() {
            let old = kept
                .metadata()
                .and_then(|kept| kept.modified())
                .is_ok_and(|then| SystemTime::now().duration_since(then).is_ok_and(|age| age > YOUNG));
            if old && !named.contains(&kept.path()) {
                let _ = std::fs::remove_file(kept.path());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Change;

    fn change(at: usize) -> Change {
        let path = format!("{at}").into();
        Change {
            run: "run".into(),
            caller: "main".into(),
            call: at.to_string(),
            tool: "write".into(),
            root: "/root".into(),
            rel: path,
            before: Some(tollgate::outcome::Evidence::of(at.to_string().as_bytes()).as_str().to_owned()),
            after: None,
            mode: None,
            made: Vec::new(),
        }
    }

    #[test]
    fn the_newest_entries_survive_and_old_content_nobody_names_goes() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::at(folder.path());
        let mut closed = Vec::new();
        for at in 0..20 {
            let entry = journal.record(change(at), Some(at.to_string().as_bytes())).unwrap();
            if at % 2 == 0 {
                journal.close(&entry).unwrap();
                closed.push(change(at).before.unwrap());
            }
        }
        let ancient = SystemTime::now() - YOUNG * 2;
        for kept in std::fs::read_dir(folder.path().join("before")).unwrap() {
            let kept = OpenOptions::new().append(true).open(kept.unwrap().path()).unwrap();
            kept.set_modified(ancient).unwrap();
        }
        journal.compact().unwrap();
        let left = journal.open_entries().unwrap();
        assert_eq!(
            left.iter().map(|entry| entry.change.call.as_str()).collect::<Vec<_>>(),
            ["1", "3", "5", "7", "9", "11", "13", "15", "17", "19"]
        );
        assert!(left.iter().all(|entry| journal.kept(entry.change.before.as_deref().unwrap()).is_ok()));
        assert!(closed.iter().all(|hash| journal.kept(hash).is_err()));
        // Recording goes on in the new journal.
        journal.record(change(99), None).unwrap();
        assert_eq!(journal.open_entries().unwrap().len(), 11);
    }
}
