//! Bytes of a terminal become keys.

/// A key a person pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    Enter,
    Escape,
    /// Ctrl and a letter.
    Ctrl(char),
    Backspace,
    Delete,
    Left,
    Right,
    Home,
    End,
    Up,
    Down,
    /// What comes from here on was pasted, until its end.
    Paste,
    PasteEnd,
    /// Something nobody needs here.
    Other,
    /// The terminal is gone.
    Gone,
}

/// Keeps the beginning of a key until its end has come.
#[derive(Debug, Default)]
pub(crate) struct Parser(Vec<u8>);

impl Parser {
    /// The keys these bytes complete.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.0.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((key, length)) = first(&self.0) {
            keys.push(key);
            self.0.drain(..length);
        }
        keys
    }

    /// True while the end of a key is missing.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.0.is_empty()
    }

    /// Nothing came for a while: what looked like the beginning of a key is all there is.
    pub(crate) fn pause(&mut self) -> Vec<Key> {
        match std::mem::take(&mut self.0).as_slice() {
            [] => Vec::new(),
            [0x1b] => vec![Key::Escape],
            _ => vec![Key::Other],
        }
    }
}

/// The first key and how many bytes it has; `None` while its end is missing.
fn first(bytes: &[u8]) -> Option<(Key, usize)> {
    let key = match *bytes.first()? {
        b'\n' | b'\r' => Key::Enter,
        0x7f | 0x08 => Key::Backspace,
        0x1b => return escape(bytes),
        control @ 1..=26 => Key::Ctrl(char::from(control - 1 + b'a')),
        0..=0x1f => Key::Other,
        _ => return character(bytes),
    };
    Some((key, 1))
}

fn escape(bytes: &[u8]) -> Option<(Key, usize)> {
    let mark = *bytes.get(1)?;
    if mark != b'[' && mark != b'O' {
        // Alt and a key: none of ours.
        return Some((Key::Other, 2));
    }
    let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))? + 2;
    let key = match (&bytes[2..end], bytes[end]) {
        (b"", b'D') => Key::Left,
        (b"", b'C') => Key::Right,
        (b"", b'H') | (b"1" | b"7", b'~') => Key::Home,
        (b"", b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"3", b'~') => Key::Delete,
        (b"", b'A') => Key::Up,
        (b"", b'B') => Key::Down,
        (b"200", b'~') => Key::Paste,
        (b"201", b'~') => Key::PasteEnd,
        _ => Key::Other,
    };
    Some((key, end + 1))
}

fn character(bytes: &[u8]) -> Option<(Key, usize)> {
    let length = match bytes[0] {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => return Some((Key::Other, 1)),
    };
    let text = std::str::from_utf8(bytes.get(..length)?);
    match text.ok().and_then(|text| text.chars().next()) {
        Some(c) => Some((Key::Char(c), length)),
        None => Some((Key::Other, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_understood_however_their_bytes_arrive() {
        let typed = "yé\x03\x1b[D\x1b[3~\x1bOH\n\x7f".as_bytes();
        let keys = [
            Key::Char('y'),
            Key::Char('é'),
            Key::Ctrl('c'),
            Key::Left,
            Key::Delete,
            Key::Home,
            Key::Enter,
            Key::Backspace,
        ];
        assert_eq!(Parser::default().read(typed), keys);
        let mut parser = Parser::default();
        let one_by_one: Vec<_> = typed.iter().flat_map(|byte| parser.read(&[*byte])).collect();
        assert_eq!(one_by_one, keys);
    }

    #[test]
    fn an_escape_that_nothing_follows_is_the_escape_key() {
        let mut parser = Parser::default();
        assert_eq!(parser.read(b"\x1b"), []);
        assert_eq!(parser.pause(), [Key::Escape]);
        assert_eq!((parser.read(b"\x1b[1;5D"), parser.pause()), (vec![Key::Other], vec![]));
    }
}
