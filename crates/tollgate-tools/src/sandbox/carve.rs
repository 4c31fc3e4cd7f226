//! Reading a folder but for some files in it: every neighbour of theirs is opened by itself.

use std::{
    io,
    path::{Path, PathBuf},
};

use landlock::{AccessFs, BitFlags};

/// What opens `place` with `access` and leaves out what is hidden below it; the folders on the way can be listed.
///
/// Only for reading: what is made later has no rule, and so cannot be read.
pub(super) fn around(
    place: &Path,
    hidden: &[PathBuf],
    access: BitFlags<AccessFs>,
    listing: BitFlags<AccessFs>,
) -> io::Result<Vec<(PathBuf, BitFlags<AccessFs>)>> {
    if hidden.iter().any(|one| place.starts_with(one)) {
        return Ok(Vec::new());
    }
    let below: Vec<PathBuf> = hidden.iter().filter(|one| one.starts_with(place)).cloned().collect();
    if below.is_empty() {
        return Ok(vec![(place.to_owned(), access)]);
    }
    let mut rules = vec![(place.to_owned(), listing)];
    for entry in place.read_dir()? {
        let entry = entry?;
        // A link is no way in: what it leads to has its own rule, or none.
        if !entry.file_type()?.is_symlink() {
            rules.extend(around(&entry.path(), &below, access, listing)?);
        }
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_hidden_is_opened_once() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for folder in ["src/deep", "secrets", "docs"] {
            std::fs::create_dir_all(path(folder)).unwrap();
        }
        for file in ["a", "src/b", "src/deep/key", "src/deep/c", "secrets/d"] {
            std::fs::write(path(file), "").unwrap();
        }
        std::os::unix::fs::symlink(path("secrets"), path("link")).unwrap();
        let (all, list) = (AccessFs::ReadFile | AccessFs::ReadDir, BitFlags::from(AccessFs::ReadDir));
        let hidden = [path("src/deep/key"), path("secrets")];
        let mut rules = around(root.path(), &hidden, all, list).unwrap();
        rules.sort_by(|one, other| one.0.cmp(&other.0));
        let expected =
            [("", list), ("a", all), ("docs", all), ("src", list), ("src/b", all), ("src/deep", list)];
        let mut expected: Vec<_> = expected.map(|(name, access)| (path(name), access)).into();
        expected[0].0 = root.path().to_owned();
        expected.push((path("src/deep/c"), all));
        assert_eq!(rules, expected);
    }
}
