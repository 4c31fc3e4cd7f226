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
    /// Bytes of each stream that were not kept.
    dropped: [u64; 2],
    total: u64,
    at_once: bool,
}

/// Bytes of one stream as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Raw {
    /// Where in the stream they begin: where it was asked for, or after what was not kept.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
    /// How long the stream is so far.
    pub(super) total: u64,
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
    /// Where in its stream it begins.
    pub(super) offset: u64,
    /// How many bytes of the stream it stands for.
    pub(super) length: u64,
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
            dropped: [0; 2],
            total: 0,
            at_once: false,
        }
    }

    /// Both streams had something when they were looked at: which came first is not known there.
    pub(super) fn at_once(&mut self) {
        self.at_once = true;
    }

    /// True where the order of the streams is not known throughout.
    pub(super) fn came_at_once(&self) -> bool {
        self.at_once
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
            self.dropped[oldest.stream.index()] += over as u64;
            if over == oldest.bytes.len() {
                self.tail.pop_front();
            } else {
                oldest.bytes.drain(..over);
            }
            self.kept -= over;
        }
    }

    /// Everything that was kept, in order. A character that came in two pieces is one character.
    pub(super) fn told(&self) -> Vec<Told> {
        let mut told: Vec<Told> = Vec::new();
        // The beginning of a character whose end has not come yet, and how far we are, by stream.
        let (mut open, mut at) = ([Vec::new(), Vec::new()], [0_u64; 2]);
        let mut missing = 0;
        let lost: u64 = self.dropped.iter().sum();
        let all =
            self.head.iter().map(|piece| (piece, false)).chain(self.tail.iter().map(|piece| (piece, true)));
        let mut cut = lost > 0;
        for (piece, late) in all {
            if late && cut {
                missing = lost;
                cut = false;
                at.iter_mut().zip(self.dropped).for_each(|(at, dropped)| *at += dropped);
            }
            let index = piece.stream.index();
            let held = &mut open[index];
            held.extend_from_slice(&piece.bytes);
            let (text, rest, replaced) = decode(held);
            let length = (held.len() - rest.len()) as u64;
            let offset = at[index];
            at[index] += length;
            *held = rest;
            match told.last_mut() {
                Some(last) if last.stream == piece.stream && missing == 0 => {
                    last.text.push_str(&text);
                    last.replaced |= replaced;
                    last.length += length;
                }
                _ => told.push(Told {
                    stream: piece.stream,
                    text,
                    missing: std::mem::take(&mut missing),
                    replaced,
                    offset,
                    length,
                }),
            }
        }
        for (stream, rest) in [Stream::Out, Stream::Err].into_iter().zip(open) {
            if !rest.is_empty() {
                let text = String::from_utf8_lossy(&rest).into_owned();
                let (offset, length) = (at[stream.index()], rest.len() as u64);
                told.push(Told { stream, text, missing: 0, replaced: true, offset, length });
            }
        }
        told.retain(|one| !one.text.is_empty() || one.missing > 0);
        told
    }

    /// Bytes of one stream from `offset` on, at most `limit`, not across what was not kept.
    pub(super) fn raw(&self, stream: Stream, offset: u64, limit: usize) -> Raw {
        let of = |pieces: &VecDeque<Piece>| -> Vec<u8> {
            let own = pieces.iter().filter(|piece| piece.stream == stream);
            own.flat_map(|piece| piece.bytes.iter().copied()).collect()
        };
        let (head, tail) = (of(&self.head), of(&self.tail));
        let resumes = head.len() as u64 + self.dropped[stream.index()];
        let total = resumes + tail.len() as u64;
        let (kept, begins) = if offset < head.len() as u64 { (head, 0) } else { (tail, resumes) };
        let offset = offset.clamp(begins, total);
        let from = usize::try_from(offset - begins).unwrap_or(usize::MAX).min(kept.len());
        let bytes = kept[from..].iter().copied().take(limit).collect();
        Raw { offset, bytes, total }
    }
}

impl Stream {
    const fn index(self) -> usize {
        match self {
            Self::Out => 0,
            Self::Err => 1,
        }
    }

    /// As people say it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Out => "stdout",
            Self::Err => "stderr",
        }
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
    fn the_bytes_are_there_as_they_came() {
        let mut transcript = Transcript::new(4, 4);
        transcript.take(Stream::Out, b"\xff\x00");
        transcript.take(Stream::Err, b"!");
        transcript.take(Stream::Out, b"\xfe0123456789");
        let raw = |offset, limit| {
            let Raw { offset, bytes, total } = transcript.raw(Stream::Out, offset, limit);
            (offset, bytes, total)
        };
        assert_eq!(raw(0, 100), (0, b"\xff\x00\xfe".to_vec(), 13));
        assert_eq!(raw(1, 1), (1, b"\x00".to_vec(), 13));
        assert_eq!(raw(3, 100), (9, b"6789".to_vec(), 13), "what was not kept is passed over");
        assert_eq!(raw(11, 100), (11, b"89".to_vec(), 13));
        assert_eq!(raw(99, 100), (13, Vec::new(), 13));
        let told = transcript.told();
        let places: Vec<_> = told.iter().map(|one| (one.stream, one.offset, one.length)).collect();
        let expected = [(Stream::Out, 0, 2), (Stream::Err, 0, 1), (Stream::Out, 2, 1), (Stream::Out, 9, 4)];
        assert_eq!(places, expected);
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
