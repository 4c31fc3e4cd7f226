//! The body of a request: what was asked, each part written once, the stable ones first.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{
    Value, json,
    value::{RawValue, to_raw_value},
};
use tollgate::wire::history_json;

use super::{Api, Settings, Streaming, marks};
use crate::model::{Caching, ErrorKind, ModelError, Request, ToolChoice};

/// What a body is made from besides the question.
pub(super) struct Frame<'a> {
    pub(super) api: Api,
    pub(super) model: &'a str,
    /// The server is `OpenAI`'s own, which takes more than compatible ones do.
    pub(super) is_openai: bool,
    /// The model thinks, and its thoughts come back encrypted.
    pub(super) thinks: bool,
    /// What the model writes at most, where that is known.
    pub(super) max_output: Option<u32>,
    pub(super) settings: &'a Settings,
}

impl Frame<'_> {
    /// The JSON text of the request.
    pub(super) fn write(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        let tools = tools_of(request)?;
        let written = match self.api {
            Api::Anthropic => self.anthropic(request, tools),
            Api::OpenAi => self.responses(request, tools),
            Api::Chat => self.chat(request, tools),
        };
        written.map_err(|error| {
            ModelError::new(ErrorKind::Rejected, format!("the request cannot be written: {error}"))
        })
    }

    /// The most tokens of the answer, where anybody says; never more than the model writes.
    fn limit(&self, request: &Request) -> Option<u32> {
        let usual = self.max_output.map(|most| most.min(self.settings.max_output_tokens));
        match (request.max_output_tokens, self.max_output) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (Some(asked), None) => Some(asked),
            (None, _) => usual.filter(|_| self.api == Api::Anthropic),
        }
    }

    fn stream(&self) -> bool {
        self.settings.streaming == Streaming::On
    }

    fn anthropic(&self, request: &Request, tools: Option<&RawValue>) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Body<'a> {
            model: &'a str,
            max_tokens: u32,
            #[serde(skip_serializing_if = "Option::is_none")]
            tools: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            system: Option<Value>,
            messages: Box<RawValue>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            stream: bool,
        }
        let marks = request.caching == Caching::Marked;
        let system = Some(&*request.system).filter(|text| !text.trim().is_empty());
        let system = system.map(|text| {
            let mut block = json!({"type": "text", "text": text});
            if marks {
                block["cache_control"] = marks::ephemeral();
            }
            json!([block])
        });
        let tool_choice = tools.and(match request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some(json!({"type": "any"})),
            ToolChoice::None => Some(json!({"type": "none"})),
        });
        let messages = if marks {
            history_json(marks::marked(&request.messages).iter().map(|message| &**message))?
        } else {
            history_json(&*request.messages)?
        };
        self.extended(&Body {
            model: self.model,
            max_tokens: self.limit(request).unwrap_or(self.settings.max_output_tokens),
            tools,
            tool_choice,
            system,
            messages,
            stream: self.stream(),
        })
    }

    fn responses(&self, request: &Request, tools: Option<&RawValue>) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Body<'a> {
            model: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            instructions: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            tools: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<&'static str>,
            input: Box<RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            max_output_tokens: Option<u32>,
            store: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            include: Option<[&'static str; 1]>,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompt_cache_key: Option<&'a str>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            stream: bool,
        }
        self.extended(&Body {
            model: self.model,
            instructions: &request.system,
            tools,
            tool_choice: tools.and(choice(request.tool_choice)),
            input: history_json(&*request.messages)?,
            max_output_tokens: self.limit(request),
            // The history is ours: nothing is kept there, so thoughts have to come back with us.
            store: false,
            include: self.thinks.then_some(["reasoning.encrypted_content"]),
            prompt_cache_key: cache_key(request),
            stream: self.stream(),
        })
    }

    fn chat(&self, request: &Request, tools: Option<&RawValue>) -> serde_json::Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Body<'a> {
            model: &'a str,
            messages: Box<RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tools: Option<&'a RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tool_choice: Option<&'static str>,
            // `OpenAI` has renamed it; compatible servers know the old name.
            #[serde(skip_serializing_if = "Option::is_none")]
            max_tokens: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            max_completion_tokens: Option<u32>,
            #[serde(skip_serializing_if = "Option::is_none")]
            prompt_cache_key: Option<&'a str>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            stream: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            stream_options: Option<StreamOptions>,
        }
        let system = json!({"role": "system", "content": request.system});
        let system = Some(&system).filter(|_| !request.system.trim().is_empty());
        let limit = self.limit(request);
        self.extended(&Body {
            model: self.model,
            messages: history_json(system.into_iter().chain(&*request.messages))?,
            tools,
            tool_choice: tools.and(choice(request.tool_choice)),
            max_tokens: limit.filter(|_| !self.is_openai),
            max_completion_tokens: limit.filter(|_| self.is_openai),
            prompt_cache_key: cache_key(request).filter(|_| self.is_openai),
            stream: self.stream(),
            stream_options: self.stream().then_some(StreamOptions { include_usage: true }),
        })
    }

    /// The body as text, with the fields of the settings in place of ours.
    fn extended(&self, body: &impl Serialize) -> serde_json::Result<Vec<u8>> {
        if self.settings.extra.is_empty() {
            return serde_json::to_vec(body);
        }
        // What is ours stays the bytes it is, tools above all.
        let text = serde_json::to_string(body)?;
        let mut fields: BTreeMap<&str, Box<RawValue>> = serde_json::from_str(&text)?;
        for (key, value) in &self.settings.extra {
            fields.insert(key, to_raw_value(value)?);
        }
        serde_json::to_vec(&fields)
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

fn tools_of(request: &Request) -> Result<Option<&RawValue>, ModelError> {
    if !request.has_tools() {
        return Ok(None);
    }
    serde_json::from_str(&request.tools).map(Some).map_err(|error| {
        ModelError::new(ErrorKind::Rejected, format!("the list of tools is not JSON: {error}"))
    })
}

fn choice(choice: ToolChoice) -> Option<&'static str> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("required"),
        ToolChoice::None => Some("none"),
    }
}

/// The longest key the API takes.
const LONGEST_KEY: usize = 64;

fn cache_key(request: &Request) -> Option<&str> {
    let key = request.conversation.as_deref().filter(|_| request.caching == Caching::Marked)?;
    (!key.is_empty() && key.len() <= LONGEST_KEY).then_some(key)
}
