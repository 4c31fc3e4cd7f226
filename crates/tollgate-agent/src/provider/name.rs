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
        let (model, url) = parted(rest).map_err(|found| {
            let hint = format!(
                "write the address with http:// or https://, as `{word}:MODEL@http://localhost:11434/v1`."
            );
            bad(format!("`{found}` after the `@` in `{text}` is no address")).with_hint(hint)
        })?;
        if model.is_empty() || model.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(bad(format!("`{text}` names no model after `{word}:`")));
        }
        Ok(Self { api, model: model.to_owned(), url })
    }
}

/// The model's own name, which may hold an `@`, and the address after it; or what is meant to be an address and is none.
/// What might be one never becomes a part of the name: the conversation would go to the provider, with its key.
fn parted(rest: &str) -> Result<(&str, Option<String>), &str> {
    let lower = rest.to_ascii_lowercase();
    let scheme = |scheme: &str| Some((lower.find(&format!("@{scheme}"))?, scheme.len()));
    if let Some((at, long)) = scheme("http://").into_iter().chain(scheme("https://")).min() {
        let (scheme, further) = (&lower[at + 1..=at + long], &rest[at + 1 + long..]);
        return Ok((&rest[..at], Some(format!("{scheme}{further}"))));
    }
    // Some hosts have their models in a scope, as `@cf/meta/llama`: no model stands before that `@`.
    let scoped = |scope: &str| !scope.is_empty() && !like_an_address(scope);
    let name = rest.strip_prefix('@').and_then(|name| name.split_once('/'));
    let name = name.filter(|(scope, _)| scoped(scope)).map_or(rest, |(_, name)| name);
    match name.split('@').skip(1).find(|part| like_an_address(part)) {
        Some(part) => Err(part),
        None => Ok((rest, None)),
    }
}

/// `20250929` is a part of a name, and `v1` may be; a host has a dot, a port or a path, or is this machine.
fn like_an_address(part: &str) -> bool {
    part.is_empty() || part.contains([':', '/', '.']) || part.eq_ignore_ascii_case("localhost")
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
            ("chat:@cf/meta/llama-3.1", Api::Chat, "@cf/meta/llama-3.1", None),
            ("chat:@cf/meta/llama@https://x.test", Api::Chat, "@cf/meta/llama", Some("https://x.test")),
            ("openai:x@http://a@https://b", Api::OpenAi, "x", Some("http://a@https://b")),
        ];
        for (text, api, model, url) in cases {
            let name: ModelName = text.parse().unwrap();
            assert_eq!((name.api, &*name.model, name.url.as_deref()), (api, model, url), "{text}");
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn a_scheme_is_the_same_however_it_is_written() {
        let name: ModelName = "chat:Qwen3@HTTPS://Box.test/V1".parse().unwrap();
        assert_eq!((&*name.model, name.url.as_deref()), ("Qwen3", Some("https://Box.test/V1")));
    }

    #[test]
    fn what_may_be_meant_as_an_address_never_becomes_a_part_of_the_name() {
        for after in [
            "localhost:11434/v1",
            "localhost",
            "LocalHost",
            "http//x",
            "ftp://x/v1",
            "http:/x",
            "",
            "10.0.0.1",
            "box.lan",
            "box/v1",
        ] {
            for whose in ["chat", "openai", "anthropic"] {
                for text in [format!("{whose}:qwen3@{after}"), format!("{whose}:qwen3@{after}@20250101")] {
                    let error = text.parse::<ModelName>().expect_err(&text);
                    assert_eq!(error.kind(), ErrorKind::BadName);
                    assert!(error.to_string().contains(&format!("`{after}` after the `@`")), "{error}");
                    assert!(error.hint().contains("http://localhost:11434/v1"), "{}", error.hint());
                }
            }
        }
        assert!("chat:@localhost/v1".parse::<ModelName>().is_err(), "this machine is no scope");
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
