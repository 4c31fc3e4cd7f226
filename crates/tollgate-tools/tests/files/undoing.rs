use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;
use tollgate_tools::journal::{Done, Undo};

use super::world::{World, good};

#[tokio::test]
async fn changes_are_taken_back_newest_first_and_a_preview_touches_nothing() {
    let world = World::new();
    world.file("a.txt", "one\n");
    fs::set_permissions(world.path("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    good(&world.call("write", json!({"path": "a.txt", "content": "two\n"})).await);
    good(&world.call("write", json!({"path": "a.txt", "content": "three\n"})).await);
    good(&world.call("write", json!({"path": "new/b.txt", "content": "b\n"})).await);
    let preview = world.journal.undo(&world.scope, &[], 9, Undo::Preview).unwrap();
    assert!(matches!(
        preview.iter().map(|step| &step.done).collect::<Vec<_>>()[..],
        [Done::Removed, Done::Restored, Done::Restored]
    ));
    assert!(
        preview[1].diff.contains("-three\n+two\n") && preview[2].diff.contains("-two\n+one\n"),
        "{preview:?}"
    );
    assert_eq!((world.content("a.txt").as_str(), world.content("new/b.txt").as_str()), ("three\n", "b\n"));
    let undone = world.journal.undo(&world.scope, &[], 2, Undo::Restore).unwrap();
    assert!(undone.iter().all(|step| step.done.is_good()));
    assert_eq!(world.content("a.txt"), "two\n");
    assert!(!world.path("new").exists());
    world.journal.undo(&world.scope, &[], 9, Undo::Restore).unwrap();
    assert_eq!(world.content("a.txt"), "one\n");
    assert_eq!(fs::metadata(world.path("a.txt")).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(world.journal.undo(&world.scope, &[], 9, Undo::Restore).unwrap().is_empty());
}

#[tokio::test]
async fn what_something_else_changed_since_is_left_alone_and_that_is_said() {
    let world = World::new();
    good(&world.call("write", json!({"path": "a.txt", "content": "ours\n"})).await);
    world.file("a.txt", "theirs\n");
    let steps = world.journal.undo(&world.scope, &[], 1, Undo::Restore).unwrap();
    assert!(matches!(steps[0].done, Done::ChangedSince));
    assert_eq!(world.content("a.txt"), "theirs\n");
}

#[tokio::test]
async fn only_journaled_paths_inside_the_roots_are_touched() {
    let world = World::new();
    world.file("dir/theirs.txt", "theirs\n");
    good(&world.call("write", json!({"path": "dir/ours.txt", "content": "ours\n"})).await);
    good(&world.call("write", json!({"path": "made/ours.txt", "content": "ours\n"})).await);
    world.file("made/theirs.txt", "theirs\n");
    let steps = world.journal.undo(&world.scope, &["dir/ours.txt".into()], 9, Undo::Restore).unwrap();
    assert_eq!(steps.len(), 1);
    assert!(!world.path("dir/ours.txt").exists() && world.path("made/ours.txt").exists());
    world.journal.undo(&world.scope, &[], 9, Undo::Restore).unwrap();
    assert!(!world.path("made/ours.txt").exists());
    assert_eq!(world.content("made/theirs.txt") + &world.content("dir/theirs.txt"), "theirs\ntheirs\n");

    let elsewhere = World::new();
    good(&world.call("write", json!({"path": "again.txt", "content": "ours\n"})).await);
    assert!(world.journal.undo(&elsewhere.scope, &[], 9, Undo::Restore).unwrap().is_empty());
    assert!(world.path("again.txt").exists());
}

#[tokio::test]
async fn a_link_put_in_place_of_a_changed_file_is_not_followed_by_undo() {
    let world = World::new();
    let outside = world.folder.path().join("outside.txt");
    good(&world.call("write", json!({"path": "a.txt", "content": "ours\n"})).await);
    fs::write(&outside, "ours\n").unwrap();
    fs::remove_file(world.path("a.txt")).unwrap();
    std::os::unix::fs::symlink(&outside, world.path("a.txt")).unwrap();
    world.journal.undo(&world.scope, &[], 9, Undo::Restore).unwrap();
    assert_eq!(fs::read_to_string(outside).unwrap(), "ours\n");
}

#[tokio::test]
async fn the_journal_is_readable_by_its_owner_alone() {
    let world = World::new();
    world.file("a.txt", "one\n");
    good(&world.call("write", json!({"path": "a.txt", "content": "two\n"})).await);
    let journal = world.folder.path().join("journal");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&journal), mode(&journal.join("before")), mode(&journal.join("journal.jsonl"))),
        (0o700, 0o700, 0o600)
    );
    for kept in fs::read_dir(journal.join("before")).unwrap() {
        assert_eq!(mode(&kept.unwrap().path()), 0o600);
    }
}
