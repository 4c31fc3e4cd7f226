//! The line to one model: where it is, with which key, and the HTTP client once there is one.

use std::sync::OnceLock;

use bytes::Bytes;
use reqwest::{RequestBuilder, Url, header::HeaderValue};

use super::{Api, Auth, ModelName, Secret, Settings, fault::Asked, http};
use crate::model::{ErrorKind, ModelError};

/// What every request to one model shares.
pub(super) struct Line {
    pub(super) name: ModelName,
    pub(super) settings: Settings,
    /// The name as people type it.
    pub(super) shown: String,
    pub(super) url: Result<Url, ModelError>,
    host: String,
    client: OnceLock<Result<reqwest::Client, ModelError>>,
}

impl Line {
    pub(super) fn new(name: ModelName, settings: Settings) -> Self {
        let url = http::endpoint(&name, settings.account(&name));
        let host = url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        Self { shown: name.to_string(), name, settings, url, host, client: OnceLock::new() }
    }

    /// Who is asked, for the words of an error.
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked {
            model: &self.name.model,
            host: &self.host,
            key_variable: match (self.name.api, &self.name.url) {
                (_, Some(_)) => "CHAT_API_KEY",
                (Api::Anthropic, None) => "ANTHROPIC_API_KEY",
                (Api::OpenAi | Api::Chat, None) => "OPENAI_API_KEY",
            },
            key: self.key(),
        }
    }

    /// True for `OpenAI`'s own servers.
    pub(super) fn is_openai(&self) -> bool {
        self.url.as_ref().is_ok_and(|url| url.host_str() == Some("api.openai.com"))
    }

    fn key(&self) -> Option<&Secret> {
        self.settings.account(&self.name).key.as_ref()
    }

    /// A request that is ready to be sent.
    pub(super) fn request(&self, body: Bytes) -> Result<RequestBuilder, ModelError> {
        let url = self.url.clone()?;
        // An address of one's own may want no key: whether it does, it says itself.
        if self.key().is_none() && self.name.url.is_none() {
            return Err(self.asked().no_key());
        }
        let client = self.client.get_or_init(|| http::client(&url, &self.settings)).clone()?;
        let mut request =
            client.post(url).header("content-type", "application/json").header("accept", ACCEPT).body(body);
        if self.name.api == Api::Anthropic {
            request = request.header("anthropic-version", &self.settings.anthropic_version);
        }
        let account = self.settings.account(&self.name);
        for (name, value) in &account.headers {
            request = request.header(name, value);
        }
        match self.key() {
            Some(key) => self.signed(request, key),
            None => Ok(request),
        }
    }

    fn signed(&self, request: RequestBuilder, key: &Secret) -> Result<RequestBuilder, ModelError> {
        let (name, text) = match http::auth(&self.name, self.settings.account(&self.name)) {
            Auth::ApiKey => ("x-api-key", key.reveal().to_owned()),
            Auth::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
        };
        let Ok(mut value) = HeaderValue::from_str(&text) else {
            let variable = self.asked().key_variable;
            return Err(ModelError::new(ErrorKind::WrongKey, "the key holds characters no key has")
                .with_hint(format!("set {variable} again, without quotes or line breaks in it.")));
        };
        value.set_sensitive(true);
        Ok(request.header(name, value))
    }
}

const ACCEPT: &str = "text/event-stream, application/json";
