//! The whole path of a call, on one screen. Nothing else strings the phases together.

use std::sync::Arc;

use tokio::time::Instant;

use crate::{
    call::{
        Call, Executed, Guards, Husk, Passed, Proposed, Records, Refused, Soon, Started, Validated, soon,
    },
    catalog::Snapshot,
    guard::caught,
    hook::Hooks,
    outcome::Settled,
    policy::{Approver, Decision, Policy},
    tool::Concurrency,
};

/// Everything a call meets, pinned for one turn.
#[derive(Clone)]
pub(crate) struct Pipeline {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) hooks: Hooks,
    pub(crate) guards: Guards,
    pub(crate) records: Records,
}

/// Where a walk ended.
pub(crate) enum Walked {
    /// With the one answer.
    Settled(Settled),
    /// A rewrite made it too dangerous for its batch: it runs alone, right after.
    Leaves(Call<Validated>),
}

/// Where the first half of a walk ended.
pub(crate) enum Departed {
    /// At its body.
    Started(Call<Started>),
    /// With no body to run.
    Walked(Walked),
}

impl Pipeline {
    /// Walks a call to its one answer.
    pub(crate) async fn run(&self, call: Call<Proposed>) -> Settled {
        match soon!(self.begin_fetched(call)) {
            Ok(valid) => match self.walk(valid, Concurrency::Unsafe).await {
                Walked::Settled(settled) => settled,
                // Nothing is worse than `Unsafe`, so nothing leaves.
                Walked::Leaves(call) => unreachable!("{call:?} left a batch of its own"),
            },
            Err(refused) => soon!(refused.settle(&self.records)),
        }
    }

    /// Phases 0 and 1: what dispatch needs to know.
    pub(crate) fn begin(&self, call: Call<Proposed>) -> Result<Call<Validated>, Refused> {
        call.resolve(&self.snapshot)?.validate(&self.records)
    }

    /// The same, with kept results that the arguments refer to read beforehand: not on this thread.
    pub(crate) fn begin_fetched(&self, call: Call<Proposed>) -> Soon<'_, Result<Call<Validated>, Refused>> {
        if !self.records.are_referred_to(&call) {
            return Soon::now(self.begin(call));
        }
        Soon::later(async move {
            let fetched = self.records.fetched_for(&call).await;
            call.resolve(&self.snapshot)?.validate(fetched.as_ref().unwrap_or(&self.records))
        })
    }

    /// The rest of the path, for a call in a batch of class `within`.
    pub(crate) async fn walk(&self, call: Call<Validated>, within: Concurrency) -> Walked {
        match self.depart(call, within).await {
            Departed::Started(call) => {
                let executed = call.finish(None, &self.guards).await;
                Walked::Settled(soon!(self.conclude(executed).0))
            }
            Departed::Walked(walked) => walked,
        }
    }

    /// Its first half, up to the body.
    pub(crate) async fn depart(&self, call: Call<Validated>, within: Concurrency) -> Departed {
        match self.try_depart(call, within).await {
            Ok(departed) => departed,
            Err(refused) => Departed::Walked(Walked::Settled(soon!(refused.settle(&self.records)))),
        }
    }

    /// Its second half, for a call whose body was sent off: what comes of it, and what is left of a call that nothing had
    /// to be waited for.
    pub(crate) fn arrive(
        &self,
        call: Call<Started>,
        sent: Option<Instant>,
    ) -> (Soon<'_, Settled>, Option<Husk>) {
        match call.finish_now(&self.guards) {
            Ok(executed) => self.conclude(executed),
            Err(call) => {
                let ended = async move { soon!(self.conclude(call.finish(sent, &self.guards).await).0) };
                (Soon::tried(Box::pin(ended)), None)
            }
        }
    }

    fn conclude(&self, executed: Call<Executed>) -> (Soon<'_, Settled>, Option<Husk>) {
        match executed.after(&self.hooks) {
            Soon::Now(Some(finished)) => finished.shelled(&self.records),
            later => (Soon::later(async { soon!(soon!(later).settle(&self.records)) }), None),
        }
    }

    /// True when policy and the tool itself let the call run as it stands, with nobody asked. Decides nothing: the walk
    /// does.
    pub(crate) fn would_allow(&self, call: &Call<Validated>) -> bool {
        let allowed =
            || self.policy.decide(&call.query()).decision == Decision::Allow && !call.is_tightened();
        // Whoever fails has not said yes.
        caught(allowed).unwrap_or(false)
    }

    async fn try_depart(&self, mut call: Call<Validated>, within: Concurrency) -> Result<Departed, Refused> {
        loop {
            let checked = call.check(&*self.policy).await?;
            match soon!(checked.before(&self.hooks))? {
                Passed::Again(rewritten) => {
                    call = soon!(self.begin_fetched(rewritten))?;
                    if call.class() > within {
                        return Ok(Departed::Walked(Walked::Leaves(call)));
                    }
                }
                Passed::Ready(prepared) => {
                    let permitted = soon!(prepared.permit(&*self.policy, &*self.approver, &self.guards))?;
                    return Ok(Departed::Started(soon!(permitted.start(&self.guards))?));
                }
            }
        }
    }
}
