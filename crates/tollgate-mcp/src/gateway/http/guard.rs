//! Who may speak to this address at all: the right Host, no page of somebody else's, not too often.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use axum::http::{HeaderMap, Uri, header, uri::Authority};
use tollgate::tool::Caller;

use crate::gateway::session::lock;

/// The names this server goes by, and the pages that may speak to it.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Hosts beside the loopback ones, as `tools.example.com` or `tools.example.com:8443`.
    pub hosts: Vec<String>,
    /// Origins of pages, as `https://app.example.com`. A request from any other page is refused.
    pub origins: Vec<String>,
}

const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Names {
    /// `Err` says why a request with these headers is refused.
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => uri.authority().map(Authority::as_str),
            (Some(_), Some(_)) => None,
        };
        if !host.is_some_and(is_loopback) {
            self.knows(host)?;
        }
        let mut origins = headers.get_all(header::ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if origin.to_str().is_ok_and(|origin| self.may_speak(origin)) => Ok(()),
            _ => Err("pages of this Origin may not speak to this server"),
        }
    }

    fn knows(&self, host: Option<&str>) -> Result<(), &'static str> {
        let host =
            host.and_then(|host| host.parse::<Authority>().ok()).ok_or("the Host header cannot be read")?;
        if !self.is_ours(&host) {
            return Err("this server does not go by the name in the Host header");
        }
        Ok(())
    }

    fn is_ours(&self, host: &Authority) -> bool {
        if LOOPBACK.iter().any(|name| host.host().eq_ignore_ascii_case(name)) {
            return true;
        }
        self.hosts.iter().any(|name| match name.parse::<Authority>() {
            Ok(name) => {
                name.host().eq_ignore_ascii_case(host.host())
                    && name.port_u16().is_none_or(|port| host.port_u16() == Some(port))
            }
            Err(_) => false,
        })
    }

    /// A page of this machine's own, or one that is named.
    fn may_speak(&self, origin: &str) -> bool {
        if self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else { return false };
        uri.host().is_some_and(|host| LOOPBACK.iter().any(|name| host.eq_ignore_ascii_case(name)))
            && matches!(uri.scheme_str(), Some("http" | "https"))
    }
}

/// A loopback name, with a port or without one: as nearly every Host is, and known without reading it as an authority.
fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    LOOPBACK.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// How often each caller may ask.
#[derive(Debug)]
pub(super) struct Rate {
    // The time one request takes of a caller's allowance; zero where there is no limit.
    each: Duration,
    burst: Duration,
    spent: Mutex<HashMap<Caller, Instant>>,
}

/// How many callers are remembered; those whose allowance is whole again are forgotten first.
const MOST_CALLERS: usize = 10_000;

impl Rate {
    /// `per_second` requests of each caller, and twice as many at once. Zero: no limit.
    pub(super) fn new(per_second: u32) -> Self {
        let each = if per_second == 0 { Duration::ZERO } else { Duration::from_secs(1) / per_second };
        Self { each, burst: Duration::from_secs(2), spent: Mutex::default() }
    }

    /// Takes one request off the caller's allowance; `Err` says how long to wait.
    pub(super) fn take(&self, caller: &Caller) -> Result<(), Duration> {
        if self.each.is_zero() {
            return Ok(());
        }
        let now = Instant::now();
        let mut spent = lock(&self.spent);
        if spent.len() >= MOST_CALLERS {
            spent.retain(|_, until| *until > now);
        }
        let until = spent.entry(caller.clone()).or_insert(now);
        let next = (*until).max(now) + self.each;
        let ahead = next.duration_since(now);
        if ahead > self.burst {
            return Err(ahead.saturating_sub(self.burst));
        }
        *until = next;
        Ok(())
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
