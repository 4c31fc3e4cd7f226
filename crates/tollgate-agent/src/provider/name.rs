//! The names of models as people type them: `anthropic:MODEL`, `openai:MODEL`, `chat:MODEL@URL`.

use std::{fmt, str::FromStr};

use tollgate::wire::Provider;

use crate::model::{ErrorKind, ModelError};

/// Which API a model is asked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Responses.
    OpenAi,
    /// Chat completions, at `OpenAI` or any compatible server.
    Chat,
}

/// A model and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// Through which API.
    pub api: Api,
    /// What the provider calls it.
    pub model: String,
    /// An address of its own.
    pub url: Option<String>,
}

impl Api {
    /// Whose format it speaks.
    pub const fn provider(self) -> Provider {
        match self {
            Self::Anthropic => Provider::Anthropic,
            Self::OpenAi => Provider::OpenAiResponses,
            Self::Chat => Provider::OpenAiChat,
        }
    }

    /// The word before the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Chat => "chat",
        }
    }
}

impl FromStr for ModelName {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let bad = |why: String| ModelError::new(ErrorKind::BadName, why);
        let Some((word, rest)) = text.trim().split_once(':') else {
            return Err(bad(format!("`{text}` does not say whose model it is")));
        };
        let api = match word {
            "anthropic" => Api::Anthropic,
            "openai" => Api::OpenAi,
            "chat" => Api::Chat,
            other => return Err(bad(format!("`{other}` in `{text}` is no provider"))),
        };
        // A model's own name may hold an `@`; an address says what it is.
        let at = rest.rfind("@http://").or_else(|| rest.rfind("@https://"));
        let (model, url) = at.map_or((rest, None), |at| (&rest[..at], Some(rest[at + 1..].to_owned())));
        if model.is_empty() || model.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(bad(format!("`{text}` names no model after `{word}:`")));
        }
        Ok(Self { api, model: model.to_owned(), url })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.api.as_str(), self.model)?;
        self.url.as_ref().map_or(Ok(()), |url| write!(f, "@{url}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whose_model_which_and_where() {
        let cases = [
            ("anthropic:claude-sonnet-4-5", Api::Anthropic, "claude-sonnet-4-5", None),
            ("openai:gpt-5", Api::OpenAi, "gpt-5", None),
            (
                "chat:qwen3:8b@http://localhost:11434/v1",
                Api::Chat,
                "qwen3:8b",
                Some("http://localhost:11434/v1"),
            ),
            ("chat:a@b/c@https://x.test/v1", Api::Chat, "a@b/c", Some("https://x.test/v1")),
            ("anthropic:claude@20250929", Api::Anthropic, "claude@20250929", None),
        ];
        for (text, api, model, url) in cases {
            let name: ModelName = text.parse().unwrap();
            assert_eq!((name.api, &*name.model, name.url.as_deref()), (api, model, url), "{text}");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_told_in_one_line_with_what_to_type() {
        for text in ["gpt-5", "", "mistral:large", "openai:", "chat:@http://x/v1", "openai:a b"] {
            let error = text.parse::<ModelName>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadName);
            assert!(!error.to_string().contains('\n'));
            assert!(error.hint().contains("anthropic:MODEL"), "{}", error.hint());
        }
    }
}
