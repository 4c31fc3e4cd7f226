//! Why a request has no answer, told apart by what it means for its effect.

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// It never reached the server: nothing happened.
    #[error("the server could not be reached: {0}")]
    NotSent(String),
    /// It was sent, and the connection ended before an answer came.
    #[error("the connection to the server was lost: {0}")]
    Lost(String),
    /// It was sent, and no answer came in time.
    #[error("the server did not answer within {0} ms")]
    Silent(u128),
    /// The answer was larger than is taken.
    #[error("the server's answer was larger than {limit} bytes and was dropped")]
    TooLarge {
        /// How large it was, where it was read to its end.
        bytes: Option<usize>,
        /// How large it may be.
        limit: usize,
    },
    /// The answer is none.
    #[error("the server's answer could not be understood: {0}")]
    Malformed(String),
    /// The server answered with an error of the protocol.
    #[error("the server answered with error {code}: {message}")]
    Rpc {
        /// The protocol's number for it.
        code: i64,
        /// The server's words.
        message: String,
        /// More of it.
        data: Option<serde_json::Value>,
    },
    /// It wants a login.
    #[error("the server wants a login")]
    Unauthorized {
        /// What its `WWW-Authenticate` said.
        challenge: Option<String>,
    },
    /// It has forgotten the session.
    #[error("the server has forgotten the session")]
    SessionGone,
}

impl Fault {
    /// True when the server cannot have begun to act on it.
    pub fn before_effect(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::Unauthorized { .. } | Self::SessionGone)
    }
}
