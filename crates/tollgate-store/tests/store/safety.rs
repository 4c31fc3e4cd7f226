//! Who can forge the chain, and who listens on the way to the database.

use std::path::Path;

use serde_json::json;
use tollgate_store::{Place, Store, StoreError};

use crate::skipped::skipped;
use crate::{
    server,
    world::{World, call},
};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

on_both! {
    async fn a_key_from_outside_is_nowhere_in_the_store_and_needed_every_time(world: &World) {
        let place = world.place().keyed(KEY).expect("a key");
        let store = Store::open(place.clone()).expect("opens");
        let _ = call(&world.gate(&store), "r", "c", "pay", json!({"n": 1})).await;
        store.close();
        assert!(matches!(Store::open(world.place()), Err(StoreError::Key { .. })));
        let other = world.place().keyed(&KEY.replace('0', "f")).expect("a key");
        assert!(matches!(Store::open(other), Err(StoreError::Key { .. })));
        let again = Store::open(place).expect("opens");
        assert!(again.verify().expect("reads").is_whole());
        again.close();
        assert!(!holds(world.folder.path(), KEY.as_bytes()));
    }
}

/// True when any file below the folder holds these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).expect("reads").flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        std::fs::read(&path).expect("reads").windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn a_key_that_is_none_is_refused_and_not_shown() {
    let error = Place::folder("/tmp/x").keyed("hunter2").expect_err("no key");
    assert!(!error.to_string().contains("hunter2") && error.hint().contains("openssl"), "{error}");
    let place = Place::folder("/tmp/x").keyed(KEY).expect("a key");
    assert!(!format!("{place:?}").contains("0102"), "{place:?}");
}

#[test]
fn a_server_without_tls_is_refused_where_the_url_asks_for_it() {
    let Some(server) = server::on_tcp() else { return };
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = open(&server.url("localhost", &format!("sslmode={mode}&sslrootcert={}", server.root)))
            .expect_err("refused");
        assert!(matches!(error, StoreError::Tls { .. }), "{mode}: {error}");
    }
    open(&server.url("localhost", "sslmode=disable")).expect("opens").close();
    open(&server.url("localhost", "")).expect("opens: it is this machine").close();
    let error = open(&server.url("localhost", "sslmode=maybe")).expect_err("no mode");
    assert!(error.to_string().contains("sslmode=maybe"), "{error}");
}

#[test]
fn a_server_with_tls_must_be_the_one_the_url_names() {
    let Some(server) = server::on_tcp() else { return };
    if !server.with_tls() {
        skipped("no openssl on this machine to make a certificate with");
        return;
    }
    let root = &server.root;
    for mode in ["require", "verify-full", "prefer"] {
        let url = server.url("localhost", &format!("sslmode={mode}&sslrootcert={root}"));
        let store = open(&url).unwrap_or_else(|error| panic!("{mode}: {error}"));
        assert_eq!(server.in_the_clear(), 0, "{mode}");
        store.close();
    }
    // Nobody this system trusts has signed it; and its certificate says another name.
    let error = open(&server.url("localhost", "sslmode=require")).expect_err("refused");
    assert!(matches!(error, StoreError::Tls { .. }), "{error}");
    let url = server.url("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={root}"));
    let error = open(&url).expect_err("refused");
    assert!(matches!(error, StoreError::Tls { .. }) && error.hint().contains("sslrootcert"), "{error}");
}

fn open(url: &str) -> Result<Store, StoreError> {
    let folder = tempfile::tempdir().expect("a folder");
    Store::open(Place::postgres(url, folder.path().join("home"))?)
}
