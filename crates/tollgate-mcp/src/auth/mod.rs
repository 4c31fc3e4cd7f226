//! Logging in at servers behind HTTP: OAuth with PKCE; tokens are kept for their person alone, go only to the server they
//! are for, and are renewed only where they came from.

mod challenge;
mod discover;
mod flow;
mod login;
mod store;

pub use flow::{Authorization, LoginFault};
pub use login::Login;
