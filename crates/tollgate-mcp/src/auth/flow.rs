//! The flow itself: register, send the person to the issuer, exchange what they come back with, renew.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use reqwest::{Client, Url, header};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize;
use serde_json::json;
use sha2::Digest as _;

use super::{
    discover::{Discovered, Issuer, body, secure},
    store::{Kept, Registered, now},
};
use crate::config::OAuth;

/// Why a login did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginFault {
    /// Somebody did not answer.
    #[error("it could not be reached: {0}")]
    Unreachable(String),
    /// There is nothing where it should be.
    #[error("nothing is found at {0}")]
    NotFound(String),
    /// Something is not as it must be.
    #[error("{0}")]
    Odd(String),
    /// The issuer said no.
    #[error("the issuer refused: {0}")]
    Refused(String),
    /// It could not be written down.
    #[error("the login could not be kept: {0}")]
    NotKept(String),
}

/// A login that waits for the person to come back.
pub struct Authorization {
    /// Where the person goes.
    pub url: String,
    pub(super) discovered: Discovered,
    pub(super) client: Registered,
    pub(super) redirect: String,
    pub(super) state: String,
    pub(super) verifier: String,
}

// What proves that the answer is ours is shown to nobody.
impl std::fmt::Debug for Authorization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authorization")
            .field("issuer", &self.discovered.issuer.issuer)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Registration {
    client_id: String,
    #[serde(default)]
    client_secret: Option<String>,
    #[serde(default)]
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    #[serde(default)]
    refresh_token: Option<String>,
    #[serde(default)]
    expires_in: Option<u64>,
    #[serde(default)]
    scope: Option<String>,
}

/// Begins: knows this program at the issuer, and makes the address the person goes to.
pub(super) async fn begin(
    client: &Client,
    discovered: Discovered,
    given: &OAuth,
    redirect: &str,
) -> Result<Authorization, LoginFault> {
    let registered = register(client, &discovered.issuer, given, redirect).await?;
    let (state, verifier) = (random()?, random()?);
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier.as_bytes()));
    let scopes = if given.scopes.is_empty() { &discovered.scopes } else { &given.scopes };
    let mut url = secure(&discovered.issuer.authorization_endpoint)?;
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &registered.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &discovered.resource);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
    }
    let redirect = redirect.to_owned();
    Ok(Authorization { url: url.into(), discovered, client: registered, redirect, state, verifier })
}

async fn register(
    client: &Client,
    issuer: &Issuer,
    given: &OAuth,
    redirect: &str,
) -> Result<Registered, LoginFault> {
    // A name that is an address is for issuers that look there; others are asked to register us.
    let fits = |id: &&String| !id.starts_with("https://") || issuer.client_id_metadata_document_supported;
    if let Some(id) = given.client_id.as_ref().filter(fits) {
        let basic = method(issuer) != "client_secret_post";
        return Ok(Registered { client_id: id.clone(), client_secret: given.client_secret.clone(), basic });
    }
    let Some(endpoint) = &issuer.registration_endpoint else {
        return Err(LoginFault::Odd(format!(
            "{} registers no clients by itself: give the server a `client_id`",
            issuer.issuer
        )));
    };
    let wanted = json!({
        "client_name": "Tollgate", "redirect_uris": [redirect], "response_types": ["code"],
        "grant_types": ["authorization_code", "refresh_token"], "token_endpoint_auth_method": method(issuer),
        "application_type": "native",
    });
    let sent = client.post(secure(endpoint)?).json(&wanted).send().await;
    let response = sent.map_err(|error| LoginFault::Unreachable(error.to_string()))?;
    let registered: Registration = accepted(response).await?;
    let method = registered.token_endpoint_auth_method.as_deref().unwrap_or_else(|| method(issuer));
    Ok(Registered {
        client_id: registered.client_id,
        client_secret: registered.client_secret,
        basic: method == "client_secret_basic",
    })
}

/// How this program shows who it is: not at all where the issuer allows that.
fn method(issuer: &Issuer) -> &'static str {
    let takes = |method: &str| match &issuer.token_endpoint_auth_methods_supported {
        Some(methods) => methods.iter().any(|known| known == method),
        None => false,
    };
    ["none", "client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|method| takes(method))
        .unwrap_or("none")
}

