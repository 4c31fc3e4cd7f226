use super::*;
use crate::shell::analyse;

struct World(#[expect(dead_code, reason = "removed when it is dropped")] tempfile::TempDir, PathBuf);

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for dir in ["src", "secrets/deep", "other"] {
            std::fs::create_dir_all(root.join(dir)).unwrap();
        }
        for file in [".env", "a", "src/b", "src/.env", "secrets/x", "secrets/deep/y", "other/z"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink(".env", root.join("link")).unwrap();
        Self(folder, root)
    }

    fn hidden(&self, line: &str, confined: Confined) -> Vec<String> {
        let root = self.1.clone();
        let guard = Guard::new(true, move |path| match path.strip_prefix(&root) {
            Ok(below) if below.starts_with("secrets") => Reading::Denied,
            Ok(below) if below.ends_with(".env") => Reading::Asks,
            _ => Reading::Allowed,
        });
        let roots = [self.1.clone()];
        let hidden = guard.hidden(&analyse(line), confined, &self.1, &roots, None).unwrap();
        hidden.iter().map(|path| path.strip_prefix(&self.1).unwrap().display().to_string()).collect()
    }
}

#[test]
fn a_command_that_reads_a_folder_or_a_pattern_does_not_get_what_it_did_not_name() {
    let world = World::new();
    let everything = [".env", "secrets", "src/.env"];
    for line in ["grep -r x .", "rg x", "git grep x", "cat *", "cat .e*", "for f in *; do cat \"$f\"; done"] {
        assert_eq!(world.hidden(line, Confined::Reading), everything, "{line}");
    }
    // Which word of it is the folder is not asked: rather too much is hidden.
    assert_eq!(world.hidden("grep -r x src", Confined::Reading), everything);
    assert_eq!(world.hidden("cat src/../src/*", Confined::Reading), ["src/.env"]);
    assert_eq!(world.hidden("cat link", Confined::Reading), [".env"]);
}

#[test]
fn what_a_command_names_was_decided_on_and_what_it_does_not_read_costs_nothing() {
    let world = World::new();
    let nothing = [""; 0];
    for line in ["cat .env", "cat a", "true", "ls", "echo *.rs | wc", "git status", "ls | grep x"] {
        let expected: &[&str] = if line.contains('*') { &[".env", "secrets", "src/.env"] } else { &nothing };
        let found = world.hidden(line, Confined::Reading);
        assert!(found.is_empty() || found == expected, "{line}: {found:?}");
    }
    assert_eq!(world.hidden("cat ./src/../.env && grep -r x .", Confined::Reading), ["secrets", "src/.env"]);
}

#[test]
fn from_a_command_that_does_more_than_read_only_what_is_denied_is_kept() {
    let world = World::new();
    assert_eq!(world.hidden("make all", Confined::Writing), ["secrets"]);
}
