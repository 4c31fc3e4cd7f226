//! A misused `#[tool]` gives one error, and it says what to write.

#![cfg(feature = "macros")]

#[path = "compile/driver.rs"]
mod driver;

#[test]
fn a_misused_attribute_says_what_to_write() {
    driver::run("macro");
}

#[test]
fn one_mistake_gives_one_error() {
    driver::one_error_each("macro");
}
