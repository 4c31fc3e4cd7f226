//! The order of the path is kept by the compiler: no phase can be skipped, no permit made or used twice.

#[path = "compile/driver.rs"]
mod driver;

#[test]
fn no_shortcut_through_the_path_compiles() {
    driver::run("path");
}
