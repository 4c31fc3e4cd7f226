//! What a test leaves out on this machine. Each crate's tests say it here, and so in one way.

use std::{fmt::Display, io::Write as _};

/// Says so in one line that is seen although the test passes. Where nothing may be left out (`TOLLGATE_SKIPS=never`, as
/// in `.ci/run`), the test fails instead.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests says what may be left out")]
pub(crate) fn skipped(what: impl Display) {
    assert!(
        std::env::var("TOLLGATE_SKIPS").as_deref() != Ok("never"),
        "left out, where nothing may be: {what}"
    );
    // Past `eprintln!`, which is kept from the screen while a test passes.
    let _ = writeln!(std::io::stderr(), "skipped: {what}");
}
