//! Asking a person, and the digest that binds an answer to exactly what was asked.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::{Grant, NotGranted, Query, Reach, RuleRef, reaches};
use crate::{
    json::canonical,
    outcome::hex,
    tool::{CallId, Effects, Scope, ToolSpec},
};

/// Someone who can be asked.
pub trait Approver: Send + Sync + 'static {
    /// Asks about one call and waits for the answer.
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer>;

    /// Hears that an Always or a Never just given is not kept as it was meant. The call itself is answered.
    fn not_kept(&self, why: &NotGranted) {
        let _ = why;
    }
}

/// What a person is asked about: the whole call, nothing shortened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question<'a> {
    /// The call's id.
    pub call: &'a CallId,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The final arguments.
    pub args: &'a Value,
    /// What it would do.
    pub effects: &'a Effects,
    /// Who, where, on which route, in which sandbox.
    pub scope: &'a Scope,
    /// The rule that asks, where one does.
    pub rule: Option<RuleRef>,
    /// Why it is asked.
    pub reason: Arc<str>,
    /// Why the model says it calls this: its own words, to be shown as such.
    pub purpose: Option<&'a str>,
    /// What a yes is bound to.
    pub digest: Digest,
}

impl<'a> Question<'a> {
    /// The call as policy looks at it.
    pub fn query(&self) -> Query<'a> {
        Query::new(self.tool, self.args, self.effects, self.scope)
    }

    /// How far an Always or a Never could reach, the narrowest first.
    pub fn reaches(&self) -> Vec<Reach> {
        reaches(&self.query())
    }
}

/// What the person said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Run exactly this, once.
    Yes,
    /// Run this, and from now on whatever these rules mean without asking.
    Always(Grant),
    /// Do not run this, and never what these rules mean.
    Never(Grant),
    /// Do not run it; with a word for the model where there is one.
    No(Option<String>),
    /// Nobody is there.
    Nobody,
}

/// An approver for headless runs: nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Nobody))
    }
}

/// A hash of tool definition, final arguments, caller, working folder, roots, route and sandbox.
///
/// An approval is good for the call with this digest and no other.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(Arc<str>);

/// Digests of calls a person already said yes to. Each is good for one call, and not for long.
#[derive(Debug, Clone, Default)]
pub struct Approvals(Arc<Mutex<HashMap<Digest, Instant>>>);

/// How long a yes waits for its call.
pub const APPROVAL_LIFE: Duration = Duration::from_secs(60 * 60);

impl Approvals {
    /// A yes for the call with this digest, for the usual time.
    pub fn grant(&self, digest: Digest) {
        self.grant_for(digest, APPROVAL_LIFE);
    }

    /// A yes for the call with this digest that is good for so long.
    pub fn grant_for(&self, digest: Digest, life: Duration) {
        let now = Instant::now();
        let end = now.checked_add(life).unwrap_or(now + APPROVAL_LIFE);
        let mut approvals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        approvals.retain(|_, end| *end > now);
        approvals.insert(digest, end);
    }

    /// Uses the yes up; false when there is none, or none that is still good.
    pub(crate) fn take(&self, digest: &Digest) -> bool {
        let end = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
        end.is_some_and(|end| end > Instant::now())
    }
}

impl Digest {
    /// A digest as text, 64 hexadecimal digits; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| Self(text.into()))
    }

    /// The digest of a call as it would run.
    pub fn of(query: &Query<'_>) -> Self {
        let Query { tool, args, scope, .. } = query;
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(tool.id.to_string().as_bytes());
        part(tool.description.as_bytes());
        part(canonical(&tool.input_schema).as_bytes());
        part(canonical(args).as_bytes());
        part(scope.caller.as_str().as_bytes());
        part(scope.cwd().as_os_str().as_encoded_bytes());
        part(&(scope.roots().len() as u64).to_le_bytes());
        for root in scope.roots() {
            part(root.as_os_str().as_encoded_bytes());
        }
        part(scope.route.as_ref().map_or("", |route| route.as_str()).as_bytes());
        part(scope.sandbox.word().unwrap_or_default().as_bytes());
        Self(hex(&hash.finalize()).into())
    }

    /// 64 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
