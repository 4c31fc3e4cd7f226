//! A misused `#[tool]` gives one error, and it says what to write.

#[path = "compile/driver.rs"]
mod driver;

#[test]
fn a_misused_attribute_says_what_to_write() {
    driver::run("macro");
}
