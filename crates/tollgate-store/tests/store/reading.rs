//! A store that is only looked into: everything recorded is there, and nothing in its folder is made or changed.

use std::{collections::BTreeMap, path::Path};

use serde_json::json;
use tollgate_store::{Place, Store, StoreError};

use crate::world::{World, call};

async fn recorded() -> World {
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    for n in 0..3 {
        let _ = call(&gate, "r", &format!("c{n}"), "pay", json!({"n": n})).await;
    }
    store.close();
    world
}

/// Every file of a folder and what is in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let files = entries.filter(|path| path.is_file());
    let named = |path: std::path::PathBuf| {
        let content = std::fs::read(&path).expect("reads");
        (path.file_name().expect("a name").to_string_lossy().into_owned(), content)
    };
    files.map(named).collect()
}

fn calls(place: Place) -> Result<i64, StoreError> {
    let store = Store::open_to_read(place)?;
    let run = store.run("r")?.map_or(0, |run| run.calls);
    assert_eq!(store.journal("r", 0)?.is_empty(), run == 0);
    let written = std::thread::spawn(move || store.reset_spending("r")).join().expect("ends");
    assert!(matches!(written, Err(StoreError::Closed)), "nothing is written: {written:?}");
    Ok(run)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_its_log_beside_it_is_read_whole_and_left_as_it_is() {
    let world = recorded().await;
    let before = files(world.place().path());
    assert!(before.contains_key("ledger.db-wal"), "its log was left: {:?}", before.keys());
    assert_eq!(calls(world.place()).expect("reads"), 3);
    let whole = Store::open_to_read(world.place()).expect("opens").verify().expect("verifies");
    assert!(whole.is_readable() && whole.rows > 0, "{whole:?}");
    assert!(before == files(world.place().path()), "nothing was made or changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_whose_log_was_put_into_it_is_read_without_one() {
    let world = recorded().await;
    world.sql("PRAGMA wal_checkpoint(truncate)");
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", world.place().database().expect("a file").display()));
    }
    let _ = std::fs::remove_file(world.place().path().join("store.key"));
    let before = files(world.place().path());
    assert_eq!(calls(world.place()).expect("reads"), 3);
    // Without the key the records are there, and nobody can say whether they are what was written.
    let unproved = Store::open_to_read(world.place()).expect("opens").verify();
    assert!(matches!(unproved, Err(StoreError::Key { .. })), "{unproved:?}");
    assert!(before == files(world.place().path()), "nothing was made or changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_log_cannot_be_read_that_is_said_and_not_taken_for_an_empty_store() {
    let world = recorded().await;
    let file = world.place().database().expect("a file");
    std::fs::remove_file(format!("{}-shm", file.display())).expect("removes");
    let error = calls(world.place()).expect_err("cannot be read");
    assert!(
        matches!(error, StoreError::NeedsWriting { .. }) && error.to_string().contains("-wal"),
        "{error}"
    );
    assert!(error.hint().contains("copy the whole folder"), "{}", error.hint());
    std::fs::remove_file(format!("{}-wal", file.display())).expect("removes");
    std::fs::write(&file, "").expect("writes");
    let error = calls(world.place()).expect_err("holds nothing");
    assert!(matches!(error, StoreError::NeedsWriting { .. }), "{error}");
}
