//! Why a model did not answer: a closed list, each entry with a line for people and what to do about it.

use std::{fmt, time::Duration};

/// Why there is no turn. Its text is one line; [`ModelError::hint`] says what to do.
///
/// Never holds a key or a header that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    // The client made the request as often as it may.
    tried_out: bool,
}

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The name of the model cannot be read.
    BadName,
    /// There is no key for the provider.
    NoKey,
    /// The key was not accepted.
    WrongKey,
    /// The key is right and may not do this.
    Forbidden,
    /// The account has no money or quota left.
    NoCredit,
    /// The address of the provider is none.
    BadUrl,
    /// Nothing answers at the address.
    Unreachable,
    /// The connection could not be made safe.
    Tls,
    /// Something answers that is not the provider: nothing at that path, a web page, no JSON.
    NotTheApi,
    /// The provider has no such model, or not for this key.
    UnknownModel,
    /// The provider refuses the request as it is.
    Rejected,
    /// The conversation is longer than the model takes.
    ContextOverflow,
    /// Too many requests or tokens for now.
    RateLimited,
    /// The provider has too much to do.
    Overloaded,
    /// The provider failed.
    ProviderFailed,
    /// The connection broke before the answer was whole.
    Cut,
    /// The answer is not one of this provider's.
    Unreadable,
    /// Nothing came for too long.
    TimedOut,
    /// The request was cancelled here.
    Cancelled,
    /// The conversation departed from the cassette.
    Departed,
    /// The cassette cannot be used.
    BadCassette,
}

impl ModelError {
    /// An error of this kind; `message` is one sentence without its full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: one_line(message.into()),
            hint: None,
            status: None,
            retry_after: None,
            request_id: None,
            tried_out: false,
        }
    }

    /// The connection broke.
    pub fn cut(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Cut, message)
    }

    /// The same, with advice of its own.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(one_line(hint.into()));
        self
    }

    /// The same, as an HTTP status said it.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The same, with the time the provider asks to be given.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The same, with the provider's own name for the request.
    #[must_use]
    pub fn with_request_id(mut self, id: Option<String>) -> Self {
        self.request_id = id.map(one_line);
        self
    }

    /// What kind of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The HTTP status it came with.
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// How long the provider asks to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What the provider calls the request; its support asks for it.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// The same, after the last time its client makes the request.
    #[must_use]
    pub fn tried_out(mut self) -> Self {
        self.tried_out = true;
        self
    }

    /// True where the request may be made once more: it failed in a way that passes, and not for the last time.
    pub fn may_be_tried_again(&self) -> bool {
        self.is_transient() && !self.tried_out
    }

    /// True where the same request may well succeed a little later.
    pub fn is_transient(&self) -> bool {
        self.kind.is_transient()
    }

    /// What to do about it, in one sentence.
    pub fn hint(&self) -> &str {
        self.hint.as_deref().unwrap_or_else(|| self.kind.hint())
    }
}

impl ErrorKind {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::BadName,
        Self::NoKey,
        Self::WrongKey,
        Self::Forbidden,
        Self::NoCredit,
        Self::BadUrl,
        Self::Unreachable,
        Self::Tls,
        Self::NotTheApi,
        Self::UnknownModel,
        Self::Rejected,
        Self::ContextOverflow,
        Self::RateLimited,
        Self::Overloaded,
        Self::ProviderFailed,
        Self::Cut,
        Self::Unreadable,
        Self::TimedOut,
        Self::Cancelled,
        Self::Departed,
        Self::BadCassette,
    ];

    /// True where the same request may well succeed a little later.
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Unreachable
                | Self::RateLimited
                | Self::Overloaded
                | Self::ProviderFailed
                | Self::Cut
                | Self::TimedOut
        )
    }

    /// A word for machines, as in `--json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadName => "bad_model_name",
            Self::NoKey => "no_key",
            Self::WrongKey => "wrong_key",
            Self::Forbidden => "forbidden",
            Self::NoCredit => "no_credit",
            Self::BadUrl => "bad_url",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::NotTheApi => "not_the_api",
            Self::UnknownModel => "unknown_model",
            Self::Rejected => "rejected",
            Self::ContextOverflow => "context_overflow",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::ProviderFailed => "provider_failed",
            Self::Cut => "cut",
            Self::Unreadable => "unreadable",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Departed => "departed",
            Self::BadCassette => "bad_cassette",
        }
    }

    const fn hint(self) -> &'static str {
        match self {
            Self::BadName => {
                "name a model as `anthropic:MODEL`, `openai:MODEL`, `chat:MODEL@URL` or `cassette:FILE`."
            }
            Self::NoKey => "set the provider's key in the environment.",
            Self::WrongKey => "check that the key is whole, of this provider, and not revoked.",
            Self::Forbidden => "use a key of a project that may use this model.",
            Self::NoCredit => "look at the account's billing page, or use another key.",
            Self::BadUrl => "give the address as `https://host/path`, without a query.",
            Self::Unreachable => "check the address and the network, and whether the server runs.",
            Self::Tls => {
                "check the address and the machine's clock; behind a proxy that reads along, add its certificate \
                 to the system's."
            }
            Self::NotTheApi => "check the base URL: it is the API's address, not the website's.",
            Self::UnknownModel => "check the model's name, and whether this key may use it.",
            Self::Rejected => "this looks like a fault of ours; the provider's words above say which part.",
            Self::ContextOverflow => "start a new conversation, or use a model with a larger window.",
            Self::RateLimited => "wait a little, or use a key with a higher limit.",
            Self::Overloaded | Self::ProviderFailed => {
                "try again in a while; the provider's status page may say more."
            }
            Self::Cut => "try again; nothing of the broken answer was run.",
            Self::Unreadable => {
                "check that the server speaks this format; `chat:` fits most that are compatible."
            }
            Self::TimedOut => "try again, or allow more time.",
            Self::Cancelled => "ask again when you want the answer.",
            Self::Departed => "record it again with `--record`, or run what it was recorded with.",
            Self::BadCassette => "record it again with `--record`.",
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.status, &self.request_id) {
            (Some(status), Some(id)) => write!(f, " (HTTP {status}, request {id})"),
            (Some(status), None) => write!(f, " (HTTP {status})"),
            (None, Some(id)) => write!(f, " (request {id})"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for ModelError {}

/// What a server says is somebody else's text: on one line, and with nothing that could move a cursor.
fn one_line(text: String) -> String {
    const LONGEST: usize = 400;
    let calm = text.chars().count() <= LONGEST && !text.chars().any(char::is_control);
    if calm {
        return text;
    }
    let mut line = String::with_capacity(text.len().min(LONGEST));
    let words = text.split(|c: char| c.is_control() || c == ' ').filter(|word| !word.is_empty());
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST).chain(['…']).collect();
    }
    line
}
