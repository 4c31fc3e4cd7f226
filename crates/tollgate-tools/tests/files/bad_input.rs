use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _, net::UnixListener},
    process::Command,
    time::{Duration, Instant},
};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;
use tollgate::policy::Rules;

use super::world::{Meanwhile, World, good, one_line, text, wrong};

use crate::skipped::skipped;

#[tokio::test]
async fn what_is_no_ordinary_file_is_refused_in_words_and_nothing_hangs() {
    let world = World::new();
    mkfifoat(CWD, world.path("pipe"), Mode::from_raw_mode(0o600)).unwrap();
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    fs::create_dir(world.path("folder")).unwrap();
    let began = Instant::now();
    for (name, words) in [("pipe", "a named pipe"), ("socket", "a socket"), ("folder", "a folder")] {
        for (tool, input) in [
            ("read_file", json!({"path": name})),
            ("read", one_line(name)),
            ("write", json!({"path": name, "content": "x"})),
            ("edit", json!({"path": name, "edits": [{"op": "append", "text": "x"}]})),
        ] {
            let settled = world.call(tool, input).await;
            let said = wrong(&settled);
            assert!(said.starts_with("invalid_value") && said.contains(words), "{said}");
            assert!(settled.refusal().unwrap().hint.is_some());
        }
    }
    let listing = world.call("read", json!({"operations": [{"mode": "directory", "path": "."}]})).await;
    assert_eq!(text(&listing), "./ (3 entries)\nfolder/\npipe  (a named pipe)\nsocket  (a socket)\n");
    world.file("a.txt", "x");
    let settled = world.call("read", json!({"operations": [{"mode": "directory", "path": "a.txt"}]})).await;
    assert!(wrong(&settled).contains("is a file, and a folder is needed"));
    let below = world.call("write", json!({"path": "a.txt/b", "content": "x"})).await;
    assert!(wrong(&below).starts_with("invalid_value"), "{below:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_device_is_never_opened() {
    let world = World::new();
    let made = Command::new("mknod").arg(world.path("zero")).args(["c", "1", "5"]).output();
    if !made.is_ok_and(|made| made.status.success()) {
        skipped("making a device needs root");
        return;
    }
    assert!(wrong(&world.call("read_file", json!({"path": "zero"})).await).contains("a device"));
}

#[tokio::test]
async fn a_file_that_vanishes_after_permission_is_told() {
    for tool in ["read_file", "edit"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone.txt");
        let remove = path.clone();
        let mut world =
            World::with(Rules::new().ask("*").unwrap(), Meanwhile(move || drop(fs::remove_file(&remove))));
        let workspace = tollgate::guard::Workspace::new(folder.path().canonicalize().unwrap());
        world.scope = std::sync::Arc::new(tollgate::Scope::new(tollgate::guard::Run::new("run"), workspace));
        fs::write(&path, "x").unwrap();
        let input = match tool {
            "edit" => json!({"path": "gone.txt", "edits": [{"op": "replace", "old": "x", "new": "y"}]}),
            _ => json!({"path": "gone.txt"}),
        };
        let said = wrong(&world.call(tool, input).await);
        assert!(said.starts_with("fatal_error") && said.contains("there is no such file"), "{said}");
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn a_link_that_leads_in_a_circle_is_refused() {
    let world = World::new();
    std::os::unix::fs::symlink("b", world.path("a")).unwrap();
    std::os::unix::fs::symlink("a", world.path("b")).unwrap();
    assert!(wrong(&world.call("read_file", json!({"path": "a/x"})).await).contains("circle"));
    assert!(wrong(&world.call("write", json!({"path": "a", "content": "x"})).await).contains("circle"));
}

#[tokio::test]
async fn names_that_are_no_text_are_shown_escaped_and_do_not_end_a_search() {
    let world = World::new();
    fs::write(world.root().join(OsStr::from_bytes(b"bad\xFFname.txt")), b"needle \xFF\n").unwrap();
    fs::write(world.root().join("line\nbreak\u{202e}.txt"), "needle").unwrap();
    let listing =
        text(&world.call("read", json!({"operations": [{"mode": "directory", "path": "."}]})).await);
    assert!(
        listing.contains("bad\\xFFname.txt") && listing.contains("line\\u{a}break\\u{202e}.txt"),
        "{listing}"
    );
    let found = text(&world.call("grep", json!({"pattern": "needle"})).await);
    assert!(found.contains("bad\\xFFname.txt\n1:needle \u{fffd}\n"), "{found}");
    assert!(text(&world.call("glob", json!({"pattern": "*.txt"})).await).contains("[2 match]"));
}

#[tokio::test]
async fn paths_with_line_breaks_escapes_or_turned_letters_are_refused() {
    let world = World::new();
    for path in ["a\nb", "a\u{1b}[2J", "a\0b", "\u{202e}txt.exe", "a\u{200b}b", "a\u{7f}", "\u{feff}a", ""] {
        for (tool, input) in [
            ("read_file", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            ("grep", json!({"pattern": "x", "path": path})),
        ] {
            assert!(wrong(&world.call(tool, input).await).starts_with("invalid_value"), "{path:?}");
        }
    }
    assert_eq!(fs::read_dir(world.root()).unwrap().count(), 0);
    // A joiner inside a picture is part of the writing.
    good(&world.call("write", json!({"path": "👩\u{200d}💻.txt", "content": "x"})).await);
}

#[tokio::test]
async fn a_read_only_file_is_not_replaced() {
    let world = World::new();
    let path = world.file("a.txt", "one\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let settled = world.call("write", json!({"path": "a.txt", "content": "two\n"})).await;
    assert!(wrong(&settled).contains("is read-only. Nothing was written"), "{settled:?}");
    assert_eq!(world.content("a.txt"), "one\n");
}

/// Takes a file system away again, however the test ends.
struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

#[tokio::test]
async fn a_full_disk_leaves_the_file_as_it_was() {
    let world = World::new();
    fs::create_dir(world.path("small")).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tollgate-test"])
        .arg(world.path("small"))
        .output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        skipped("a small file system needs root");
        return;
    }
    let _unmount = Unmount(world.path("small"));
    fs::write(world.path("small/a.txt"), "one\n").unwrap();
    let workspace = tollgate::guard::Workspace::new(world.path("small"));
    let scope = std::sync::Arc::new(tollgate::Scope::new(tollgate::guard::Run::new("run"), workspace));
    let input = json!({"path": "a.txt", "content": "x".repeat(1 << 20)});
    let settled = super::world::call(&world.gate, &scope, "write", &input).await;
    assert!(wrong(&settled).contains("there is no room left on the disk"), "{settled:?}");
    assert_eq!(world.content("small/a.txt"), "one\n");
    assert_eq!(fs::read_dir(world.path("small")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_of_a_hundred_thousand_entries_is_bounded_and_in_order() {
    let world = World::new();
    for at in 0..100_000 {
        fs::File::create(world.path(&format!("{at:06}"))).unwrap();
    }
    let listing =
        text(&world.call("read", json!({"operations": [{"mode": "directory", "path": "."}]})).await);
    // More than a model is shown at once: its beginning, its end, and what is left out between.
    assert!(listing.contains("./ (100000 entries)\n000000  0 bytes\n000001  0 bytes\n"));
    assert!(listing.contains("[98000 more entries are not shown"), "{}", listing.len());
    let found = text(&world.call("glob", json!({"pattern": "09*", "limit": 3})).await);
    assert!(found.starts_with("090000\n090001\n090002\n[10000 match; shown are the first 3"), "{found}");
}

#[tokio::test]
async fn a_folder_that_does_not_exist_is_told() {
    let world = World::new();
    for (tool, input) in [
        ("read", json!({"operations": [{"mode": "directory", "path": "none"}]})),
        ("grep", json!({"pattern": "x", "path": "none"})),
        ("glob", json!({"pattern": "x", "path": "none/at/all"})),
        ("read_file", json!({"path": "none/at/all"})),
    ] {
        let said = wrong(&world.call(tool, input).await);
        assert!(said.contains("no such file"), "{said}");
    }
}

#[tokio::test]
async fn content_of_a_hundred_megabytes_without_a_line_break_is_bounded() {
    let world = World::new();
    world.file("long.txt", "é".repeat(20 << 20));
    let settled = world.call("read_file", json!({"path": "long.txt"})).await;
    good(&settled);
    let shown: usize = settled.output().unwrap().items.iter().map(|item| format!("{item:?}").len()).sum();
    assert!(shown < 100_000, "{shown}");
}
