//! A model behind one of the three APIs.

use std::{fmt, sync::Arc};

use futures_util::stream;
use tollgate::wire::Provider;

use super::{Api, ModelName, Settings, body::Frame, exchange::Exchange, line::Line};
use crate::{
    model::{Model, ModelError, Reply, Request, ToolSearch},
    price::Models,
};

/// A model that is asked over HTTP. Nothing is connected before the first request.
#[derive(Clone)]
pub struct Client {
    line: Arc<Line>,
    window: Option<u64>,
    thinks: bool,
    max_output: Option<u32>,
}

impl Client {
    /// A client for this model. An address that is none is told at once; a key that is missing when it is asked.
    pub fn new(name: ModelName, settings: Settings, models: &Models) -> Result<Self, ModelError> {
        let known = models.find(&name.to_string());
        let window = settings.context_window.or(known.and_then(|known| known.window));
        // A model nobody has heard of is a new one, and new ones think.
        let thinks = known.is_none_or(|known| known.thinks);
        let max_output = known.and_then(|known| known.max_output);
        let line = Line::new(name, settings);
        line.url.clone()?;
        Ok(Self { line: Arc::new(line), window, thinks, max_output })
    }

    /// Where its requests go.
    pub fn endpoint(&self) -> &str {
        self.line.url.as_ref().map(reqwest::Url::as_str).unwrap_or_default()
    }
}

impl Model for Client {
    fn provider(&self) -> Provider {
        self.line.name.api.provider()
    }

    fn name(&self) -> &str {
        &self.line.shown
    }

    fn context_window(&self) -> Option<u64> {
        self.window
    }

    fn tool_search(&self) -> ToolSearch {
        match self.line.name.api {
            Api::Anthropic | Api::OpenAi => ToolSearch::Native,
            Api::Chat => ToolSearch::Ours,
        }
    }

    fn ask(&self, request: Request) -> Reply {
        let frame = Frame {
            api: self.line.name.api,
            model: &self.line.name.model,
            is_openai: self.line.is_openai(),
            thinks: self.thinks,
            max_output: self.max_output,
            settings: &self.line.settings,
        };
        // The body is text from here on: whoever asked has its history for itself again.
        let body = match frame.write(&request) {
            Ok(body) => body,
            Err(error) => return Reply::broken(error),
        };
        let exchange = Exchange::new(self.line.clone(), body, request.cancel);
        Reply::new(stream::unfold(exchange, async |mut exchange| {
            let step = exchange.next().await?;
            Some((step, exchange))
        }))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("name", &self.line.shown).finish_non_exhaustive()
    }
}
