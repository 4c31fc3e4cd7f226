//! What only an executing call has: progress, cancellation, its idempotency key. Made by the pipeline alone.

use std::{
    future::Future,
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

use super::{
    name::{CallId, IdempotencyKey},
    scope::Scope,
};
use crate::{
    call::Lane,
    event::Progress,
    guard::{Hourglass, Pulse, TraceParent},
    outcome::Redactor,
};

/// The context of a running tool body.
///
/// It derefs to its [`Scope`]. There is no public way to make one: a tool's body can only be reached
/// through the pipeline.
#[derive(Debug)]
pub struct Cx {
    scope: Arc<Scope>,
    call: CallId,
    key: Option<IdempotencyKey>,
    attempt: AtomicU32,
    // The batch it runs in, where there is one.
    lane: Option<Lane>,
    // Made when first asked for: most quick calls never look at it.
    token: OnceLock<CancellationToken>,
    pulse: Pulse,
    redactor: Option<Redactor>,
}

impl Cx {
    #[inline]
    pub(crate) fn new(scope: Arc<Scope>, call: CallId) -> Self {
        Self {
            scope,
            call,
            key: None,
            attempt: AtomicU32::new(1),
            lane: None,
            token: OnceLock::new(),
            pulse: Pulse::default(),
            redactor: None,
        }
    }

    /// The batch that the call runs in.
    pub(crate) fn enter(&mut self, lane: Lane) {
        self.lane = Some(lane);
    }

    /// The body is about to begin, under the key that was claimed for it.
    pub(crate) fn begin(&mut self, key: Option<IdempotencyKey>, redactor: Option<Redactor>) {
        (self.key, self.redactor) = (key, redactor);
    }

    /// The call is over, and its id goes with its answer.
    pub(crate) fn take_id(&mut self) -> CallId {
        std::mem::take(&mut self.call)
    }

    pub(crate) fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    pub(crate) fn is_concurrent(&self) -> bool {
        self.lane.as_ref().is_some_and(Lane::is_concurrent)
    }

    /// The token that keeps the call from starting.
    pub(crate) fn until_started(&self) -> &CancellationToken {
        self.lane.as_ref().map_or_else(|| self.scope.run.token(), Lane::start)
    }

    /// True once the call is not to start any more.
    pub(crate) fn is_kept_from_starting(&self) -> bool {
        match &self.lane {
            Some(lane) => lane.start().is_cancelled(),
            None => self.scope.run.is_stopped(),
        }
    }

    /// The call's own id.
    pub fn call_id(&self) -> &CallId {
        &self.call
    }

    /// The key under which this call takes effect at most once, to be passed on downstream.
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref()
    }

    /// This call's span, to be passed on downstream (`traceparent` in MCP's `_meta` and in HTTP headers).
    pub fn traceparent(&self) -> TraceParent {
        let run = &self.scope.run;
        let under = self.scope.traced_under.unwrap_or_else(|| run.traceparent());
        under.call(run.id(), self.scope.turn, self.call.as_str())
    }

    /// 1 for the first try, then one more for each retry.
    pub fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::Relaxed)
    }

    pub(crate) fn next_attempt(&self) -> u32 {
        self.attempt.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Says how far the work is: `fraction` from 0 to 1, and a few words, without secrets in them. Re-arms the idle
    /// deadline.
    pub fn progress(&self, fraction: f64, message: impl Into<String>) {
        #[expect(clippy::cast_possible_truncation, reason = "a fraction of the work needs no more digits")]
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) as f32 };
        let mut message: String = message.into();
        if let Some(redactor) = &self.redactor {
            redactor.in_place(&mut message);
        }
        let progress = Progress { fraction, message: message.into() };
        if let Some(peer) = &self.scope.peer {
            peer.progress(&self.call, &progress);
        }
        self.pulse.beat(progress);
    }

    /// Says that the other side answered. Ends the connect deadline and re-arms the idle one.
    pub fn connected(&self) {
        self.pulse.connected();
    }

    /// The time that the call's deadlines go by: whoever asks a person on its behalf holds it still.
    pub fn hourglass(&self) -> &Hourglass {
        self.pulse.hourglass()
    }

    /// The call's cancellation token, for handing to child work.
    pub fn token(&self) -> &CancellationToken {
        self.token.get_or_init(|| self.parent().child_token())
    }

    /// True once the call should stop.
    pub fn is_cancelled(&self) -> bool {
        self.token.get().map_or_else(|| self.is_stopped(), CancellationToken::is_cancelled)
    }

    /// Resolves when the call should stop.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + '_ {
        self.token().cancelled()
    }
}

impl Deref for Cx {
    type Target = Scope;

    fn deref(&self) -> &Scope {
        &self.scope
    }
}

impl Cx {
    fn parent(&self) -> &CancellationToken {
        self.lane.as_ref().map_or_else(|| self.scope.run.token(), Lane::body)
    }

    /// Resolves when whoever runs the call stops it. Makes no token of the call's own: most bodies never ask.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + '_ {
        self.parent().cancelled()
    }

    /// True once whoever runs the call has stopped it; a deadline that passed is not that.
    pub(crate) fn is_stopped(&self) -> bool {
        match &self.lane {
            Some(lane) => lane.body().is_cancelled(),
            None => self.scope.run.is_stopped(),
        }
    }

    /// Tells the batch that the call's body has no more to say.
    pub(crate) fn tell_batch(&self) {
        if let Some(lane) = &self.lane {
            lane.tell();
        }
    }

    pub(crate) fn pulse(&self) -> &Pulse {
        &self.pulse
    }
}
