//! How an answer travels: in chunks of any size, slowly, with other line ends, or not to its end.

use std::{convert::Infallible, io, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};

/// How an answer is delivered.
#[derive(Debug, Clone, Default)]
pub struct Delivery {
    /// The size of its chunks; 0 for all at once.
    pub chunk: usize,
    /// How long to wait before each chunk.
    pub pause: Duration,
    /// Lines of a stream end in CR LF.
    pub crlf: bool,
    /// A stream has pings, comments and events of unknown types in between.
    pub noisy: bool,
    /// It does not come to its end.
    pub cut: Option<Cut>,
    /// It is sent as a whole even where a stream was asked for.
    pub whole: bool,
}

/// How an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// After so many bytes, as if that were all.
    Close(usize),
    /// After so many bytes the connection breaks.
    Abort(usize),
    /// After so many bytes nothing comes for a long time.
    Hang(usize),
}

impl Delivery {
    /// One byte at a time.
    pub fn bytewise() -> Self {
        Self { chunk: 1, ..Self::default() }
    }

    /// In chunks of this size with a pause before each.
    pub fn slow(chunk: usize, pause: Duration) -> Self {
        Self { chunk, pause, ..Self::default() }
    }

    pub(super) fn body(&self, text: Vec<u8>) -> Body {
        let all = Bytes::from(text);
        let (shown, end) = match self.cut {
            None => (all, End::Closes),
            Some(Cut::Close(at)) => (all.slice(..at.min(all.len())), End::Closes),
            Some(Cut::Abort(at)) => (all.slice(..at.min(all.len())), End::Breaks),
            Some(Cut::Hang(at)) => (all.slice(..at.min(all.len())), End::Hangs),
        };
        if end == End::Closes && self.chunk == 0 && self.pause.is_zero() {
            return Body::from(shown);
        }
        Body::from_stream(
            chunks(shown, self.chunk, self.pause).map(|chunk| chunk.map_err(never)).chain(end.last()),
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Closes,
    Breaks,
    Hangs,
}

impl End {
    fn last(self) -> impl Stream<Item = io::Result<Bytes>> {
        stream::once(async move {
            match self {
                Self::Closes => None,
                Self::Breaks => {
                    // What was written before shall arrive before the connection breaks.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    Some(Err(io::Error::other("the stand-in hangs up")))
                }
                Self::Hangs => {
                    tokio::time::sleep(Duration::from_secs(3_600)).await;
                    None
                }
            }
        })
        .filter_map(async |last| last)
    }
}

fn chunks(text: Bytes, size: usize, pause: Duration) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(text, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        let size = if size == 0 { rest.len() } else { size.min(rest.len()) };
        let chunk = rest.split_to(size);
        Some((Ok(chunk), rest))
    })
}

fn never(error: Infallible) -> io::Error {
    match error {}
}
