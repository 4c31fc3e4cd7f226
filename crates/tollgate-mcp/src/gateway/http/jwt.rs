//! Tokens that an issuer signed: checked against its keys, for this server, now. No key is ever fetched.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::auth::Denied;
use crate::gateway::Identity;

/// An issuer of tokens and its keys, as they were given.
#[derive(Debug)]
pub struct Issuer {
    name: String,
    audience: String,
    keys: Vec<Key>,
    route_claim: Option<String>,
}

/// Why an issuer's keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadKeys {
    /// The text is no list of keys.
    #[error("this is no JWK set: {0}")]
    Json(#[from] serde_json::Error),
    /// There is no key in it that could be used.
    #[error("there is no RSA, P-256 or Ed25519 key for signatures in it")]
    None,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// How far clocks may differ, in seconds.
const LEEWAY: u64 = 60;

impl Issuer {
    /// Tokens of `issuer` for `audience`, signed with one of the keys of a JWK set.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>, jwks: &str) -> Result<Self, BadKeys> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let Set { keys } = serde_json::from_str(jwks)?;
        let keys: Vec<Key> = keys.iter().filter_map(Key::read).collect();
        if keys.is_empty() {
            return Err(BadKeys::None);
        }
        Ok(Self { name: issuer.into(), audience: audience.into(), keys, route_claim: None })
    }

    /// The same, and this claim of a token names the route its caller is on.
    #[must_use]
    pub fn with_route_claim(mut self, claim: impl Into<String>) -> Self {
        self.route_claim = Some(claim.into());
        self
    }

    /// Who tokens are for: the address of this server, as the issuer knows it.
    pub(super) fn audience(&self) -> &str {
        &self.audience
    }

    /// The issuer.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whom a token stands for.
    pub(super) fn verify(&self, token: &str, now: u64) -> Result<Identity, Denied> {
        const MALFORMED: Denied = Denied::Wrong("the token is no signed JWT");
        let (signed, signature) = token.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, claims) = signed.split_once('.').ok_or(MALFORMED)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| MALFORMED)?;
        let header: Header = decoded(header).ok_or(MALFORMED)?;
        if header.crit.is_some() {
            return Err(Denied::Wrong("the token asks for extensions that are not known here"));
        }
        let fits = |key: &&Key| header.kid.is_none() || key.id.is_none() || key.id == header.kid;
        // The key says which algorithm is right; a token that names another is not believed.
        let mut keys = self.keys.iter().filter(fits).filter(|key| key.material.algorithm() == header.alg);
        if !keys.any(|key| key.material.verifies(signed.as_bytes(), &signature)) {
            return Err(Denied::Wrong("the token's signature is of no key that is known here"));
        }
        let claims: Value = decoded(claims).ok_or(MALFORMED)?;
        self.accept(&claims, now)
    }

    fn accept(&self, claims: &Value, now: u64) -> Result<Identity, Denied> {
        let text = |claim: &str| claims.get(claim).and_then(Value::as_str);
        let time = |claim: &str| claims.get(claim).and_then(Value::as_f64);
        if text("iss") != Some(&self.name) {
            return Err(Denied::Wrong("the token is of another issuer"));
        }
        let for_us = match claims.get("aud") {
            Some(Value::String(audience)) => *audience == self.audience,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(&self.audience)),
            _ => false,
        };
        if !for_us {
            return Err(Denied::Wrong("the token is for somebody else"));
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
        let (now, leeway) = (now as f64, LEEWAY as f64);
        if time("exp").is_none_or(|end| end.is_nan() || now >= end + leeway) {
            return Err(Denied::Wrong("the token's time is over"));
        }
        if claims.get("nbf").is_some()
            && time("nbf").is_none_or(|begin| begin.is_nan() || begin > now + leeway)
        {
            return Err(Denied::Wrong("the token's time has not come"));
        }
        let caller = text("sub").filter(|caller| !caller.is_empty() && caller.len() <= 256);
        let caller = caller.ok_or(Denied::Wrong("the token names no caller"))?;
        let route = match &self.route_claim {
            None => None,
            // Who should be on a route and names none sees nothing: a route nobody defined exposes nothing.
            Some(claim) => Some(text(claim).unwrap_or("none")),
        };
        Ok(Identity::new(caller, route))
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
}

fn decoded<T: for<'a> Deserialize<'a>>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

impl Key {
    /// A key of a JWK set; `None` for one that is for something else, or of a kind that is not used here.
    fn read(key: &Value) -> Option<Self> {
        let text = |name: &str| key.get(name).and_then(Value::as_str);
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?).ok();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa { n: bytes("n")?, e: bytes("e")? },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                (x.len() == 32 && y.len() == 32).then(|| Material::P256([vec![4], x, y].concat()))?
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x")?),
            _ => return None,
        };
        if text("alg").is_some_and(|algorithm| algorithm != material.algorithm()) {
            return None;
        }
        Some(Self { id: text("kid").map(str::to_owned), material })
    }
}

impl Material {
    fn algorithm(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
                .is_ok(),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature).is_ok()
            }
        }
    }
}

#[cfg(test)]
#[path = "jwt_tests.rs"]
mod tests;
