//! The one place that connects: an HTTP client, made when it is first needed.

use std::sync::Arc;

use reqwest::{Url, redirect};
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use super::{Account, Api, Auth, ModelName, Settings};
use crate::model::{ErrorKind, ModelError};

/// The address a model's requests go to.
pub(super) fn endpoint(name: &ModelName, account: &Account) -> Result<Url, ModelError> {
    let (usual, path) = match name.api {
        Api::Anthropic => ("https://api.anthropic.com", "v1/messages"),
        Api::OpenAi => ("https://api.openai.com/v1", "responses"),
        Api::Chat => ("https://api.openai.com/v1", "chat/completions"),
    };
    let base = name.url.as_deref().or(account.base_url.as_deref()).unwrap_or(usual);
    let bad =
        |why: &str| ModelError::new(ErrorKind::BadUrl, format!("`{base}` is no address of an API: {why}"));
    let mut url = Url::parse(base).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(bad("it does not begin with http:// or https:// and a host"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it has a query or a fragment"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it has a user or a password in it"));
    }
    let mut base = url.path().trim_end_matches('/').to_owned();
    // People paste any part of the address: with the version, without it, or all of it.
    if let Some(shorter) = base.strip_suffix(&format!("/{path}")) {
        base = shorter.to_owned();
    } else if name.api == Api::Anthropic {
        base = base.strip_suffix("/v1").unwrap_or(&base).to_owned();
    }
    url.set_path(&format!("{base}/{path}"));
    Ok(url)
}

/// How the account's key is sent.
pub(super) fn auth(name: &ModelName, account: &Account) -> Auth {
    account.auth.unwrap_or(if name.api == Api::Anthropic { Auth::ApiKey } else { Auth::Bearer })
}

/// A client for this address. Certificates are read for `https` only: that takes longer than all else.
pub(super) fn client(url: &Url, settings: &Settings) -> Result<reqwest::Client, ModelError> {
    let fault = |error: &dyn std::error::Error| {
        ModelError::new(ErrorKind::Tls, format!("the HTTP client cannot be made: {error}"))
    };
    // Who has chosen another provider of cryptography before us has chosen for us too.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = ring::default_provider().install_default();
    }
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("tollgate/", env!("CARGO_PKG_VERSION")))
        // A key follows no redirect, and a POST that becomes a GET helps nobody.
        .redirect(redirect::Policy::none())
        .connect_timeout(settings.connect_timeout)
        .read_timeout(settings.idle_timeout);
    if url.scheme() == "http" {
        let plain = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| fault(&error))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        builder = builder.tls_backend_preconfigured(plain);
    }
    builder.build().map_err(|error| fault(&error))
}
