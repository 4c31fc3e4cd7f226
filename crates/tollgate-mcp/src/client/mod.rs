//! Talking to a server: one connection, its two transports, both generations of the protocol.
//!
//! JSON-RPC is spoken here directly, on raw JSON: one odd tool of a list costs no other, hashes are over what the server
//! really said, every message is bounded before it is parsed, and nothing stands between a call and the pipe.

mod message;
mod fault;
mod lines;
mod tail;
mod pipe;
mod session;
mod request;
mod inbound;
mod stdio;
mod http;
mod sse;
mod headers;
mod handshake;

pub use fault::Fault;
pub(crate) use handshake::{Era, Reach, connect};
pub(crate) use headers::{fault as header_fault, of_call as headers_of_call};
pub(crate) use http::client as http_client;
pub(crate) use inbound::Host;
pub use inbound::{Asked, Elicitation, ElicitationAnswer, Elicitor, NoPerson, NoSampler, Sampler};
pub(crate) use message::Fields;
pub(crate) use request::{Progressed, Request};
pub(crate) use session::{Connection, Session};
pub(crate) use tail::Tail;
