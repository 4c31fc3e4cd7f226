//! The crates form a star: leaves depend on the core and never on each other; only the program sees all.

#![expect(clippy::disallowed_methods, reason = "a test asks cargo about its own workspace")]

use std::process::Command;

use serde_json::Value;

const CORE: [&str; 2] = ["tollgate", "tollgate-macros"];
const MAY_SEE_ALL: [&str; 2] = ["tollgate-cli", "tollgate-benches"];

#[test]
fn leaves_depend_on_the_core_and_never_on_each_other() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    assert!(ours.contains(&"tollgate") && ours.contains(&"tollgate-cli"), "{ours:?}");
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let on = dependency["name"].as_str().expect("a name");
            // A crate may ask for itself with the features of its own tests.
            if !ours.contains(&on) || on == name || MAY_SEE_ALL.contains(&name) {
                continue;
            }
            let allowed = match name {
                "tollgate" => on == "tollgate-macros",
                "tollgate-macros" => false,
                _ => CORE.contains(&on),
            };
            assert!(allowed, "{name} must not depend on {on}");
        }
    }
}

#[test]
fn the_core_has_no_network_no_database_and_no_process_library() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "tollgate", "-e", "normal", "--prefix", "none", "--offline"])
        .output()
        .expect("cargo runs");
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("jsonschema"), "the tree was not read: {tree}");
    for heavy in ["reqwest", "hyper", "axum", "sqlx", "rusqlite", "rmcp", "tree-sitter", "clap", "nix "] {
        assert!(!tree.lines().any(|line| line.starts_with(heavy)), "the core must do without {heavy}");
    }
}
