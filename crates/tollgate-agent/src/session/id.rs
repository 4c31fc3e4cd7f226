//! An id that sorts by time and that no two sessions share.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::{SystemTime, UNIX_EPOCH},
};

use tollgate::tool::RunId;

/// A new id, as `s19a8c4d2e10-7f3a9c`.
pub fn new_session_id() -> RunId {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    RunId::new(format!("s{:011x}-{:06x}", now_ms(), hasher.finish() & 0xff_ffff))
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
