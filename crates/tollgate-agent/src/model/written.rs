//! A turn put into a provider's form, for those who have it in none: cassettes, and calls found in a text.

use serde_json::{Value, json};
use tollgate::wire::{ModelTurn, Provider, WireError, read_turn};

/// A turn in no provider's form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) calls: Vec<WrittenCall>,
    pub(crate) end: End,
}

/// A call, its arguments as text.
#[derive(Debug, Clone)]
pub(crate) struct WrittenCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: String,
}

/// Why it stopped, as far as every provider has a word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum End {
    /// Because it was done, or waits for its calls.
    #[default]
    Done,
    MaxTokens,
    Refusal,
    ContentFilter,
}

impl Written {
    /// The turn as this provider would have sent it.
    pub(crate) fn turn(&self, provider: Provider) -> Result<ModelTurn, WireError> {
        let body = match provider {
            Provider::Anthropic => self.anthropic(),
            Provider::OpenAiResponses => self.responses(),
            Provider::OpenAiChat => self.chat(),
        };
        read_turn(provider, body.to_string().as_bytes())
    }

    fn text(&self) -> Option<&str> {
        Some(&*self.text).filter(|text| !text.is_empty())
    }

    fn anthropic(&self) -> Value {
        let text = self.text().map(|text| json!({"type": "text", "text": text}));
        let calls = self.calls.iter().map(|call| {
            // What is no JSON stays a text, which no schema of arguments takes.
            let input = serde_json::from_str(&call.input).unwrap_or_else(|_| json!(call.input));
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
        });
        let stop = match self.end {
            End::Done if self.calls.is_empty() => "end_turn",
            End::Done => "tool_use",
            End::MaxTokens => "max_tokens",
            End::Refusal | End::ContentFilter => "refusal",
        };
        let content: Vec<Value> = text.into_iter().chain(calls).collect();
        json!({"role": "assistant", "content": content, "stop_reason": stop})
    }

    fn responses(&self) -> Value {
        let part = |text: &str| match self.end {
            End::Refusal => json!({"type": "refusal", "refusal": text}),
            _ => json!({"type": "output_text", "text": text, "annotations": []}),
        };
        let message = |text: &str| json!({"type": "message", "role": "assistant", "content": [part(text)]});
        let calls = self.calls.iter().map(|call| {
            json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.input})
        });
        let output: Vec<Value> = self.text().map(message).into_iter().chain(calls).collect();
        let (status, reason) = match self.end {
            End::Done | End::Refusal => ("completed", None),
            End::MaxTokens => ("incomplete", Some("max_output_tokens")),
            End::ContentFilter => ("incomplete", Some("content_filter")),
        };
        json!({"status": status, "incomplete_details": {"reason": reason}, "output": output})
    }

    fn chat(&self) -> Value {
        let mut message = json!({"role": "assistant", "content": self.text()});
        if self.end == End::Refusal {
            message = json!({"role": "assistant", "content": null, "refusal": self.text});
        }
        if !self.calls.is_empty() {
            let call = |call: &WrittenCall| {
                let function = json!({"name": call.name, "arguments": call.input});
                json!({"id": call.id, "type": "function", "function": function})
            };
            message["tool_calls"] = self.calls.iter().map(call).collect();
        }
        let finish = match self.end {
            End::Done | End::Refusal if self.calls.is_empty() => "stop",
            End::Done | End::Refusal => "tool_calls",
            End::MaxTokens => "length",
            End::ContentFilter => "content_filter",
        };
        json!({"choices": [{"message": message, "finish_reason": finish}]})
    }
}
