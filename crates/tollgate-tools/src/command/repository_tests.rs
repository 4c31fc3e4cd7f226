use super::*;

#[expect(clippy::disallowed_methods, reason = "what is found is compared with git's own word")]
fn git(folder: &Path, words: &[&str]) {
    let ran = std::process::Command::new("git").args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q", "."]);
    fs::create_dir_all(folder.path().join("src/deep")).unwrap();
    for name in ["a", "src/b.rs", "src/deep/c", "src/deep/cc", "\u{fc} x"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    git(folder.path(), &["add", "-A"]);
    folder
}

#[test]
fn the_files_of_a_repository_are_those_git_lists_in_every_version_of_its_index() {
    for version in ["2", "3", "4"] {
        let folder = repository();
        git(folder.path(), &["update-index", "--index-version", version]);
        let found = Repository::of(&folder.path().join("src/deep")).unwrap();
        assert_eq!(found.top, folder.path());
        let expected = ["a", "src/b.rs", "src/deep/c", "src/deep/cc", "\u{fc} x"].map(PathBuf::from);
        assert_eq!(found.files().unwrap(), expected, "version {version}");
    }
    let folder = repository();
    git(folder.path(), &["update-index", "--split-index"]);
    Repository::of(folder.path()).unwrap().files().unwrap_err();
    fs::write(folder.path().join(".git/index"), "DIRC no index").unwrap();
    Repository::of(folder.path()).unwrap().files().unwrap_err();
}

#[test]
fn a_setting_that_names_a_program_is_found_however_it_is_written() {
    for settings in [
        "[diff \"x\"]\n\ttextconv = evil\n",
        "[DIFF \"x\"]\n TextConv=evil\n",
        "[diff \"x\"] textconv = evil\n",
        "[diff \"]\"] textconv = evil\n",
        "[filter \"x\"]\n\tclean = evil\n",
        "[diff]\n\texternal = evil\n",
        "[merge \"x\"]\n\tdriver = evil\n",
        "[include]\n\tpath = evil\n",
        "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
        "[core][include]path = evil\n",
        "\u{feff}[include]\n\tpath = evil\n",
        "[core]\n\tworktree = /etc\n",
    ] {
        let folder = repository();
        let file = folder.path().join(".git/config");
        fs::write(&file, fs::read_to_string(&file).unwrap() + settings).unwrap();
        assert!(Repository::of(folder.path()).unwrap().starts().is_some(), "{settings}");
    }
    let plain = repository();
    let file = plain.path().join(".git/config");
    let more = "[branch \"clean\"]\n\tremote = origin\n\tmerge = refs/heads/command\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + more).unwrap();
    assert_eq!(Repository::of(plain.path()).unwrap().starts(), None);
}

#[test]
fn a_worktree_and_a_folder_that_looks_like_a_repository_are_found_with_their_settings() {
    let folder = repository();
    let id = ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"];
    git(folder.path(), &id);
    git(folder.path(), &["worktree", "add", "-q", "other"]);
    git(folder.path(), &["config", "diff.x.textconv", "evil"]);
    let found = Repository::of(&folder.path().join("other/src")).unwrap();
    assert_eq!(found.top, folder.path().join("other"));
    assert!(found.starts().is_some() && found.files().unwrap().contains(&"a".into()));
    git(folder.path(), &["init", "-q", "--bare", "bare"]);
    git(&folder.path().join("bare"), &["config", "diff.external", "evil"]);
    let bare = Repository::of(&folder.path().join("bare/refs")).unwrap();
    assert!(bare.top.ends_with("bare") && bare.starts().is_some());
    fs::remove_file(folder.path().join("bare/HEAD")).unwrap();
    std::os::unix::fs::symlink("refs/heads/none", folder.path().join("bare/HEAD")).unwrap();
    assert_eq!(Repository::of(&folder.path().join("bare")), Some(bare));
}

#[test]
fn a_repository_inside_another_is_found_with_its_settings() {
    let folder = repository();
    git(folder.path(), &["init", "-q", "inner"]);
    fs::write(folder.path().join("inner/x"), "").unwrap();
    let inner = folder.path().join("inner");
    git(&inner, &["add", "-A"]);
    git(&inner, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x"]);
    git(folder.path(), &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
    let outer = Repository::of(folder.path()).unwrap();
    assert_eq!(outer.starts_inside(), None);
    git(&inner, &["config", "core.fsmonitor", "evil"]);
    assert_eq!((outer.starts(), outer.starts_inside().is_some()), (None, true));
}
