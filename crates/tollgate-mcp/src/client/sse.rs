//! Server-sent events, cut out of a stream as it comes, none of them larger than is taken.

/// Cuts events.
pub(super) struct Events {
    limit: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    /// The id of the last event that had one, to go on from.
    pub(super) last_id: Option<String>,
    /// How long to wait before coming back, where the server said so.
    pub(super) retry_ms: Option<u64>,
}

/// An event is larger than is taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Takes the next bytes and hands on the data of each event that is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut event: impl FnMut(&[u8])) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.len() + part.len() > self.limit {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            let line = std::mem::take(&mut self.line);
            self.take(&line, &mut event);
            self.line = line;
            self.line.clear();
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    fn take(&mut self, line: &[u8], event: &mut impl FnMut(&[u8])) {
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                event(&self.data);
            }
            self.data.clear();
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.last_id = String::from_utf8(value.to_vec()).ok(),
            b"retry" => self.retry_ms = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_however_the_bytes_come() {
        let text = b"id: 1\nretry: 50\ndata:\n\n: ping\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: x\n\ndata: cut";
        for size in [1, 2, 3, 7, 1000] {
            let (mut events, mut seen) = (Events::new(100), Vec::new());
            for chunk in text.chunks(size) {
                events.push(chunk, |data| seen.push(String::from_utf8_lossy(data).into_owned())).unwrap();
            }
            assert_eq!(seen, ["", "{\"a\":\n1}", "x"], "{size}");
            assert_eq!((events.last_id.as_deref(), events.retry_ms), (Some("1"), Some(50)));
        }
    }

    #[test]
    fn an_event_that_is_too_large_is_not_kept() {
        let mut events = Events::new(10);
        assert_eq!(events.push(b"data: 0123456789abc", |_| {}), Err(TooLarge));
    }
}