impl Authorization {
    /// Ends it with what the person came back with: the query of the address they were sent to.
    pub(super) async fn exchange(
        self,
        client: &Client,
        server: &str,
        query: &str,
    ) -> Result<Kept, LoginFault> {
        let back = Url::parse(&format!("http://localhost/?{query}"))
            .map_err(|_| LoginFault::Odd("the answer is no query".to_owned()))?;
        let part =
            |name: &str| back.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let issuer = &self.discovered.issuer;
        if part("state").as_deref() != Some(&self.state) {
            return Err(LoginFault::Odd("the answer belongs to another login".to_owned()));
        }
        // An issuer that names itself in its answers must be the one that was asked.
        match part("iss") {
            Some(iss) if iss != issuer.issuer => {
                return Err(LoginFault::Odd(format!(
                    "the answer is of {iss}, and {} was asked",
                    issuer.issuer
                )));
            }
            None if issuer.authorization_response_iss_parameter_supported => {
                return Err(LoginFault::Odd(format!(
                    "the answer does not say that it is of {}",
                    issuer.issuer
                )));
            }
            _ => {}
        }
        if let Some(error) = part("error") {
            let more = part("error_description").map(|more| format!(": {more}")).unwrap_or_default();
            return Err(LoginFault::Refused(format!("{error}{more}")));
        }
        let code = part("code").ok_or_else(|| LoginFault::Odd("the answer has no code".to_owned()))?;
        let form = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", &self.verifier),
            ("resource", &self.discovered.resource),
        ];
        let tokens = ask(client, &issuer.token_endpoint, &self.client, &form).await?;
        let kept = Kept {
            server: server.to_owned(),
            resource: self.discovered.resource.clone(),
            issuer: issuer.issuer.clone(),
            token_endpoint: issuer.token_endpoint.clone(),
            client: self.client.clone(),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            scope: None,
        };
        Ok(with(kept, tokens))
    }
}

/// Renews the tokens where they came from.
pub(super) async fn renew(client: &Client, kept: &Kept) -> Result<Kept, LoginFault> {
    let refresh = kept
        .refresh_token
        .as_deref()
        .ok_or_else(|| LoginFault::Refused("there is nothing to renew".to_owned()))?;
    let form = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("resource", &kept.resource)];
    let tokens = ask(client, &kept.token_endpoint, &kept.client, &form).await?;
    Ok(with(kept.clone(), tokens))
}

fn with(kept: Kept, tokens: Tokens) -> Kept {
    Kept {
        access_token: tokens.access_token,
        // An issuer that gives no new one means the old one.
        refresh_token: tokens.refresh_token.or(kept.refresh_token),
        expires_at: tokens.expires_in.map(|seconds| now() + seconds),
        scope: tokens.scope.or(kept.scope),
        ..kept
    }
}

async fn ask(
    client: &Client,
    endpoint: &str,
    own: &Registered,
    form: &[(&str, &str)],
) -> Result<Tokens, LoginFault> {
    let mut pairs: Vec<(&str, &str)> = form.to_vec();
    let mut request =
        client.post(secure(endpoint)?).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    match &own.client_secret {
        Some(secret) if own.basic => request = request.basic_auth(&own.client_id, Some(secret)),
        Some(secret) => pairs.extend([("client_id", &*own.client_id), ("client_secret", secret)]),
        None => pairs.push(("client_id", &own.client_id)),
    }
    let request = request.header(header::ACCEPT, "application/json").body(encoded(&pairs));
    let response = request.send().await.map_err(|error| LoginFault::Unreachable(error.to_string()))?;
    accepted(response).await
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    url.query().unwrap_or_default().to_owned()
}

async fn accepted<T: serde::de::DeserializeOwned>(response: reqwest::Response) -> Result<T, LoginFault> {
    let status = response.status();
    if status.is_success() {
        return body(response).await;
    }
    let said: Option<serde_json::Value> = body(response).await.ok();
    let word =
        |key: &str| said.as_ref()?.get(key)?.as_str().map(|word| word.chars().take(200).collect::<String>());
    let told: Vec<_> = [word("error"), word("error_description")].into_iter().flatten().collect();
    Err(LoginFault::Refused(if told.is_empty() { status.to_string() } else { told.join(": ") }))
}

/// 32 bytes nobody can guess, as text.
fn random() -> Result<String, LoginFault> {
    let mut bytes = [0; 32];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| LoginFault::Odd("the machine has no random numbers".to_owned()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
