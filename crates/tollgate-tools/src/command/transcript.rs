//! What a process says on both its streams, in the order it came, within limits that hold whatever it says.

use std::collections::VecDeque;

/// Which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

/// Bytes as they came, beginning and end kept, the middle counted.
#[derive(Debug)]
pub(super) struct Transcript {
    head: VecDeque<Piece>,
    tail: VecDeque<Piece>,
    room: usize,
    kept: usize,
    most: usize,
    dropped: u64,
    total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    stream: Stream,
    bytes: Vec<u8>,
}

/// One stretch of text of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) stream: Stream,
    pub(super) text: String,
    /// Bytes before this stretch that were not kept.
    pub(super) missing: u64,
    /// Bytes that are no text, shown as replacement characters.
    pub(super) replaced: bool,
}

/// Small pieces of one stream are put together up to this size, so that their number stays small too.
const PIECE: usize = 16 << 10;

impl Transcript {
    /// Keeps `head` bytes from the beginning and `tail` from the end.
    pub(super) fn new(head: usize, tail: usize) -> Self {
        Self {
            head: VecDeque::new(),
            tail: VecDeque::new(),
            room: head,
            kept: 0,
            most: tail,
            dropped: 0,
            total: 0,
        }
    }

    /// How many bytes were said.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.room));
        self.room -= first.len();
        push(&mut self.head, stream, first);
        if rest.is_empty() {
            return;
        }
        push(&mut self.tail, stream, rest);
        self.kept += rest.len();
        while self.kept > self.most {
            let Some(oldest) = self.tail.front_mut() else { break };
            let over = (self.kept - self.most).min(oldest.bytes.len());
            if over == oldest.bytes.len() {
                self.tail.pop_front();
            } else {
                oldest.bytes.drain(..over);
            }
            self.kept -= over;
            self.dropped += over as u64;
        }
    }

    /// Everything that was kept, in order. A character that came in two pieces is one character.
    pub(super) fn told(&self) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        // The beginning of a character whose end has not come yet, by stream.
        let mut open = [Vec::new(), Vec::new()];
        let mut missing = 0;
        let all =
            self.head.iter().map(|piece| (piece, false)).chain(self.tail.iter().map(|piece| (piece, true)));
        let mut cut = self.dropped > 0;
        for (piece, late) in all {
            if late && cut {
                missing = self.dropped;
                cut = false;
            }
            let held = &mut open[usize::from(piece.stream == Stream::Err)];
            held.extend_from_slice(&piece.bytes);
            let (text, rest, replaced) = decode(held);
            *held = rest;
            match told.last_mut() {
                Some(last) if last.stream == piece.stream && missing == 0 => {
                    last.text.push_str(&text);
                    last.replaced |= replaced;
                }
                _ => told.push(Told {
                    stream: piece.stream,
                    text,
                    missing: std::mem::take(&mut missing),
                    replaced,
                }),
            }
        }
        for (at, rest) in open.into_iter().enumerate().filter(|(_, rest)| !rest.is_empty()) {
            let stream = if at == 1 { Stream::Err } else { Stream::Out };
            let text = String::from_utf8_lossy(&rest).into_owned();
            told.push(Told { stream, text, missing: 0, replaced: true });
        }
        told.retain(|one| !one.text.is_empty() || one.missing > 0);
        told
    }
}

fn push(pieces: &mut VecDeque<Piece>, stream: Stream, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    match pieces.back_mut() {
        Some(last) if last.stream == stream && last.bytes.len() < PIECE => {
            last.bytes.extend_from_slice(bytes);
        }
        _ => pieces.push_back(Piece { stream, bytes: bytes.to_vec() }),
    }
}

/// Text as far as it is whole, what may be the beginning of a character, and whether something was replaced.
fn decode(bytes: &[u8]) -> (String, Vec<u8>, bool) {
    let (mut text, mut rest, mut replaced) = (String::new(), bytes, false);
    loop {
        match str::from_utf8(rest) {
            Ok(good) => {
                text.push_str(good);
                return (text, Vec::new(), replaced);
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(good));
                let Some(length) = error.error_len() else { return (text, bad.to_vec(), replaced) };
                text.push(char::REPLACEMENT_CHARACTER);
                replaced = true;
                rest = &bad[length..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(transcript: &Transcript) -> Vec<(Stream, String, u64)> {
        transcript.told().into_iter().map(|told| (told.stream, told.text, told.missing)).collect()
    }

    #[test]
    fn streams_are_kept_apart_in_the_order_they_came() {
        let mut transcript = Transcript::new(100, 100);
        transcript.take(Stream::Out, b"a");
        transcript.take(Stream::Out, b"b");
        transcript.take(Stream::Err, b"c");
        transcript.take(Stream::Out, b"d");
        let texts = [(Stream::Out, "ab"), (Stream::Err, "c"), (Stream::Out, "d")];
        assert_eq!(plain(&transcript), texts.map(|(stream, text)| (stream, text.to_owned(), 0)));
    }

    #[test]
    fn a_character_in_two_pieces_with_the_other_stream_between_is_one_character() {
        let mut transcript = Transcript::new(100, 100);
        transcript.take(Stream::Out, &"é".as_bytes()[..1]);
        transcript.take(Stream::Err, b"!");
        transcript.take(Stream::Out, &"é".as_bytes()[1..]);
        let texts = [(Stream::Err, "!"), (Stream::Out, "é")];
        assert_eq!(plain(&transcript), texts.map(|(stream, text)| (stream, text.to_owned(), 0)));
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_that_is_said() {
        let mut transcript = Transcript::new(100, 100);
        transcript.take(Stream::Out, b"a\xffb\xe9");
        let told = transcript.told();
        assert_eq!(told.iter().map(|told| told.text.as_str()).collect::<String>(), "a\u{fffd}b\u{fffd}");
        assert!(told.iter().any(|told| told.replaced));
    }

    #[test]
    fn a_flood_keeps_its_beginning_and_its_end_and_counts_the_rest() {
        let mut transcript = Transcript::new(4, 4);
        for at in 0..100_000_u32 {
            transcript.take(Stream::Out, &[b'0' + u8::try_from(at % 10).unwrap_or_default()]);
        }
        let texts = [(Stream::Out, "0123".to_owned(), 0), (Stream::Out, "6789".to_owned(), 99_992)];
        assert_eq!(plain(&transcript), texts);
        assert_eq!(transcript.total(), 100_000);
    }
}
