use tollgate::guard::{Run, Workspace};

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

    fn file(&self, path: &str) {
        std::fs::create_dir_all(self.1.join(path).parent().unwrap()).unwrap();
        std::fs::write(self.1.join(path), "").unwrap();
    }

    fn link(&self, target: &str, path: &str) {
        std::fs::create_dir_all(self.1.join(path).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, self.1.join(path)).unwrap();
    }

    fn hidden(&self, line: &str, confined: Confined) -> Vec<String> {
        let root = self.1.clone();
        let says = move |_: &Scope, path: &Path| match path.strip_prefix(&root) {
            Ok(below) if below.starts_with("secrets") || below.ends_with("never") => Reading::Denied,
            Ok(below) if below.ends_with(".env") || below.starts_with("asked") => Reading::Asks,
            _ => Reading::Allowed,
        };
        let workspace = Workspace::with_roots(self.1.clone(), vec![self.1.clone()]);
        let scope = Scope::new(Run::builder("guard").build(), workspace);
        let guard = Guard::new(|| true, says);
        let hidden = guard.hidden(&analyse(line), confined, &self.1, &scope, None).unwrap();
        let shown = |path: &PathBuf| path.strip_prefix(&self.1).unwrap_or(path).display().to_string();
        hidden.found.iter().map(shown).collect()
    }
}

#[test]
fn a_command_that_reads_a_folder_or_a_pattern_does_not_get_what_it_did_not_name() {
    let world = World::new();
    let everything = [".env", "secrets", "src/.env"];
    for line in ["grep -r x .", "rg x", "git grep x", "cat *", "cat .e*", "for f in *; do cat \"$f\"; done"] {
        assert_eq!(world.hidden(line, Confined::Reading), everything, "{line}");
    }
    for line in ["sha256sum -c a", "cksum --check a", "jq -n 'import \"a\" as $a; $a'", "jq -rf a"] {
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

#[test]
fn a_folder_of_nothing_but_secrets_keeps_them_although_it_was_named() {
    let world = World::new();
    world.file("conf/.env");
    world.file("conf/deep/.env");
    for line in ["grep -r . conf", "cat conf/.e*", "grep -r . conf/deep conf"] {
        let hidden = world.hidden(line, Confined::Reading).join(" ");
        assert!(hidden.contains("conf/.env") && hidden.contains("conf/deep"), "{line}: {hidden}");
    }
}

#[test]
fn of_a_named_folder_that_the_rules_ask_about_only_what_is_denied_is_kept() {
    let world = World::new();
    world.file("asked/a");
    world.file("asked/deep/never");
    assert_eq!(world.hidden("cat asked/a asked", Confined::Reading), ["asked/deep"]);
    assert_eq!(world.hidden("cat asked/*", Confined::Reading), ["asked/a", "asked/deep"]);
}

#[test]
fn a_link_in_a_folder_does_not_lead_around() {
    let world = World::new();
    world.file("conf/.env");
    world.link("../conf/.env", "links/e");
    world.link("../conf", "keep/all");
    world.link("..", "keep/up");
    world.link("nowhere", "links/broken");
    world.link("/etc/hostname", "links/outside");
    assert_eq!(world.hidden("cat links/*", Confined::Reading), ["conf/.env"]);
    assert_eq!(world.hidden("cat links/e*", Confined::Reading), ["conf/.env"]);
    for line in ["cat keep/*/.e*", "cat keep/all/.e*", "cat keep/all/../.e*", "cat links/*/../../conf/.e*"] {
        let hidden = world.hidden(line, Confined::Reading);
        let wanted: &[&str] = if line.contains("all/../") { &[".env"] } else { &["conf", "conf/.env"] };
        assert!(hidden.iter().any(|path| wanted.contains(&path.as_str())), "{line}: {hidden:?}");
    }
}

#[test]
fn what_lies_in_a_folder_that_is_hidden_is_not_hidden_once_more() {
    let world = World::new();
    world.file("conf/.env");
    world.link("../conf/.env", "links/e");
    world.link("../conf", "keep/all");
    assert_eq!(world.hidden("grep -r x .", Confined::Reading), [".env", "conf", "secrets", "src/.env"]);
    let named = world.hidden("cat conf/.env && grep -r x .", Confined::Reading);
    assert_eq!(named, [".env", "secrets", "src/.env"]);
}

#[test]
fn a_way_up_from_a_linked_folder_is_followed_as_the_system_does() {
    let world = World::new();
    world.file("conf/deep/a");
    world.file("conf/secret/.env");
    world.link("conf/deep", "way");
    assert_eq!(world.hidden("cat way/../secret/.env", Confined::Reading), ["conf/secret/.env"]);
}
