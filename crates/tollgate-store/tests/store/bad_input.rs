//! What is broken is said in one clear sentence with a way on; nothing is lost silently, and the rest goes on.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::json;
use tollgate::outcome::Status;
use tollgate_store::{LazyStore, Place, Store, StoreError};

use crate::skipped::skipped;
use crate::world::{World, call, keyed, told};

fn refused(world: &World) -> StoreError {
    Store::open(world.place()).expect_err("does not open")
}

fn without_log(world: &World) {
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = std::fs::remove_file(world.folder.path().join("home").join(name));
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_called_damaged_and_left_alone() {
    let world = World::sqlite();
    world.open().close();
    without_log(&world);
    let file = world.place().database().expect("a file");
    std::fs::write(&file, "not a database, but somebody's notes").expect("writes");
    let error = refused(&world);
    assert!(matches!(error, StoreError::Corrupt { .. }) && error.hint().contains("move the file"), "{error}");
    assert_eq!(std::fs::read_to_string(file).expect("reads"), "not a database, but somebody's notes");
}

#[tokio::test]
async fn a_database_with_a_damaged_page_is_noticed_and_reads_go_on() {
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    for n in 0..50 {
        let _ = call(&gate, "r", &format!("c{n}"), "pay", json!({"n": n})).await;
    }
    store.close();
    // The log is put into the file, then the middle of it is overwritten.
    let file = world.place().database().expect("a file");
    let database = rusqlite::Connection::open(&file).expect("opens");
    database.pragma_update(None, "wal_checkpoint", "truncate").ok();
    drop(database);
    let mut bytes = std::fs::read(&file).expect("reads");
    let length = bytes.len();
    bytes[4096..length].fill(0xA5);
    std::fs::write(&file, bytes).expect("writes");
    without_log(&world);
    let lazy = LazyStore::new(world.place());
    let error = lazy.get().err().map(ToString::to_string).or_else(|| {
        let store = lazy.get().ok()?;
        store.verify().err().map(|error| error.to_string())
    });
    assert!(error.as_deref().is_some_and(|error| error.contains("damaged")), "{error:?}");
}

/// Every page in turn, overwritten with each of these: whatever it held, somebody says so, and nothing panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_page_that_is_overwritten_is_found_by_verifying() {
    const PAGE: usize = 4_096;
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    for n in 0..30 {
        let _ = call(&gate, &format!("r{}", n % 3), &format!("c{n}"), "pay", json!({"n": n})).await;
    }
    tokio::task::block_in_place(|| store.close());
    let file = world.place().database().expect("a file");
    let database = rusqlite::Connection::open(&file).expect("opens");
    database.query_row("PRAGMA wal_checkpoint(truncate)", [], |_| Ok(())).expect("is put away");
    drop(database);
    let whole = std::fs::read(&file).expect("reads");
    let mut found = 0;
    for page in 0..whole.len() / PAGE {
        for filled in [0, 0xA5] {
            let mut damaged = whole.clone();
            damaged[page * PAGE..(page + 1) * PAGE].fill(filled);
            without_log(&world);
            std::fs::write(&file, damaged).expect("writes");
            let said =
                tokio::task::block_in_place(|| Store::open(world.place()).and_then(|store| store.verify()));
            match said {
                Err(StoreError::Corrupt { .. }) => found += 1,
                // A page that nothing is kept on.
                Ok(report) => assert!(report.is_whole(), "page {page} of {filled}: {report:?}"),
                Err(error) => panic!("page {page} of {filled}: {error}"),
            }
        }
    }
    assert!(found * 10 >= whole.len() / PAGE * 2 * 9, "{found} of {}", whole.len() / PAGE * 2);
}

#[tokio::test]
async fn a_store_whose_key_is_gone_is_refused_because_no_earlier_call_would_be_known() {
    let world = World::sqlite();
    world.open().close();
    let key = world.folder.path().join("home/store.key");
    let first = std::fs::read(&key).expect("reads");
    std::fs::remove_file(&key).expect("removes");
    assert!(matches!(refused(&world), StoreError::Key { .. }));
    std::fs::write(&key, "0".repeat(64)).expect("writes");
    assert!(matches!(refused(&world), StoreError::Key { .. }));
    std::fs::write(&key, first).expect("writes");
    world.open().close();
}

