//! The last words of a server: as much of its stderr as is worth showing when it fails.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much is kept.
const KEPT: usize = 8 << 10;

/// The end of what was said so far. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    /// Reads to the end, however much there is, and keeps the last of it.
    pub(super) async fn drain(self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 32 << 10];
        while let Ok(read) = from.read(&mut buffer).await {
            if read == 0 {
                return;
            }
            self.push(&buffer[..read]);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }

    /// The last lines, made visible.
    pub(crate) fn last_lines(&self, lines: usize) -> Option<String> {
        let kept: Vec<u8> = {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().copied().collect()
        };
        let text = String::from_utf8_lossy(&kept);
        let all: Vec<_> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = all[all.len().saturating_sub(lines)..].join("\n");
        (!last.is_empty()).then(|| tollgate::outcome::visible(&last).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_end_is_kept_however_much_is_said() {
        let tail = Tail::default();
        let mut said = "x\n".repeat(1_000_000);
        said += "the reason\x1b[0m\n";
        tail.clone().drain(said.as_bytes()).await;
        assert_eq!(tail.last_lines(2).unwrap(), "x\nthe reason␛[0m");
        assert_eq!(Tail::default().last_lines(2), None);
    }
}
