//! The server side of MCP, driven from outside: over pipes and over HTTP, in both generations, by scripted and by real
//! clients.

mod world;
mod fixtures;
mod pipes;
mod web;
mod asked;
mod many;
mod bad_input;
mod doors;
mod npm;
mod conformance;
mod real_clients;
