//! Cuts a byte stream into events, the same ones whatever the chunks it comes in.

use super::turn::shown;

/// The longest event, and the longest line, that is kept.
pub(super) const MAX_EVENT_BYTES: usize = 32 << 20;

/// What a stream is cut into.
#[derive(Default)]
pub(super) struct Sse {
    /// The line that has begun and not ended.
    line: Vec<u8>,
    /// The data lines of the event that has begun.
    data: Vec<u8>,
    has_data: bool,
    /// What the `event:` line said.
    name: String,
    /// The last chunk ended in a carriage return: a line feed next belongs to it.
    after_return: bool,
    past_first_line: bool,
    /// The first line that is no part of an event: what came, if nothing else did.
    stray: Option<String>,
}

/// One event: the name of its `event:` line, if any, and its data.
pub(super) struct Event<'a> {
    pub(super) name: &'a str,
    pub(super) data: &'a [u8],
}

/// The stream holds a line or an event longer than is kept.
pub(super) struct TooLong;

impl Sse {
    /// Takes the next bytes and hands on each event that is complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut event: impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                fits(self.line.len() + bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            self.after_return = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.line_ends(&bytes[..end], &mut event)?;
            } else {
                fits(self.line.len() + end)?;
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.line_ends(&line, &mut event)?;
                // The buffer is used again: lines split between chunks are the rule, not the exception.
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// The stream is over: an event that misses its empty line is complete all the same.
    pub(super) fn finish(&mut self, mut event: impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line_ends(&line, &mut event)?;
        }
        self.event_ends(&mut event);
        Ok(())
    }

    /// The first line that was no part of any event.
    pub(super) fn stray(&self) -> Option<&str> {
        self.stray.as_deref()
    }

    fn line_ends(&mut self, line: &[u8], event: &mut impl FnMut(Event<'_>)) -> Result<(), TooLong> {
        let first = !std::mem::replace(&mut self.past_first_line, true);
        let line = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| first).unwrap_or(line);
        let line = line.trim_ascii_start();
        match line.first() {
            None => self.event_ends(event),
            Some(b':') => {}
            // Not an SSE field: one JSON object a line, the other way events are written down.
            Some(b'{') => {
                self.event_ends(event);
                event(Event { name: "", data: line });
            }
            Some(_) => self.field(line)?,
        }
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<(), TooLong> {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match line[..colon].trim_ascii_end() {
            b"data" => {
                fits(self.data.len() + value.len() + 1)?;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value.trim_ascii()));
            }
            b"id" | b"retry" => {}
            _ => {
                self.stray
                    .get_or_insert_with(|| shown(&String::from_utf8_lossy(&line[..line.len().min(400)])));
            }
        }
        Ok(())
    }

    fn event_ends(&mut self, event: &mut impl FnMut(Event<'_>)) {
        if std::mem::take(&mut self.has_data) {
            event(Event { name: &self.name, data: self.data.trim_ascii() });
        }
        self.name.clear();
        self.data.clear();
    }
}

fn fits(size: usize) -> Result<(), TooLong> {
    if size > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(()) }
}
