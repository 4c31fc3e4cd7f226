//! Who issues the tokens of a server, and how: from what the server says of itself to what the issuer says of itself.

use futures_util::StreamExt as _;
use reqwest::{Client, Url};
use serde::{Deserialize, de::DeserializeOwned};

use super::{challenge::Challenge, flow::LoginFault};
use crate::config::shown_address;

/// A document is no larger.
const MOST: usize = 256 << 10;

/// What is known of a login before it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Discovered {
    pub(super) issuer: Issuer,
    /// What tokens are asked for.
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// What an issuer says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the document")]
pub(super) struct Issuer {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    #[serde(default)]
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the document")]
struct Resource {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Option<Vec<String>>,
}

/// Finds out who issues tokens for this address.
pub(super) async fn discover(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
) -> Result<Discovered, LoginFault> {
    let resource = resource(client, server, challenge).await?;
    let asked = challenge.scope.as_deref().map(|scope| scope.split_whitespace().map(str::to_owned).collect());
    match resource {
        Some(Resource { resource, authorization_servers, scopes_supported }) => {
            if !covers(&resource, server) {
                return Err(LoginFault::Odd(format!(
                    "the server says it is {resource}, and was reached at {server}"
                )));
            }
            let issuer = authorization_servers
                .first()
                .ok_or_else(|| LoginFault::Odd("the server names nobody who issues tokens".to_owned()))?;
            let issuer = issuer_of(client, &secure(issuer)?, Called::Exactly(issuer)).await?;
            let scopes = asked.or(scopes_supported).unwrap_or_default();
            Ok(Discovered { issuer, resource, scopes })
        }
        // Servers before 2025-06-18 are their own issuers.
        None => {
            let origin = server.origin().ascii_serialization();
            let issuer = match issuer_of(client, &secure(&origin)?, Called::Within(&origin)).await {
                Ok(issuer) => issuer,
                Err(LoginFault::NotFound(_)) => Issuer::usual(&origin),
                Err(fault) => return Err(fault),
            };
            let scopes = asked.or_else(|| issuer.scopes_supported.clone()).unwrap_or_default();
            Ok(Discovered { issuer, resource: bare(server), scopes })
        }
    }
}

impl Issuer {
    /// Where an issuer has things that does not say where.
    fn usual(origin: &str) -> Self {
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: format!("{origin}/authorize"),
            token_endpoint: format!("{origin}/token"),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: None,
            scopes_supported: None,
            authorization_response_iss_parameter_supported: false,
            client_id_metadata_document_supported: false,
        }
    }
}

async fn resource(
    client: &Client,
    server: &Url,
    challenge: &Challenge,
) -> Result<Option<Resource>, LoginFault> {
    if let Some(named) = &challenge.resource_metadata {
        let url = secure(named)?;
        return get(client, &url).await.map(Some);
    }
    let path = server.path().trim_end_matches('/');
    let places = [
        format!("/.well-known/oauth-protected-resource{path}"),
        "/.well-known/oauth-protected-resource".to_owned(),
    ];
    for place in places {
        match get(client, &at(server, &place)).await {
            Ok(resource) => return Ok(Some(resource)),
            Err(LoginFault::NotFound(_)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(None)
}

/// What an issuer must call itself.
#[derive(Clone, Copy)]
enum Called<'a> {
    /// By the very name the server gave.
    Exactly(&'a str),
    /// Anything at this origin: nobody named it, it was found there.
    Within(&'a str),
}

impl Called<'_> {
    fn fits(self, issuer: &str) -> bool {
        match self {
            Self::Exactly(named) => issuer.trim_end_matches('/') == named.trim_end_matches('/'),
            Self::Within(origin) => {
                Url::parse(issuer).is_ok_and(|url| url.origin().ascii_serialization() == origin)
            }
        }
    }
}

/// What the issuer says of itself, in one of the places where issuers do. It must call itself what it was called.
async fn issuer_of(client: &Client, url: &Url, called: Called<'_>) -> Result<Issuer, LoginFault> {
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{path}/.well-known/openid-configuration"));
    }
    let mut last = LoginFault::NotFound(url.to_string());
    for place in places {
        match get::<Issuer>(client, &at(url, &place)).await {
            Ok(issuer) if called.fits(&issuer.issuer) => return checked(issuer),
            Ok(issuer) => {
                return Err(LoginFault::Odd(format!(
                    "{} calls itself {}",
                    shown_address(url.as_str()),
                    issuer.issuer
                )));
            }
            Err(fault) => last = fault,
        }
    }
    Err(last)
}

fn checked(issuer: Issuer) -> Result<Issuer, LoginFault> {
    let methods = issuer.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if !methods.iter().any(|method| method == "S256") {
        return Err(LoginFault::Odd(format!("{} does not say that it takes PKCE with S256", issuer.issuer)));
    }
    for endpoint in [&issuer.authorization_endpoint, &issuer.token_endpoint]
        .into_iter()
        .chain(&issuer.registration_endpoint)
    {
        secure(endpoint)?;
    }
    Ok(issuer)
}

/// An address that is safe to send a secret to: HTTPS, or this machine.
pub(super) fn secure(text: &str) -> Result<Url, LoginFault> {
    let url = Url::parse(text).map_err(|_| LoginFault::Odd(format!("{text:?} is no address")))?;
    let here = url.host_str().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        _ => Err(LoginFault::Odd(format!("{text:?} is not behind HTTPS"))),
    }
}

/// True where the server's word for itself covers the address it was reached at.
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let (own, path) = (resource.path().trim_end_matches('/'), server.path().trim_end_matches('/'));
    resource.origin() == server.origin() && (path == own || path.starts_with(&format!("{own}/")))
}

/// The address without what does not name the server.
fn bare(server: &Url) -> String {
    let mut bare = server.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    bare.to_string().trim_end_matches('/').to_owned()
}

fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    url.set_query(None);
    url.set_fragment(None);
    url
}

async fn get<T: DeserializeOwned>(client: &Client, url: &Url) -> Result<T, LoginFault> {
    let request = client.get(url.clone()).header("accept", "application/json");
    let response = request.send().await.map_err(|error| LoginFault::Unreachable(error.to_string()))?;
    if !response.status().is_success() {
        return Err(LoginFault::NotFound(url.to_string()));
    }
    body(response).await
}

/// A bounded JSON answer.
pub(super) async fn body<T: DeserializeOwned>(response: reqwest::Response) -> Result<T, LoginFault> {
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| LoginFault::Unreachable(error.to_string()))?);
        if bytes.len() > MOST {
            return Err(LoginFault::Odd("an answer is larger than it may be".to_owned()));
        }
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| LoginFault::Odd(format!("an answer cannot be read: {error}")))
}
