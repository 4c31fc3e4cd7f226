//! The end: trust is labelled, what is too long is put aside, the one terminal record is written.

use std::sync::{Arc, OnceLock};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Base, Call, Proposed, RawInput, Refused, Stopped, after::Finished};
use crate::{
    event::{About, Steps, What},
    guard::{Contained, End, Ledger, Spawner, Written, off_thread},
    outcome::{
        Answer, Fetched, Item, Label, Offloaded, Outcome, Output, Phase, Preview, ResultStore, Settled,
        Trust, exceeds, grows_beyond, neutralise, preview_of, visible,
    },
    tool::{CallId, Origin, ResultLimit},
};

/// Where ends are recorded and long results are kept.
#[derive(Clone)]
pub struct Records {
    /// The ledger.
    pub ledger: Arc<dyn Ledger>,
    /// The store of long results; without one, what is cut is gone, and the result says so.
    pub results: Option<Arc<dyn ResultStore>>,
    /// Where long results are looked through.
    pub spawner: Option<Arc<dyn Spawner>>,
}

impl Records {
    /// Gets what the call's arguments refer to: the same, with that at hand. `None` where they refer to nothing.
    pub(crate) fn fetching<'a>(&'a self, call: &'a Call<Proposed>) -> Option<BoxFuture<'a, Option<Self>>> {
        let (text, caller) = (call.state.input.as_str(), &call.base.scope().caller);
        let store = self.results.as_ref().filter(|_| call.base.may_refer(text))?;
        let fetched = Fetched::of(text, caller, store, self.spawner.as_deref());
        let with = |fetched| Self { results: Some(Arc::new(fetched)), ..self.clone() };
        Some(fetched.map(move |fetched| fetched.map(with)).boxed())
    }
}

/// What travels with an answer that is not in the ledger.
const UNRECORDED: &str = "The end of this call could not be recorded. It happened as said here; after a restart it counts as unknown.";

/// More bytes than one thread should look through while others wait.
pub(super) const BIG: usize = 256 << 10;

impl Call<Finished> {
    /// Gives the call its one answer.
    pub async fn settle(self, records: &Records) -> Settled {
        let Call { mut base, state: Finished { mut answer } } = self;
        let invocation = base.invocation();
        answer.trust = answer.trust.worse(trust_of(invocation, &answer.outcome));
        // An answer that was given before was made to fit then.
        if !answer.replayed {
            let limit = fitting(invocation.tool.spec.max_result, base.scope().window);
            fit(&mut answer, limit, &mut base, records).await;
        }
        let settled = base.record(None, answer, records).await;
        // Only now: whoever goes away while the end is being written leaves a claim that is given up.
        if let Some(claim) = &mut base.claim {
            claim.close();
        }
        settled
    }
}

impl Refused {
    /// Gives the refused call its one answer.
    pub async fn settle(self, records: &Records) -> Settled {
        let Stopped { mut base, tool, phase, refusal, asked } = *self.0;
        let settled = base.answer(tool, Outcome::Refused(refusal), phase);
        // It holds no claim, and nobody's word let it run.
        base.record(asked, settled, records).await
    }
}

impl Base {
    /// An answer as it stands. It has no id yet: the call's own goes over to it at the end.
    pub(super) fn answer(&self, tool: Arc<str>, outcome: Outcome, phase: Phase) -> Settled {
        Settled::new(Answer {
            id: CallId::default(),
            tool,
            outcome,
            phase,
            duration: std::time::Duration::ZERO,
            was_concurrent: self.cx().is_concurrent(),
            attempts: 0,
            replayed: false,
            trust: Trust::TrustedSystem,
            offloaded: None,
            context: Vec::new(),
            evidence: OnceLock::new(),
        })
    }

    /// Writes the one terminal record; `text` is what the model wrote, where nobody accepted it.
    async fn record(&mut self, text: Option<RawInput>, mut settled: Settled, records: &Records) -> Settled {
        settled.context = std::mem::take(&mut self.context);
        settled.id = self.take_id();
        let mut waited = false;
        let fence = self.claim.as_ref().and_then(|claim| claim.fence());
        if fence.is_some() || records.ledger.records_all() {
            waited = true;
            let call = self.record_of(&settled.id, &settled.tool, text.as_ref());
            let by = self.by.as_ref().map(|by| &**by.text());
            let end = End { ticket: self.ticket, fence, call, by, settled: &settled };
            let written = async { records.ledger.settle(end).await.map_err(|fault| fault.to_string()) };
            match unharmed(written).await {
                Ok(Written::Recorded) => {}
                // Others were told this already: one call, one answer.
                Ok(Written::Superseded(counts)) => settled.give_way_to(counts),
                // The answer stands even where it could not be written: the effect has happened and is known.
                Err(message) => {
                    if fence.is_some() {
                        settled.context.push(UNRECORDED.to_owned());
                    }
                    self.steps_of(&settled).note(|| What::LedgerFault { message: message.into() });
                }
            }
        }
        let what = || What::Settled {
            status: settled.status(),
            phase: settled.phase,
            code: settled.refusal().map(|refusal| refusal.code),
            attempts: settled.attempts,
            was_concurrent: settled.was_concurrent,
        };
        // An answer right after its body, that nothing had to be written for, took no time of its own.
        let mut steps = self.steps_of(&settled);
        if waited || settled.offloaded.is_some() || settled.attempts == 0 {
            steps.note(what);
        } else {
            steps.note_brief(what);
        }
        let now = steps.end().unwrap_or_else(std::time::Instant::now);
        settled.duration = now.saturating_duration_since(self.began);
        settled
    }