#[tokio::test]
async fn rights_that_others_have_are_taken_from_them() {
    let world = World::sqlite();
    world.open().close();
    let home = world.folder.path().join("home");
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("sets");
    };
    set(&home, 0o755);
    let files = ["ledger.db", "ledger.db-wal", "ledger.db-shm", "store.key"];
    files.iter().for_each(|file| set(&home.join(file), 0o644));
    world.open().close();
    let mode = |path: &Path| std::fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o700);
    files.iter().for_each(|file| assert_eq!(mode(&home.join(file)), 0o600, "{file}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_program_that_looks_into_the_database_and_leaves_takes_nothing_with_it() {
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    let _ = call(&gate, "r", "c1", "pay", json!({"n": 1})).await;
    // A second connection of this process, opened while the first one is at work.
    assert_eq!(store.runs(9).expect("reads").len(), 1);
    let look = "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('select count(*) from calls'); c.close()";
    let mut looks = Command::new("python3");
    looks.args(["-c", look]).arg(world.place().database().expect("a file"));
    if !looks.status().is_ok_and(|status| status.success()) {
        skipped("no python3 to look into the database with");
        return;
    }
    let _ = call(&gate, "r", "c2", "pay", json!({"n": 2})).await;
    tokio::task::block_in_place(|| store.close());
    let store = world.open();
    let ends = told(&store, "r").iter().filter(|told| *told == "settled ok").count();
    assert_eq!(ends, 2, "{:?}", told(&store, "r"));
    assert!(store.verify().expect("reads").is_whole());
}

#[tokio::test]
async fn a_place_that_cannot_be_a_folder_is_told_by_name() {
    let world = World::sqlite();
    let file = world.folder.path().join("file");
    std::fs::write(&file, "x").expect("writes");
    let error = Store::open(Place::folder(&file)).expect_err("does not open");
    assert!(error.to_string().contains("file") && error.hint().contains("0700"), "{error}");
    let error = Place::postgres("mysql://me:secret@host/x", "/tmp").expect_err("no place");
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[tokio::test]
async fn a_store_on_a_read_only_disk_says_so_and_a_read_goes_on() {
    if !rustix::process::geteuid().is_root() {
        skipped("mounting a read-only disk needs root");
        return;
    }
    let world = World::sqlite();
    world.open().close();
    let disk = world.folder.path().join("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let mount = |args: &[&str]| {
        Command::new("mount").args(args).arg(&disk).status().is_ok_and(|status| status.success())
    };
    let home = world.folder.path().join("home");
    let bound = mount(&["--bind", &home.display().to_string()]) && mount(&["-o", "remount,ro,bind"]);
    if !bound {
        skipped("this machine mounts nothing");
        return;
    }
    let lazy = LazyStore::new(Place::folder(&disk));
    let error = lazy.get().err().map(ToString::to_string);
    let store = world.open();
    let gate = world.gate(&store);
    let read = call(&gate, "r", "c", "look", json!({})).await;
    let _ = Command::new("umount").arg(&disk).status();
    assert!(error.as_deref().is_some_and(|error| error.contains("cannot be written")), "{error:?}");
    assert_eq!(read.status(), Status::Ok);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_set_back_changes_neither_order_nor_keys() {
    // Nothing here asks the clock for order: the rows are numbered, and leases are counted in beats.
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    let _ = keyed(&gate, "r", "pay", json!({"n": 1}), "k").await;
    store.close();
    let database = rusqlite::Connection::open(world.place().database().expect("a file")).expect("opens");
    // As if everything so far had been written tomorrow.
    for statement in
        ["UPDATE runs SET latest = latest + 86400000", "UPDATE owners SET began = began + 86400000"]
    {
        database.execute(statement, []).expect("updates");
    }
    drop(database);
    let store = world.open();
    let gate = world.gate(&store);
    assert!(keyed(&gate, "r", "pay", json!({"n": 1}), "k").await.replayed);
    assert_eq!(call(&gate, "r", "d", "pay", json!({"n": 2})).await.status(), Status::Ok);
    store.flush().await.expect("flushes");
    let told = told(&store, "r");
    assert_eq!(told.iter().filter(|told| *told == "settled ok").count(), 3, "{told:?}");
    assert!(store.verify().expect("reads").is_whole());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruned_runs_are_gone_and_the_chain_stays_whole() {
    let world = World::sqlite();
    let store = world.open();
    let gate = world.gate(&store);
    let _ = call(&gate, "old", "c", "pay", json!({"n": 1})).await;
    store.flush().await.expect("flushes");
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let pruned =
        tokio::task::block_in_place(|| store.prune(std::time::Duration::from_millis(10))).expect("prunes");
    assert_eq!(pruned.runs, 1);
    let _ = call(&gate, "new", "c", "pay", json!({"n": 1})).await;
    store.flush().await.expect("flushes");
    assert!(told(&store, "old").is_empty());
    let report = store.verify().expect("reads");
    assert!(report.is_whole() && report.pruned > 0, "{report:?}");
}
