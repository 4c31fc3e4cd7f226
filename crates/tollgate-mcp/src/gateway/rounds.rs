//! Calls of stateless clients that wait for an answer: parked here, taken up when the request is made again.

use std::{collections::HashMap, sync::Mutex, time::Instant};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::{CancellationToken, DropGuard};
use tollgate::tool::{Answers, Caller, Requests};

use super::{
    ask::KEY,
    message::RpcError,
    peer::Ask,
    random,
    session::{PATIENCE, lock},
    walk::Walk,
};
use crate::inbox::Reader;

/// A call that goes on beside the requests about it. Dropped, it is stopped.
pub(crate) struct Round {
    pub(crate) walk: Walk,
    pub(crate) asks: Reader<Ask>,
    pub(crate) peer: std::sync::Arc<super::peer::ClientPeer>,
    token: CancellationToken,
    _stop: DropGuard,
}

/// What identifies a call: whoever takes it up must make the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SameCall {
    caller: Caller,
    digest: [u8; 32],
}

/// Every call that waits, by the state its client was given.
#[derive(Default)]
pub(crate) struct Rounds(Mutex<HashMap<String, Parked>>);

struct Parked {
    call: SameCall,
    ask: Ask,
    round: Round,
    since: Instant,
}

/// What becomes of a request that brings a state.
pub(crate) enum TakenUp {
    /// It was answered, and the call goes on.
    GoesOn(Round),
    /// Something is still missing: the same is asked again.
    Again(Value),
}

/// More calls than persons can be asked about at the same time.
const MOST_PARKED: usize = 1024;

impl Round {
    pub(crate) fn new(
        walk: Walk,
        asks: Reader<Ask>,
        peer: std::sync::Arc<super::peer::ClientPeer>,
        token: CancellationToken,
    ) -> Self {
        Self { walk, asks, peer, token: token.clone(), _stop: token.drop_guard() }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}

impl SameCall {
    pub(crate) fn new(caller: &Caller, tool: &str, arguments: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [tool, arguments] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self { caller: caller.clone(), digest: hash.finalize().into() }
    }
}

impl Rounds {
    /// Parks a call and gives the result that asks its client.
    pub(crate) fn park(&self, call: SameCall, ask: Ask, mut round: Round) -> Value {
        // It comes to its end however its client takes it up, or not.
        round.walk.let_go();
        // What is lost with this process is told apart by the state itself: words for people, no proof of anything.
        let begun = !ask.requests.keys().all(|key| key == KEY);
        let state = random::id() + if begun { BEGUN } else { "" };
        let result = input_required(&ask.requests, &state);
        let mut parked = lock(&self.0);
        parked.retain(|_, parked| parked.since.elapsed() < PATIENCE && !parked.ask.answer.is_closed());
        // With no room, the call ends here: its state leads nowhere.
        if parked.len() < MOST_PARKED {
            parked.insert(state, Parked { call, ask, round, since: Instant::now() });
        }
        result
    }

    /// Takes up the call of this state with what its client answered. A state is good once, for the call it was given for.
    pub(crate) fn take_up(
        &self,
        state: &str,
        call: &SameCall,
        answers: Answers,
    ) -> Result<TakenUp, RpcError> {
        let found = {
            let mut parked = lock(&self.0);
            match parked.get(state) {
                Some(found) if found.call == *call => parked.remove(state),
                _ => None,
            }
        };
        let Some(Parked { ask, round, .. }) = found else {
            return Err(RpcError::invalid_params(unknown(state)));
        };
        let answered = |key: &String| answers.get(key).is_some_and(Value::is_object);
        if !ask.requests.keys().all(answered) {
            return Ok(TakenUp::Again(self.park(call.clone(), ask, round)));
        }
        let answers = answers.into_iter().filter(|(key, _)| ask.requests.contains_key(key)).collect();
        // A call that ended meanwhile has its answer ready.
        let _ = ask.answer.send(answers);
        Ok(TakenUp::GoesOn(round))
    }
}

/// Ends the state of a call whose body had begun: it was the tool that asked.
const BEGUN: &str = "-begun";

/// What a state that nobody waits for means to whoever brings it.
fn unknown(state: &str) -> &'static str {
    if state.ends_with(BEGUN) {
        "`requestState` is none that is waited for: it was used, is too old, or the gateway was started anew since. The call \
         had begun and may have taken effect: look that up (`tollgate trace show`) before you make it again without the state"
    } else {
        "`requestState` is none that was given for this call, or it was used, is too old, or the gateway was started anew \
         since. Nothing was run by this request: make the call without the state to be asked again"
    }
}

fn input_required(requests: &Requests, state: &str) -> Value {
    let requests: serde_json::Map<String, Value> = requests
        .iter()
        .map(|(key, request)| (key.clone(), json!({"method": request.method, "params": request.params})))
        .collect();
    json!({"resultType": "input_required", "inputRequests": requests, "requestState": state})
}
