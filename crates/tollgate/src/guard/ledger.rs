//! What a ledger is: starts and ends of calls, recorded in order; a claim is granted to one holder alone.

use std::{fmt, time::Instant};

use futures_util::future::BoxFuture;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{
    json::canonical,
    outcome::Settled,
    tool::{CallId, Caller, Effects, IdempotencyKey, RunId, Scope, ToolSpec},
};

/// Where starts and ends of calls are recorded.
///
/// `start` is durable when it returns: nothing with an effect begins before. A fault in it stops the call;
/// a fault in `settle` is reported, and the call's answer stands.
pub trait Ledger: Send + Sync + 'static {
    /// Notes a call that will need a claim, before anyone decides about it. Waits for nothing.
    fn propose(&self, _call: &CallRecord<'_>) -> Option<Ticket> {
        None
    }

    /// Notes that a call may run, and by whose word. Waits for nothing.
    fn decide(&self, _ticket: Ticket, _run: &RunId, _by: &str) {}

    /// Claims the key, waiting while another holder of it is still running.
    fn start(&self, start: Start) -> BoxFuture<'_, Result<Claim, LedgerFault>>;

    /// What is known of a key, without claiming it. `None`: nothing began under it, or it is still under way.
    /// A ledger that cannot look says so by the default, and claims tell it later.
    fn recall<'a>(
        &'a self,
        _caller: &'a Caller,
        _key: &'a IdempotencyKey,
    ) -> BoxFuture<'a, Result<Option<Recalled>, LedgerFault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Writes the one terminal record of a call.
    fn settle<'a>(&'a self, end: End<'a>) -> BoxFuture<'a, Result<Written, LedgerFault>>;

    /// The holder of the claim went away without an end: from now on its effect is unknown.
    fn abandon(&self, fence: Fence);

    /// True when calls without a claim (reads, refusals) are recorded too.
    fn records_all(&self) -> bool {
        true
    }
}

/// A call as a ledger writes it down.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CallRecord<'a> {
    /// Run, turn, caller, route and goal.
    pub scope: &'a Scope,
    /// The call's own id.
    pub id: &'a CallId,
    /// Its place in the turn.
    pub position: usize,
    /// When it was proposed.
    pub began: Instant,
    /// The tool as resolved, or the name as proposed.
    pub tool: &'a str,
    /// The key of the caller's, where it brought one.
    pub key: Option<&'a IdempotencyKey>,
    /// Why the model says it calls this; nobody has checked that.
    pub purpose: Option<&'a str>,
    /// The arguments.
    pub input: InputRecord<'a>,
    /// What it would do; `None` where that was never computed.
    pub effects: Option<&'a Effects>,
}

/// The arguments of a call, as far as they were understood.
#[derive(Debug, Clone, Copy)]
pub enum InputRecord<'a> {
    /// Strict JSON that the tool accepts.
    Args(&'a Value),
    /// What the model wrote, and nobody accepted.
    Text(&'a str),
}

/// A noted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What is claimed.
#[derive(Debug, Clone)]
pub struct Start {
    /// The noted call this is about.
    pub ticket: Option<Ticket>,
    /// The run it belongs to.
    pub run: RunId,
    /// Keys are scoped by who calls.
    pub caller: Caller,
    /// The key.
    pub key: IdempotencyKey,
    /// What tool and arguments it stands for.
    pub fingerprint: Fingerprint,
}

/// The end of a call.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct End<'a> {
    /// The noted call this is about.
    pub ticket: Option<Ticket>,
    /// The claim it held.
    pub fence: Option<Fence>,
    /// The call.
    pub call: CallRecord<'a>,
    /// The rule, default or person that allowed it.
    pub by: Option<&'a str>,
    /// Its one answer.
    pub settled: &'a Settled,
}

/// What came of writing an end.
#[derive(Debug)]
#[must_use = "an end that was not believed changes the answer"]
pub enum Written {
    /// It is the one terminal record, or will be, where ends of reads are written lazily.
    Recorded,
    /// The call has an end already, because its holder was taken for dead: this one counts.
    Superseded(Settled),
}

/// The answer to a claim.
#[derive(Debug)]
pub enum Claim {
    /// Go ahead: nobody else holds this key.
    Granted(Fence),
    /// It ran before; this was the answer.
    Replay(Settled),
    /// The key stands for other arguments.
    Conflict,
    /// It started before and nobody knows how it ended.
    Unfinished,
}

/// What became of a call that began under a key.
#[derive(Debug)]
pub enum Recalled {
    /// It has this answer.
    Ended(Settled),
    /// It started and nobody knows how it ended.
    Unfinished,
}

/// Proof of a claim. No two claims of one ledger have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// A hash of tool definition and arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// The store behind a ledger failed.
#[derive(Debug, thiserror::Error)]
#[error("the ledger failed: {0}")]
pub struct LedgerFault(#[source] pub Box<dyn std::error::Error + Send + Sync>);

impl Fingerprint {
    /// The fingerprint of a call.
    pub fn of(spec: &ToolSpec, args: &Value) -> Self {
        let mut hash = Sha256::new();
        for part in [spec.id.to_string().as_str(), &canonical(&spec.input_schema), &canonical(args)] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// The 32 bytes. A store keys them before it keeps them: a bare hash of few possible arguments tells them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::outcome::hex(&self.0[..8]))
    }
}
