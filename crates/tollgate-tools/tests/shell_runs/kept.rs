//! What is kept from commands although it lies where they run: by rules, by names, by where a link leads.

use std::{path::Path, process::Command};

use serde_json::json;
use tollgate::{Scope, Settled, outcome::RefusalCode};
use tollgate_tools::{
    command::{Guard, Reading},
    sandbox::{Level, Sandbox},
};

use crate::{World, notes, skipped::skipped, text};

/// `secrets/` is denied, `.env` is asked about, and nothing in `held/` may be changed.
fn guard() -> Guard {
    let says = |_: &Scope, path: &Path| match path.to_string_lossy() {
        path if path.contains("/secrets/") => Reading::Denied,
        path if path.ends_with(".env") || path.starts_with("/etc") => Reading::Asks,
        _ => Reading::Allowed,
    };
    Guard::new(|| true, says).closing(|| true, |_, path| path.to_string_lossy().contains("/held/"))
}

/// The levels of this machine that hold anything.
fn levels() -> impl Iterator<Item = Level> {
    [Level::L2, Level::L3].into_iter().filter(|level| {
        let there = Sandbox::probed().found().level >= *level;
        if !there {
            skipped(format_args!("no {}: {:?}", level.name(), Sandbox::probed().found().missing));
        }
        there
    })
}

#[expect(clippy::disallowed_methods, reason = "a repository as people have one, made outside what is tested")]
fn git(folder: &Path, words: &[&str]) {
    let id = ["-c", "user.name=x", "-c", "user.email=x"];
    let ran = Command::new("git").args(id).args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

impl World {
    fn files(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = self.folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    fn repository(&self) {
        self.files(&[("secrets/key", "hushed\n"), ("a", "plain\n"), ("pub/b", "open\n")]);
        git(self.folder.path(), &["init", "-q", "."]);
        git(self.folder.path(), &["add", "-A"]);
        git(self.folder.path(), &["commit", "-qm", "x"]);
    }

    /// The code of a call that was not run.
    async fn refused(&self, input: serde_json::Value) -> RefusalCode {
        let settled = self.call("shell", input.clone()).await;
        settled.refusal().map_or_else(|| panic!("{input}: {}", said(&settled)), |refusal| refusal.code)
    }
}

fn said(settled: &Settled) -> String {
    settled.output().map(|output| format!("{:?}", output.structured())).unwrap_or_default()
}

#[tokio::test]
async fn a_command_does_not_read_what_a_rule_keeps_and_it_did_not_name() {
    for level in [Level::L2, Level::L3] {
        if Sandbox::probed().found().level < level {
            skipped(format_args!("no {}: {:?}", level.name(), Sandbox::probed().found().missing));
            continue;
        }
        let says = |_: &Scope, path: &Path| match path.to_string_lossy() {
            path if path.contains("/secrets/") => Reading::Denied,
            path if path.ends_with(".env") => Reading::Asks,
            _ => Reading::Allowed,
        };
        let world = World::guarded(Sandbox::at(level), Guard::new(|| true, says));
        let root = world.folder.path();
        std::fs::create_dir_all(root.join("secrets")).unwrap();
        for (name, word) in [("a", "plain"), (".env", "asked"), ("secrets/x", "hushed")] {
            std::fs::write(root.join(name), word).unwrap();
        }
        for line in ["grep -rh . .", "cat *", "cat .e* a"] {
            let told = world.shell(line).await;
            assert!(text(&told, "stdout").contains("plain"), "{} {line}: {told}", level.name());
            let said = told["output"].to_string();
            assert!(!said.contains("asked") && !said.contains("hushed"), "{} {line}: {said}", level.name());
            assert!(notes(&told).contains("Kept from the command"), "{} {line}: {told}", level.name());
        }
        assert_eq!(
            text(&world.shell("cat .env").await, "stdout"),
            "asked",
            "it was named, and so decided on"
        );
        if level == Level::L3 {
            let told = world.shell("bash -c 'cat sec*/* > stolen'; echo done").await;
            let stolen = std::fs::read_to_string(root.join("stolen")).unwrap();
            assert_eq!(stolen, "", "{told}");
        }
    }
}

#[tokio::test]
async fn our_own_folders_are_kept_from_commands_even_inside_a_root() {
    if Sandbox::probed().found().level < Level::L3 {
        skipped(format_args!("no L3: {:?}", Sandbox::probed().found().missing));
        return;
    }
    let folder = tempfile::Builder::new().prefix("tollgate-runs").tempdir_in("/var/tmp").unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("ours")).unwrap();
    std::fs::write(root.join("ours/approvals"), "none").unwrap();
    let guard = Guard::open().with_own([root.join("ours"), root.join("later")]);
    let world = World::inside(folder, Sandbox::at(Level::L3), guard);
    let line = "cat ours/*; echo yes > ours/approvals; echo yes > later/approvals; mkdir -p later && echo x > later/x; true";
    let told = world.shell(line).await;
    assert!(!text(&told, "stdout").contains("none"), "{told}");
    assert_eq!(std::fs::read_to_string(root.join("ours/approvals")).unwrap(), "none");
    assert!(!root.join("later/approvals").exists() && !root.join("later/x").exists());
}

#[tokio::test]
async fn a_link_that_leads_out_of_the_workspace_asks_and_in_a_folder_opens_nothing() {
    for level in levels() {
        let world = World::guarded(Sandbox::at(level), guard());
        world.files(&[("links/a", "plain"), ("sub/x", "")]);
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, world.folder.path().join(name)).unwrap();
        };
        link("/etc/hostname", "links/e");
        link("/etc", "etc");
        link("sub", "inner");
        for line in [
            "cat links/e",
            "head etc/hostname",
            "head etc/../etc/hostname",
            "cd etc && cat hostname",
            "cat etc/h*",
        ] {
            let code = world.refused(json!({ "command": line })).await;
            assert_eq!(code, RefusalCode::ApprovalRequired, "{} {line}", level.name());
        }
        let host = std::fs::read_to_string("/etc/hostname").unwrap();
        let told = world.shell("cat links/*").await;
        assert!(text(&told, "stdout").contains("plain"), "{}: {told}", level.name());
        assert!(!text(&told, "stdout").contains(host.trim()), "{}: {told}", level.name());
        assert_eq!(
            world.shell("cat inner/x").await["exit_code"],
            0,
            "a link that stays inside is none of it"
        );
    }
}

