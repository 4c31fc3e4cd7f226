//! The three formats a model's turn comes in, by the names people type.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Whose format a turn, a history or a list of tools is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// `OpenAI` chat completions, and everything compatible with it.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
}

/// A name that is none of the three.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a provider format; it is one of anthropic, openai-responses, openai-chat")]
pub struct UnknownProvider(String);

impl Provider {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAiResponses, Self::OpenAiChat];

    /// True for both of `OpenAI`'s formats.
    pub(crate) const fn is_openai(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// The name people type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// The longest tool name the provider takes.
    pub const fn longest_name(self) -> usize {
        match self {
            Self::Anthropic | Self::OpenAiResponses => 128,
            Self::OpenAiChat => 64,
        }
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == text)
            .ok_or_else(|| UnknownProvider(crate::json::shorten(text, 40)))
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
