//! Answers that come in pieces, as server-sent events.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::body::{Body, Bytes};
use futures_util::stream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tollgate::BoxFuture;

use crate::{
    gateway::{
        message,
        server::{Listening, Reply},
        session::{Outlet, Session},
    },
    inbox::{Inbox, Reader},
};

/// How often a quiet stream says that it is still there.
const STILL_HERE: Duration = Duration::from_secs(15);

/// Where the messages of one request go until its answer is there.
impl Outlet for Inbox<Vec<u8>> {
    fn send(&self, message: Vec<u8>) {
        self.push(message);
    }
}

/// One message as an event.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut event = Vec::with_capacity(message.len() + 24);
    event.extend_from_slice(b"event: message\ndata: ");
    event.extend_from_slice(message);
    event.extend_from_slice(b"\n\n");
    event.into()
}

/// The messages of a request as they come, and its answer as the last of them.
pub(super) fn until_answered(
    first: Vec<Vec<u8>>,
    messages: Reader<Vec<u8>>,
    answer: BoxFuture<'static, Reply>,
) -> Body {
    struct State {
        first: std::vec::IntoIter<Vec<u8>>,
        messages: Reader<Vec<u8>>,
        answer: Option<BoxFuture<'static, Reply>>,
        last: Option<Vec<u8>>,
    }
    let state = State { first: first.into_iter(), messages, answer: Some(answer), last: None };
    Body::from_stream(stream::unfold(state, |mut state| async move {
        if let Some(message) = state.first.next() {
            return Some((Ok::<_, Infallible>(event(&message)), state));
        }
        if let Some(answer) = &mut state.answer {
            let message = tokio::select! {
                biased;
                message = state.messages.next() => Some(message),
                reply = answer => {
                    state.answer = None;
                    state.last = Some(reply.body);
                    None
                }
                () = tokio::time::sleep(STILL_HERE) => return Some((Ok(Bytes::from_static(b": still here\n\n")), state)),
            };
            if let Some(message) = message {
                return Some((Ok(event(&message)), state));
            }
        }
        // Whatever was said before the answer goes before it.
        if let Some(message) = state.messages.pop() {
            return Some((Ok(event(&message)), state));
        }
        let last = state.last.take()?;
        Some((Ok(event(&last)), state))
    }))
}

/// What a session's own stream tells: that tools changed, until the session or the server ends.
pub(super) fn of_session(
    changes: watch::Receiver<u64>,
    over: CancellationToken,
    session: Arc<Session>,
) -> Body {
    let begins = Bytes::from_static(b": listening\n\n");
    // Whoever waits for the session's end on this stream's behalf is told when the stream is gone.
    let gone = over.clone().drop_guard();
    let changed = move || {
        // As long as somebody reads, the session is in use.
        let _ = (&gone, &session);
        Some(message::notification("notifications/tools/list_changed", &serde_json::json!({})))
    };
    changes_as_events(begins, changes, over, true, changed, || None)
}

/// A subscription: what was accepted first, then each change, and at the server's end the answer.
pub(super) fn of_subscription(
    listening: Listening,
    changes: watch::Receiver<u64>,
    over: CancellationToken,
) -> Body {
    let begins = event(&listening.acknowledged());
    let listening = Arc::new(listening);
    let (tools, told, ended) = (listening.tools, listening.clone(), listening);
    changes_as_events(begins, changes, over, tools, move || Some(told.changed()), move || Some(ended.over()))
}

fn changes_as_events(
    begins: Bytes,
    changes: watch::Receiver<u64>,
    over: CancellationToken,
    tells: bool,
    changed: impl Fn() -> Option<Vec<u8>> + Send + 'static,
    ended: impl Fn() -> Option<Vec<u8>> + Send + 'static,
) -> Body {
    struct State<C, E> {
        begins: Option<Bytes>,
        changes: watch::Receiver<u64>,
        over: CancellationToken,
        changed: C,
        ended: E,
        is_over: bool,
    }
    let state = State { begins: Some(begins), changes, over, changed, ended, is_over: false };
    Body::from_stream(stream::unfold(state, move |mut state| async move {
        if let Some(begins) = state.begins.take() {
            return Some((Ok::<_, Infallible>(begins), state));
        }
        if state.is_over {
            return None;
        }
        loop {
            let piece = tokio::select! {
                biased;
                () = state.over.cancelled() => {
                    state.is_over = true;
                    event(&(state.ended)()?)
                }
                Ok(()) = state.changes.changed() => {
                    if !tells {
                        continue;
                    }
                    event(&(state.changed)()?)
                }
                () = tokio::time::sleep(STILL_HERE) => Bytes::from_static(b": still here\n\n"),
            };
            return Some((Ok(piece), state));
        }
    }))
}
