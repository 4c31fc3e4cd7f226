//! The side a call came from, where it can be spoken to while the call runs.

use std::{collections::BTreeMap, fmt};

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::name::CallId;
use crate::event::Progress;

/// The other end of the connection a call came by: a gateway's client, an editor, a console.
///
/// Who answers a request is the person, or the program, at that end; a call that came by no connection has no peer.
pub trait Peer: fmt::Debug + Send + Sync + 'static {
    /// True when requests of this method can be answered at all.
    fn can(&self, method: &str) -> bool;

    /// Asks all of this at once and waits for all answers, each under the key of its request. A body that is stopped
    /// simply stops waiting.
    fn ask(&self, requests: Requests) -> BoxFuture<'_, Result<Answers, PeerFault>>;

    /// Tells something nobody answers. What cannot be delivered is dropped.
    fn notify(&self, method: &str, params: Value);

    /// Hears how far a body is, as it says so.
    fn progress(&self, call: &CallId, progress: &Progress) {
        let _ = (call, progress);
    }
}

/// What a peer is asked, by keys of the asker's own.
pub type Requests = BTreeMap<String, PeerRequest>;

/// What a peer answered, under the same keys.
pub type Answers = BTreeMap<String, Value>;

/// One thing a peer is asked: the method and its parameters, as the protocol between the two has them.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerRequest {
    /// As `elicitation/create`.
    pub method: String,
    /// What goes with it.
    pub params: Value,
}

/// Why a request to a peer has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PeerFault {
    /// The other end cannot answer this method.
    #[error("the client cannot answer `{0}`")]
    Unable(String),
    /// The other end answered with an error of its own.
    #[error("the client answered with an error: {message}")]
    Refused {
        /// The code it gave.
        code: i64,
        /// What it said.
        message: String,
    },
    /// The connection is gone, or the answer did not come in time.
    #[error("the client went away before it answered")]
    Gone,
}
