//! Logging in at servers behind HTTP: tokens that are kept, bound to who issued them, and renewed.

use crate::client::Fault;

/// The login at one server. Without tokens it sends none.
#[derive(Debug, Default)]
pub struct Login {}

impl Login {
    /// The login at this server, kept in the folder where there is one.
    pub(crate) fn at(_config: &crate::config::ServerConfig, _folder: Option<&std::path::Path>) -> Self {
        Self {}
    }

    /// The token to send; after a challenge, another one than the one that was sent.
    pub(crate) async fn token(
        &self,
        _client: &reqwest::Client,
        _challenged: Option<(&str, Option<&str>)>,
    ) -> Result<Option<String>, Fault> {
        Ok(None)
    }
}
