//! Who a request comes from: a bearer token of a list, or one that an issuer signed.

use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConditionallySelectable as _, ConstantTimeEq as _};

use super::jwt::Issuer;
use crate::gateway::Identity;

/// How callers prove who they are.
#[derive(Debug)]
pub enum Auth {
    /// They do not: whoever reaches the address is this one.
    Open(Identity),
    /// By a token of this list.
    Tokens(Tokens),
    /// By a token that this issuer signed for this server.
    Issued(Box<Issuer>),
}

/// Tokens and whom each stands for. Only their hashes are kept.
#[derive(Debug, Default)]
pub struct Tokens(Vec<([u8; 32], Identity)>);

/// Why a list of tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTokens {
    /// A line is not as it should be.
    #[error("line {line}: {what}")]
    Line {
        /// Which, counted from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is none in it.
    #[error("there is no token in it")]
    Empty,
}

/// Short tokens can be guessed.
const SHORTEST: usize = 16;

/// No token is longer.
const LONGEST: usize = 16 << 10;

/// Why a request is turned away.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// It brings no token.
    Missing,
    /// Its token is none of ours, or no longer.
    Wrong(&'static str),
}

impl Auth {
    pub(super) fn identify(&self, headers: &HeaderMap) -> Result<Identity, Denied> {
        match self {
            Self::Open(identity) => Ok(identity.clone()),
            Self::Tokens(tokens) => {
                tokens.find(bearer(headers)?).ok_or(Denied::Wrong("the token is not known"))
            }
            Self::Issued(issuer) => issuer.verify(bearer(headers)?, now()),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs()
}

/// The one token a request brings. Tokens in the address are not looked at: addresses are logged.
fn bearer(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let first = given.next().ok_or(Denied::Missing)?;
    if given.next().is_some() {
        return Err(Denied::Wrong("there is more than one Authorization header"));
    }
    let text = first.to_str().map_err(|_| Denied::Wrong("the Authorization header cannot be read"))?;
    let (scheme, token) = text.split_once(' ').ok_or(Denied::Missing)?;
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() {
        return Err(Denied::Missing);
    }
    if token.len() > LONGEST {
        return Err(Denied::Wrong("the token is too long"));
    }
    Ok(token)
}

impl Tokens {
    /// The same with one token more.
    #[must_use]
    pub fn with(mut self, token: &str, identity: Identity) -> Self {
        self.0.push((hash(token), identity));
        self
    }

    /// Reads a list: a caller, a token and maybe a route per line; `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self, BadTokens> {
        let mut tokens = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |what| BadTokens::Line { line: number, what };
            let mut words = line.split_whitespace();
            let (Some(caller), Some(token)) = (words.next(), words.next()) else {
                return Err(wrong("a caller's name and a token are needed"));
            };
            if token.len() < SHORTEST {
                return Err(wrong("a token has at least 16 characters"));
            }
            let route = words.next();
            if words.next().is_some() {
                return Err(wrong("after the route nothing else is expected"));
            }
            tokens = tokens.with(token, Identity::new(caller, route));
        }
        if tokens.0.is_empty() { Err(BadTokens::Empty) } else { Ok(tokens) }
    }

    /// Compares with every token there is, each in the same time whatever it is.
    fn find(&self, token: &str) -> Option<Identity> {
        let given = hash(token);
        let (mut found, mut at) = (Choice::from(0), 0_u64);
        for (number, (known, _)) in (0_u64..).zip(&self.0) {
            let same = known.ct_eq(&given);
            at.conditional_assign(&number, same);
            found |= same;
        }
        let at = usize::try_from(at).ok().filter(|_| bool::from(found))?;
        self.0.get(at).map(|(_, identity)| identity.clone())
    }
}

// A token is long and random, so its plain hash tells nothing; equal lengths make the comparison even.
fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(value: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        value.iter().for_each(|value| drop(headers.append(header::AUTHORIZATION, value.parse().unwrap())));
        headers
    }

    #[test]
    fn a_token_stands_for_its_caller_and_route_and_nothing_else_does() {
        let list = "# callers\nalice  alice-token-0123456789\n\nbob bob-token-0123456789 reading\n";
        let auth = Auth::Tokens(Tokens::parse(list).unwrap());
        let who = |value: &[&str]| auth.identify(&asked(value));
        assert_eq!(who(&["Bearer alice-token-0123456789"]), Ok(Identity::new("alice", None)));
        assert_eq!(who(&["bearer  bob-token-0123456789"]), Ok(Identity::new("bob", Some("reading"))));
        assert_eq!(who(&[]), Err(Denied::Missing));
        assert_eq!(who(&["Basic alice-token-0123456789"]), Err(Denied::Missing));
        assert_eq!(who(&["Bearer"]), Err(Denied::Missing));
        assert!(matches!(who(&["Bearer alice-token-012345678"]), Err(Denied::Wrong(_))));
        assert!(matches!(who(&["Bearer alice-token-0123456789", "Bearer x"]), Err(Denied::Wrong(_))));
    }

    #[test]
    fn a_list_that_is_not_as_it_should_be_says_where() {
        assert!(matches!(Tokens::parse("# none\n"), Err(BadTokens::Empty)));
        assert!(matches!(Tokens::parse("\nalice"), Err(BadTokens::Line { line: 2, .. })));
        assert!(matches!(Tokens::parse("alice short"), Err(BadTokens::Line { line: 1, .. })));
        assert!(matches!(Tokens::parse("a 0123456789abcdef r x"), Err(BadTokens::Line { .. })));
    }
}