#[tokio::test]
async fn git_does_not_print_what_a_rule_keeps_from_wherever_it_holds_it() {
    for level in levels() {
        let world = World::guarded(Sandbox::at(level), guard());
        world.repository();
        world.files(&[("secrets/key", "changed\n"), ("a", "other\n")]);
        for line in [
            "git diff",
            "git diff HEAD > out",
            "git grep u",
            "git grep u HEAD -- secrets",
            "git blame secrets/key",
            "git show",
            "git show HEAD:secrets/key",
            "git cat-file -p HEAD:secrets/key",
            "git log -p -- secrets",
            "git diff-files -p",
            "git diff-index -p HEAD",
            "git status -vv",
        ] {
            assert_eq!(
                world.refused(json!({ "command": line })).await,
                RefusalCode::Denied,
                "{} {line}",
                level.name()
            );
        }
        for line in ["git diff --no-ext-diff", "git grep u -- :/", "git show HEAD:secrets/key"] {
            let input = json!({ "command": line, "cwd": "pub" });
            assert_eq!(world.refused(input).await, RefusalCode::Denied, "{} {line}", level.name());
        }
        for line in [
            "git add -A && git commit -qm y",
            "git commit -qam y",
            "git stash",
            "git --git-dir .git add .",
            "git add -p",
        ] {
            let settled = world.call("shell", json!({ "command": line })).await;
            assert!(settled.refusal().is_some(), "{} {line}: {}", level.name(), said(&settled));
        }
        if level == Level::L3 {
            let line = "git add pub && git -c user.name=x -c user.email=x commit -q --allow-empty -m y && git ls-files";
            let told = world.shell(line).await;
            assert!(text(&told, "stdout").contains("secrets/key"), "{told}");
        }
        let told = world.shell("git diff -- . ':!secrets'").await;
        assert!(text(&told, "stdout").contains("+other"), "{}: {told}", level.name());
        for line in ["git status", "git log --oneline", "git show HEAD:a", "git diff --stat -- a"] {
            assert_eq!(world.shell(line).await["exit_code"], 0, "{} {line}", level.name());
        }
    }
}

#[tokio::test]
async fn where_git_cannot_reach_its_repository_the_result_says_why() {
    for level in levels() {
        let outer = World::at(level);
        outer.repository();
        let root = outer.folder.path().canonicalize().unwrap();
        git(&root, &["worktree", "add", "-q", "aside"]);
        let inner = tempfile::Builder::new().tempdir_in(root.join("pub")).unwrap();
        for folder in [inner, tempfile::Builder::new().tempdir_in(root.join("aside")).unwrap()] {
            let world = World::inside(folder, Sandbox::at(level), Guard::open());
            let told = world.shell("git log --oneline").await;
            assert!(notes(&told).contains("lies outside the workspace"), "{}: {told}", level.name());
        }
        assert_eq!(notes(&outer.shell("git log --oneline nothing").await), "");
    }
}

#[tokio::test]
async fn settings_of_git_cannot_be_swapped_with_their_folder() {
    if !levels().any(|level| level == Level::L3) {
        return;
    }
    let world = World::at(Level::L3);
    world.repository();
    let told = world
        .shell("mv .git aside; mkdir .git; echo '[core] fsmonitor = evil' > .git/config; mv aside/* .git")
        .await;
    let settings = std::fs::read_to_string(world.folder.path().join(".git/config")).unwrap();
    assert!(!settings.contains("evil"), "{told}");
    world.files(&[("a", "other\n")]);
    let told = world
        .shell("git -c user.name=x -c user.email=x commit -qam y && git clone -q . copy && git log --oneline")
        .await;
    assert_eq!((&told["exit_code"], text(&told, "stdout").lines().count()), (&json!(0), 2), "{told}");
}

