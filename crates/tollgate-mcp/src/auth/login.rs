//! The login at one server: which token goes along, and when it is renewed.

use std::path::{Path, PathBuf};

use reqwest::Url;
use tokio::sync::Mutex;

use super::{
    challenge::Challenge,
    discover::discover,
    flow::{self, Authorization, LoginFault},
    store::{self, Kept},
};
use crate::{
    client::{Fault, http_client},
    config::{Endpoint, OAuth, ServerConfig},
};

/// The login at one server. Without one, nothing goes along.
#[derive(Debug)]
pub struct Login {
    server: Option<String>,
    given: OAuth,
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    read: bool,
    kept: Option<Kept>,
    /// What the server said last of the login it wants.
    challenge: Option<Challenge>,
}

impl Login {
    /// The login at this server, kept in the folder where there is one.
    pub(crate) fn at(config: &ServerConfig, folder: Option<&Path>) -> Self {
        let (server, given) = match &config.endpoint {
            Endpoint::Http { url, oauth, headers } => {
                // A header of the person's own goes before any login of ours.
                let own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
                ((!own).then(|| url.clone()), oauth.clone().unwrap_or_default())
            }
            Endpoint::Stdio { .. } => (None, OAuth::default()),
        };
        let file = folder.map(|folder| store::file(folder, &config.name));
        Self { server, given, file, state: Mutex::default() }
    }

    /// The token to send; after a challenge, another one than the one that was sent.
    pub(crate) async fn token(
        &self,
        client: &reqwest::Client,
        challenged: Option<(&str, Option<&str>)>,
    ) -> Result<Option<String>, Fault> {
        let Some(server) = &self.server else { return Ok(None) };
        let mut state = self.state.lock().await;
        if !std::mem::replace(&mut state.read, true) {
            state.kept = self.file.as_deref().and_then(|file| store::read(file, server));
        }
        if let Some((challenge, _)) = challenged {
            state.challenge = Some(Challenge::read(challenge));
        }
        let Some(kept) = &state.kept else { return Ok(None) };
        let refused = challenged.is_some_and(|(_, sent)| sent == Some(&*kept.access_token));
        if !refused && kept.is_fresh() {
            return Ok(Some(kept.access_token.clone()));
        }
        match flow::renew(client, kept).await {
            Ok(renewed) => {
                if let Some(file) = &self.file {
                    // Tokens that are used once and then renewed must not be lost.
                    store::write(file, &renewed)
                        .map_err(|error| Fault::NotSent(format!("the login could not be kept: {error}")))?;
                }
                let token = renewed.access_token.clone();
                state.kept = Some(renewed);
                Ok(Some(token))
            }
            Err(LoginFault::Unreachable(why)) => Err(Fault::NotSent(why)),
            // What is no longer good is not sent again.
            Err(_) if refused => Ok(None),
            Err(_) => Ok(Some(kept.access_token.clone())),
        }
    }

    /// Begins a login: the person goes to the address it names and comes back to `redirect`.
    pub async fn begin(&self, redirect: &str) -> Result<Authorization, LoginFault> {
        let server = self
            .server
            .as_deref()
            .ok_or_else(|| LoginFault::Odd("this server takes no login of ours".to_owned()))?;
        let url = Url::parse(server).map_err(|_| LoginFault::Odd(format!("{server:?} is no address")))?;
        let client = http_client().map_err(|error| LoginFault::Unreachable(error.to_string()))?;
        let challenge = self.state.lock().await.challenge.clone().unwrap_or_default();
        let discovered = discover(&client, &url, &challenge).await?;
        flow::begin(&client, discovered, &self.given, redirect).await
    }

    /// Ends it with the query of the address the person came back to, and keeps it.
    pub async fn finish(&self, authorization: Authorization, query: &str) -> Result<(), LoginFault> {
        let server = self.server.as_deref().unwrap_or_default();
        let client = http_client().map_err(|error| LoginFault::Unreachable(error.to_string()))?;
        let kept = authorization.exchange(&client, server, query).await?;
        if let Some(file) = &self.file {
            store::write(file, &kept).map_err(|error| LoginFault::NotKept(error.to_string()))?;
        }
        let mut state = self.state.lock().await;
        state.read = true;
        state.kept = Some(kept);
        Ok(())
    }
}
