//! Clients of the three APIs: a question becomes one HTTP request, its answer a turn.
//!
//! | name | speaks | key | address |
//! |---|---|---|---|
//! | `anthropic:MODEL` | Messages | `ANTHROPIC_API_KEY`, or `ANTHROPIC_AUTH_TOKEN` as a bearer | `ANTHROPIC_BASE_URL` |
//! | `openai:MODEL` | Responses | `OPENAI_API_KEY` | `OPENAI_BASE_URL` |
//! | `chat:MODEL` | chat completions | `OPENAI_API_KEY` | `OPENAI_BASE_URL` |
//! | any of them with `@URL` | the same, at that address | `CHAT_API_KEY`, or none | `URL` |
//!
//! `chat:qwen3@http://localhost:11434/v1` is Ollama, `…:8000/v1` vLLM, `…:8080/v1` llama.cpp. An address in the name
//! may come from anybody's config file, so a provider's own key is never sent there; only `CHAT_API_KEY` is.
//!
//! Nothing is connected, and no certificate read, before the first request.

mod name;
mod secret;
mod settings;
mod body;
mod marks;
mod http;
mod fault;
mod exchange;
mod line;
mod client;

pub use client::Client;
pub use name::{Api, ModelName};
pub use secret::Secret;
pub use settings::{Account, Auth, Settings, Streaming};
