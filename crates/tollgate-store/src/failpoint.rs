//! Places where a test may end or stop this process. Nothing at all in an ordinary build.

/// Ends the process as `kill -9` would when the test named this place; stops it when it said so.
#[cfg(feature = "failpoints")]
#[expect(clippy::disallowed_methods, reason = "a test talks to its worker process through the environment")]
pub fn hit(place: &str) {
    use std::sync::OnceLock;
    static WANTED: OnceLock<Option<(String, u64, bool)>> = OnceLock::new();
    static SEEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let wanted = WANTED.get_or_init(|| {
        // kill:NAME:COUNT or stop:NAME:COUNT
        let text = std::env::var("TOLLGATE_FAILPOINT").ok()?;
        let mut parts = text.split(':');
        let (what, name, count) = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?);
        Some((name.to_owned(), count, what == "stop"))
    });
    let Some((name, count, stop)) = wanted else { return };
    if name != place || SEEN.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 != *count {
        return;
    }
    let signal = if *stop { rustix::process::Signal::STOP } else { rustix::process::Signal::KILL };
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    // The signal takes a moment; nothing may happen in it.
    std::thread::sleep(std::time::Duration::from_millis(if *stop { 20 } else { 10_000 }));
}

/// Nothing.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn hit(_: &str) {}
