//! What a process says, kept within limits; what is not kept is counted.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How many bytes of each stream are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// From its beginning.
    pub head: usize,
    /// From its end, where there is more than the beginning.
    pub tail: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self { head: 1 << 20, tail: 0 }
    }
}

/// One stream of a process: its beginning, its end, and how much is missing between them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// How many bytes after them were not kept.
    pub dropped: u64,
    /// The last bytes; empty unless the head is full.
    pub tail: Vec<u8>,
}

impl Captured {
    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.head.len() as u64 + self.dropped + self.tail.len() as u64
    }

    /// Everything, where everything was kept.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (self.dropped == 0).then(|| [&self.head[..], &self.tail].concat())
    }

    /// As text, bytes that are none replaced, a note where some are missing.
    pub fn text(&self) -> String {
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        match self.dropped {
            0 => format!("{head}{tail}"),
            dropped => format!("{head}\n[{dropped} bytes left out]\n{tail}"),
        }
    }
}

/// Reads as fast as the process writes, so that it never waits for us, and keeps no more than asked.
#[derive(Debug)]
pub(super) struct Capture {
    keep: Keep,
    head: Vec<u8>,
    dropped: u64,
    tail: VecDeque<u8>,
}

impl Capture {
    pub(super) fn new(keep: Keep) -> Self {
        Self { keep, head: Vec::new(), dropped: 0, tail: VecDeque::new() }
    }

    /// Reads to the end. A stream that cannot be read any more has ended.
    pub(super) async fn read(&mut self, mut from: impl AsyncRead + Unpin) {
        let mut piece = vec![0; 16 << 10];
        while let Ok(length @ 1..) = from.read(&mut piece).await {
            self.take(&piece[..length]);
        }
    }

    fn take(&mut self, piece: &[u8]) {
        let room = self.keep.head.saturating_sub(self.head.len()).min(piece.len());
        let (head, rest) = piece.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.keep.tail);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    pub(super) fn finish(self) -> Captured {
        Captured { head: self.head, dropped: self.dropped, tail: self.tail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_and_what_is_dropped_add_up_however_it_arrives() {
        let all: Vec<u8> = (0..=255).collect();
        for (head, tail) in [(0, 0), (10, 0), (0, 10), (10, 10), (200, 100), (256, 0), (1000, 1000)] {
            for size in [1, 7, 64, 256] {
                let mut capture = Capture::new(Keep { head, tail });
                all.chunks(size).for_each(|piece| capture.take(piece));
                let kept = capture.finish();
                assert_eq!(kept.total(), 256);
                assert!(all.starts_with(&kept.head) && all.ends_with(&kept.tail));
                assert_eq!(kept.head.len(), head.min(256));
                assert_eq!(kept.tail.len(), tail.min(256 - kept.head.len()));
                assert_eq!(kept.whole().is_some(), head + tail >= 256);
            }
        }
    }
}
