//! One question to a model: everything that goes into the request and nothing about how it travels.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// What a model is asked.
///
/// Cheap to clone, so that the same question can be asked twice. The history is behind an [`Arc`]: the loop lends it
/// for the time of the reply and has it back for itself (`Arc::make_mut` without a copy) when the reply is dropped.
#[derive(Debug, Clone)]
pub struct Request {
    /// The system text; empty for none.
    pub system: Arc<str>,
    /// The conversation in the provider's form: messages, or for Responses the items of `input`. Repaired before.
    pub messages: Arc<Vec<Value>>,
    /// The provider's `tools` array as text, byte for byte the same for the same tools; empty or `[]` for none.
    pub tools: Arc<str>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// The most tokens of the answer; `None` for what is usual with the model.
    pub max_output_tokens: Option<u32>,
    /// Whether the prompt is marked for the provider's cache.
    pub caching: Caching,
    /// A name for the conversation, the same in each of its requests: providers route by it to a warm cache.
    pub conversation: Option<Arc<str>>,
    /// Ends the reply with [`ErrorKind::Cancelled`](super::ErrorKind::Cancelled).
    pub cancel: CancellationToken,
}

/// Whether the model may call tools in this turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It has to call at least one.
    Required,
    /// It may not, though it sees them.
    None,
}

/// Whether the stable beginning of a request is marked for the prompt cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Caching {
    /// Marks where the provider wants marks: the system text and the end of the conversation. The mark on the tools
    /// is part of [`Request::tools`] already.
    #[default]
    Marked,
    /// None.
    Off,
}

impl Request {
    /// A question of these messages, without tools.
    pub fn new(messages: impl Into<Arc<Vec<Value>>>) -> Self {
        Self {
            system: Arc::from(""),
            messages: messages.into(),
            tools: Arc::from(""),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            caching: Caching::Marked,
            conversation: None,
            cancel: CancellationToken::new(),
        }
    }

    /// The same, with this system text.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<Arc<str>>) -> Self {
        self.system = system.into();
        self
    }

    /// The same, with these tools: the provider's array as text.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<str>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// True where no tool is offered.
    pub fn has_tools(&self) -> bool {
        !matches!(self.tools.trim(), "" | "[]")
    }
}
