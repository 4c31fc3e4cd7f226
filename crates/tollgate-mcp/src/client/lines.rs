//! A stream of bytes cut into lines, none of them kept beyond a limit. What is too long is read away, and told by its ends.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// How much of the beginning and the end of a line is kept that is too long.
const ENDS: usize = 2048;

const CHUNK: usize = 64 << 10;

/// Reads lines.
pub(super) struct Lines<R> {
    from: R,
    limit: usize,
    buffer: Vec<u8>,
    // What of the buffer has been handed out, and how far it was searched for a line's end.
    used: usize,
    searched: usize,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// Longer than the limit: how long, how it began and how it ended.
    TooLong {
        length: usize,
        ends: Vec<u8>,
    },
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R, limit: usize) -> Self {
        Self { from, limit, buffer: Vec::new(), used: 0, searched: 0 }
    }

    /// The next line; `None` at the end of the stream. A last line without an end is one.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<Line<'_>>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let (from, end) = (self.used, self.searched + at);
                self.used = end + 1;
                self.searched = self.used;
                return Ok(Some(Line::Whole(&self.buffer[from..end])));
            }
            self.searched = self.buffer.len();
            if self.searched - self.used > self.limit {
                return self.skip().await.map(Some);
            }
            if self.read().await? == 0 {
                let from = self.used;
                self.used = self.buffer.len();
                self.searched = self.used;
                let rest = &self.buffer[from..];
                return Ok((!rest.is_empty()).then_some(Line::Whole(rest)));
            }
        }
    }

    async fn read(&mut self) -> std::io::Result<usize> {
        if self.used > 0 {
            self.buffer.drain(..self.used);
            self.searched -= self.used;
            self.used = 0;
        }
        // A large answer once must not hold its memory for good.
        if self.buffer.len() < CHUNK && self.buffer.capacity() > 4 * CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
        self.buffer.reserve(CHUNK);
        self.from.read_buf(&mut self.buffer).await
    }

    /// Reads the rest of a line that is too long, keeping its ends.
    async fn skip(&mut self) -> std::io::Result<Line<'_>> {
        let mut length = self.buffer.len() - self.used;
        let mut ends = self.buffer[self.used..self.used + ENDS.min(length)].to_vec();
        let tail_from = self.buffer.len() - ENDS.min(length);
        let mut tail = self.buffer.split_off(tail_from);
        self.buffer = Vec::with_capacity(CHUNK);
        (self.used, self.searched) = (0, 0);
        loop {
            self.buffer.clear();
            let read = self.from.read_buf(&mut self.buffer).await?;
            let end = memchr::memchr(b'\n', &self.buffer);
            let part = &self.buffer[..end.unwrap_or(read)];
            length += part.len();
            tail.extend_from_slice(part);
            if tail.len() > ENDS {
                tail.drain(..tail.len() - ENDS);
            }
            if let Some(end) = end {
                (self.used, self.searched) = (end + 1, end + 1);
            }
            if end.is_some() || read == 0 {
                ends.push(b' ');
                ends.extend_from_slice(&tail);
                return Ok(Line::TooLong { length, ends });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], limit: usize) -> Vec<String> {
        let mut lines = Lines::new(bytes, limit);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(match line {
                Line::Whole(line) => String::from_utf8_lossy(line).into_owned(),
                Line::TooLong { length, ends } => format!("{length}:{}", String::from_utf8_lossy(&ends)),
            });
        }
        all
    }

    #[tokio::test]
    async fn lines_come_whole_and_the_last_needs_no_end() {
        assert_eq!(read(b"a\n\nbc\nd", 10).await, ["a", "", "bc", "d"]);
        assert_eq!(read(b"", 10).await, [""; 0]);
    }

    #[tokio::test]
    async fn a_line_over_the_limit_is_read_away_and_the_next_one_is_whole() {
        let long = "x".repeat(500_000);
        let text = format!("{{\"id\":7,\"r\":\"{long}\"}}\nnext\n");
        let lines = read(text.as_bytes(), 1000).await;
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("500015:{\"id\":7,"), "{}", &lines[0][..40]);
        assert!(lines[0].ends_with("xx\"}") && lines[0].len() < 5000);
        assert_eq!(lines[1], "next");
        assert_eq!(read(long.as_bytes(), 1000).await.len(), 1);
    }
}