    /// The call's id, which it needs no more; a copy where its body may still run and ask for it.
    fn take_id(&mut self) -> CallId {
        match self.errand.own() {
            Some(errand) => errand.cx.take_id(),
            None => self.cx().call_id().clone(),
        }
    }

    /// The trail, about a call that has given its id to its answer.
    fn steps_of<'a>(&'a mut self, settled: &'a Settled) -> Steps<'a> {
        let run = self.errand.cx().run.id();
        self.trail.about(About { run, call: Some(&settled.id), tool: Some(&settled.tool) })
    }
}

/// A ledger or a store that panics has failed, and no answer is lost over it.
async fn unharmed<T>(work: impl Future<Output = Result<T, String>> + Send) -> Result<T, String> {
    Contained::new(work.boxed()).await.unwrap_or_else(Err)
}

/// What a bridged tool, or one that talks to the outside, gives back is data and never instructions.
fn trust_of(invocation: &super::Invocation, outcome: &Outcome) -> Trust {
    let outside = invocation.tool.spec.id.origin != Origin::Builtin || invocation.effects.open_world;
    let marked = match outcome {
        Outcome::Ok(output) => output.untrusted,
        Outcome::Failed(failure) => failure.untrusted,
        Outcome::Refused(_) => false,
    };
    // What went in may come out again.
    let doubtful = invocation.trust == Trust::UntrustedContent;
    if outside || marked || doubtful { Trust::UntrustedContent } else { Trust::TrustedSystem }
}

/// A token is about four characters: as many characters as the window has tokens fill a quarter of it. A tool that
/// declared its results unlimited meant it.
fn fitting(limit: ResultLimit, window: Option<u32>) -> ResultLimit {
    const LEAST: usize = 1_000;
    match (limit, window) {
        (ResultLimit::Chars(limit), Some(window)) => {
            let quarter = usize::try_from(window).unwrap_or(usize::MAX).max(LEAST);
            ResultLimit::Chars(limit.min(quarter))
        }
        (limit, _) => limit,
    }
}

/// The one place where what a tool said becomes what everyone is told, whichever door it leaves by: harmless, and no
/// longer than it may be once it is.
async fn fit(answer: &mut Settled, limit: ResultLimit, base: &mut Base, records: &Records) {
    let trust = answer.trust;
    // Nobody measures what may be as long as it is.
    let ResultLimit::Chars(limit) = limit else { return neutralise(&mut answer.outcome, trust) };
    if let Outcome::Ok(output) = &mut answer.outcome
        && (exceeds(output, limit) || grows_beyond(output, limit))
    {
        let label = Label { caller: base.scope().caller.clone(), trust };
        let offloaded = put_aside(output, limit, label, records, &mut base.steps()).boxed().await;
        answer.offloaded = Some(Box::new(offloaded));
    }
    neutralise(&mut answer.outcome, trust);
    if let Outcome::Failed(failure) = &mut answer.outcome {
        cut(&mut failure.message, limit);
        failure.hint.iter_mut().for_each(|hint| cut(hint, limit));
    }
}

fn cut(text: &mut String, limit: usize) {
    if text.len() > limit && text.chars().count() > limit {
        *text = preview_of(text, limit, "The rest was not kept.").text;
    }
}

/// Keeps the whole and leaves the model a preview. Pictures stay where they are.
async fn put_aside(
    output: &mut Output,
    limit: usize,
    label: Label,
    records: &Records,
    steps: &mut Steps<'_>,
) -> Offloaded {
    let items = std::mem::take(&mut output.items);
    let (pictures, texts): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| matches!(item, Item::Image { .. }));
    let whole: Arc<str> = texts.into_iter().map(into_text).collect::<Vec<_>>().join("\n").into();
    let kept = match &records.results {
        None => None,
        Some(store) => {
            let kept = async { store.keep(whole.clone(), label).await.map_err(|fault| fault.to_string()) };
            match unharmed(kept).await {
                Ok(reference) => Some(reference),
                Err(message) => {
                    steps.note(|| What::StoreFault { message: message.into() });
                    None
                }
            }
        }
    };
    let note = match &kept {
        Some(reference) => format!("The whole is kept as {reference}."),
        None => "The rest was not kept; ask for less at a time.".to_owned(),
    };
    let preview = shortened(whole, limit, note, records).await;
    let offloaded = Offloaded {
        result: kept,
        chars: preview.chars,
        lines: preview.lines,
        omitted_chars: preview.omitted_chars,
    };
    output.items = Output::text(preview.text).items;
    output.items.extend(pictures);
    offloaded
}

/// Counting the characters of a hundred megabytes takes a while: not on a thread that other calls wait for.
async fn shortened(whole: Arc<str>, limit: usize, note: String, records: &Records) -> Preview {
    // Of what will be seen: made harmless, it may be longer.
    let preview = move |whole: &str, note: &str| preview_of(&visible(whole), limit, note);
    if whole.len() <= BIG {
        return preview(&whole, &note);
    }
    let kept = whole.clone();
    let shown = off_thread(records.spawner.as_deref(), move || preview(&kept, &note)).await;
    shown.unwrap_or_else(|| preview(&whole, "The program was ending."))
}

fn into_text(item: Item) -> String {
    match item {
        Item::Text { text } => text,
        Item::Json { json } => json.to_string(),
        Item::Image { .. } => String::new(),
    }
}