#[tokio::test]
async fn a_changed_repository_inside_another_is_told_and_one_that_starts_programs_asks() {
    for level in levels() {
        let world = World::at(level);
        world.repository();
        let root = world.folder.path();
        git(root, &["clone", "-q", ".", "inner"]);
        git(root, &["-c", "advice.addEmbeddedRepo=false", "add", "inner"]);
        git(root, &["commit", "-qm", "y"]);
        assert_eq!(text(&world.shell("git status -s").await, "stdout"), "");
        std::fs::write(root.join("inner/a"), "changed").unwrap();
        assert_eq!(text(&world.shell("git status -s").await, "stdout"), " m inner\n", "{}", level.name());
        git(&root.join("inner"), &["config", "core.fsmonitor", "evil"]);
        let code = world.refused(json!({ "command": "git status -s" })).await;
        assert_eq!(code, RefusalCode::ApprovalRequired);
    }
}

#[tokio::test]
async fn a_difference_is_shown_by_git_although_nothing_can_be_written() {
    for level in levels() {
        let world = World::at(level);
        world.repository();
        world.files(&[("a", "other\n")]);
        let told = world.shell("git diff").await;
        assert!(text(&told, "stdout").contains("+other"), "{}: {told}", level.name());
    }
}

#[tokio::test]
async fn a_program_that_the_project_chooses_asks_although_the_line_only_reads() {
    for (setting, line) in [
        (("diff.x.textconv", "evil"), "git blame a"),
        (("filter.x.clean", "evil"), "git status"),
        (("diff.external", "evil"), "git diff"),
    ] {
        let world = World::best();
        world.repository();
        assert_eq!(world.shell(line).await["exit_code"], 0, "{line}");
        git(world.folder.path(), &["config", setting.0, setting.1]);
        for line in [line.to_owned(), format!("cd pub && {line}")] {
            let code = world.refused(json!({ "command": line })).await;
            assert_eq!(code, RefusalCode::ApprovalRequired, "{line}");
        }
    }
    // A folder that git passes over does not hide the repository above it.
    let world = World::best();
    world.repository();
    git(world.folder.path(), &["config", "filter.x.clean", "evil"]);
    std::fs::create_dir(world.folder.path().join("pub/.git")).unwrap();
    let code = world.refused(json!({ "command": "git status", "cwd": "pub" })).await;
    assert_eq!(code, RefusalCode::ApprovalRequired);
    let world = World::best();
    world.files(&[("rust-toolchain.toml", "[toolchain]\npath = \"evil\"\n")]);
    let code = world.refused(json!({ "command": "rustc --version" })).await;
    assert_eq!(code, RefusalCode::ApprovalRequired);
}

#[tokio::test]
async fn what_a_rule_denies_changing_no_command_changes_by_whatever_name() {
    for level in levels() {
        let world = World::guarded(Sandbox::at(level), guard());
        world.files(&[("held/x", "kept"), ("held/deep/y", "kept"), ("other", "")]);
        std::os::unix::fs::symlink("held", world.folder.path().join("link")).unwrap();
        if level == Level::L2 {
            let code = world.refused(json!({ "command": "touch other2" })).await;
            assert_eq!(
                code,
                RefusalCode::ApprovalRequired,
                "its rules cannot close a folder in one that is open"
            );
            continue;
        }
        for line in [
            "echo z > link/x",
            "d=he; echo z > ${d}ld/x",
            "cp -t held other",
            "cp --target-directory=held other",
            "install -t held other",
            "echo z | sort -o held/x",
            "echo z | dd of=held/x",
            "tar cf held/x other",
            "sed -i s/k/z/ held/x",
            "perl -pi -e s/k/z/ h*/x",
            "gzip held/x",
            "find . -name y -delete",
            "git init held",
            "env -C held touch z",
            "pushd held && touch z",
            "rm -rf held",
            "mv held elsewhere",
            "ln held/x hard && echo z > hard",
            "chmod 777 held/x && echo z > held/x",
            "touch held/deep/new",
            "python3 -c \"open('he'+'ld/x','w')\"",
        ] {
            let told = world.shell(line).await;
            let kept = |name: &str| std::fs::read_to_string(world.folder.path().join(name)).unwrap();
            assert_eq!(
                (kept("held/x"), kept("held/deep/y")),
                ("kept".into(), "kept".into()),
                "{line}: {told}"
            );
            let count = |name: &str| world.folder.path().join(name).read_dir().unwrap().count();
            assert_eq!((count("held"), count("held/deep")), (2, 1), "{line}: {told}");
        }
        let told = world.shell("echo z > other && cat held/x").await;
        assert!(text(&told, "stdout").contains("kept"), "{told}");
        // Where only a folder further up could be moved, nothing takes its place.
        world.files(&[("up/held/x", "kept"), ("up/other", "")]);
        world.shell("mv up away; mkdir -p up/held; echo z > up/held/x").await;
        let kept = std::fs::read_to_string(world.folder.path().join("up/held/x")).unwrap();
        assert_eq!(kept, "kept");
        assert_eq!(world.shell("mv up/other up/another && mv up/another there").await["exit_code"], 0);

        assert!(notes(&told).contains("Closed to changes by the command"), "{told}");
    }
}
