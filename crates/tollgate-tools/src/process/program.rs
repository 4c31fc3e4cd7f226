//! The file a program's name stands for, found by us, so that no folder of a project is ever searched.

use std::{
    ffi::OsStr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::LaunchError;

/// The program's file: absolute as given; with a slash, from the folder `from`; else the first in `path`.
///
/// Entries of `path` that are not absolute are passed over: what a project puts into its own folder must not
/// start because somebody's `PATH` has a dot in it.
pub fn find(program: &OsStr, path: &OsStr, from: &Path) -> Result<PathBuf, LaunchError> {
    let named = Path::new(program);
    if program.is_empty() {
        return Err(LaunchError::Missing(program.to_owned()));
    }
    if named.components().count() > 1 || program.as_encoded_bytes().contains(&b'/') {
        let file = std::path::absolute(from.join(named)).map_err(LaunchError::Machine)?;
        return match file.metadata() {
            Ok(_) if runs(&file) => Ok(file),
            Ok(_) => Err(LaunchError::NotExecutable(file)),
            Err(_) => Err(LaunchError::Missing(program.to_owned())),
        };
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let found = folders.map(|folder| folder.join(named)).find(|file| runs(file));
    found.ok_or_else(|| LaunchError::Missing(program.to_owned()))
}

fn runs(file: &Path) -> bool {
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, path: &str, from: &Path) -> Result<PathBuf, String> {
        find(program.as_ref(), path.as_ref(), from).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bare_name_is_looked_for_in_absolute_folders_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let absent = Err("there is no program `tool`".to_owned());
        let here = folder.path().to_str().unwrap();
        assert_eq!(found("tool", here, folder.path()), absent, "it is not executable yet");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found("tool", here, folder.path()), Ok(file.clone()));
        assert_eq!(found("tool", ".:", folder.path()), absent);
        assert_eq!(found("./tool", "", folder.path()).map(|file| file.exists()), Ok(true));
        assert_eq!(found("", here, folder.path()), Err("there is no program ``".to_owned()));
        assert_eq!(
            found("absent/tool", here, folder.path()),
            Err("there is no program `absent/tool`".to_owned())
        );
    }
}
