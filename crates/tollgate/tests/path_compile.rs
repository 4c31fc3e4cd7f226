//! The order of the path is kept by the compiler: no phase can be skipped, no permit made or used twice.

#![cfg(feature = "macros")]

#[path = "compile/driver.rs"]
mod driver;

#[test]
fn no_shortcut_through_the_path_compiles() {
    driver::run("path");
}

#[test]
fn one_shortcut_gives_one_error() {
    driver::one_error_each("path");
}
