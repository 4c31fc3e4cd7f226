//! Keys, addresses and limits of the clients: from the environment the program read, or from code.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{Api, ModelName, Secret};
use crate::model::Retries;

/// How providers are reached.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For `anthropic:`.
    pub anthropic: Account,
    /// For `openai:`, and for `chat:` without an address of its own.
    pub openai: Account,
    /// For every name with an address of its own. Its base URL is not used.
    pub chat: Account,
    /// What is sent as `anthropic-version`.
    pub anthropic_version: String,
    /// Whether answers are streamed.
    pub streaming: Streaming,
    /// When requests are made again.
    pub retries: Retries,
    /// The longest time to connect.
    pub connect_timeout: Duration,
    /// The longest time without a byte, before and within an answer.
    pub idle_timeout: Duration,
    /// The most tokens of an answer, where the request does not say and the API insists.
    pub max_output_tokens: u32,
    /// Further fields of each request body, as `temperature`; they win over ours.
    pub extra: Map<String, Value>,
    /// How many tokens the model takes, where the table of models does not know it.
    pub context_window: Option<u64>,
}

/// Whether answers come as they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Streaming {
    /// Piece by piece.
    #[default]
    On,
    /// As a whole.
    Off,
}

/// A key and an address.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// The key.
    pub key: Option<Secret>,
    /// How it is sent; `None` for what is usual.
    pub auth: Option<Auth>,
    /// Where the API is, up to and without the last part of the path; `None` for the provider's own.
    pub base_url: Option<String>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
}

/// How a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// `x-api-key: KEY`.
    ApiKey,
    /// `authorization: Bearer KEY`.
    Bearer,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            anthropic: Account::default(),
            openai: Account::default(),
            chat: Account::default(),
            anthropic_version: "2023-06-01".to_owned(),
            streaming: Streaming::On,
            retries: Retries::default(),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(300),
            max_output_tokens: 16_384,
            extra: Map::new(),
            context_window: None,
        }
    }
}

impl Settings {
    /// Reads keys and addresses from variables; the program says what they hold.
    #[must_use]
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| var(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let key = |name: &str| text(name).and_then(|text| Secret::new(&text));
        let mut settings = Self::default();
        settings.anthropic.base_url = text("ANTHROPIC_BASE_URL");
        settings.anthropic.key = key("ANTHROPIC_API_KEY");
        if settings.anthropic.key.is_none()
            && let Some(token) = key("ANTHROPIC_AUTH_TOKEN")
        {
            settings.anthropic.key = Some(token);
            settings.anthropic.auth = Some(Auth::Bearer);
        }
        if let Some(version) = text("ANTHROPIC_VERSION") {
            settings.anthropic_version = version;
        }
        settings.openai.base_url = text("OPENAI_BASE_URL");
        settings.openai.key = key("OPENAI_API_KEY");
        settings.chat.key = key("CHAT_API_KEY");
        settings
    }

    /// Every key, for those who have to leave them out of what they write.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        [&self.anthropic, &self.openai, &self.chat].into_iter().filter_map(|account| account.key.as_ref())
    }

    /// The account a model is asked with.
    pub(super) fn account(&self, name: &ModelName) -> &Account {
        match (name.api, &name.url) {
            (_, Some(_)) => &self.chat,
            (Api::Anthropic, None) => &self.anthropic,
            (Api::OpenAi | Api::Chat, None) => &self.openai,
        }
    }
}
