//! The end: trust is labelled, what is too long is put aside, the one terminal record is written.

use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;

use super::{Base, Call, OpenClaim, Permit, Proposed, RawInput, Refused, Soon, Stopped, after::Finished};
use crate::{
    event::{About, Steps, What},
    guard::{End, Fence, Ledger, Spawner, Written as InLedger, off_thread, patiently},
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
    /// True where the call's arguments may refer to a kept result.
    pub(crate) fn are_referred_to(&self, call: &Call<Proposed>) -> bool {
        self.results.is_some() && call.base.may_refer(call.base.written.text.as_str())
    }

    /// The same, with what the call's arguments refer to at hand; `None` where they refer to nothing.
    pub(crate) async fn fetched_for(&self, call: &Call<Proposed>) -> Option<Self> {
        let (text, caller) = (call.base.written.text.as_str(), &call.base.scope().caller);
        let fetched = Fetched::of(text, caller, self.results.as_ref()?, self.spawner.as_deref()).await?;
        Some(Self { results: Some(Arc::new(fetched)), ..self.clone() })
    }
}

/// What travels with an answer that is not in the ledger.
const UNRECORDED: &str = "The end of this call could not be recorded. It happened as said here; after a restart it counts as unknown.";

/// No number is written with more characters.
const LONGEST_NUMBER: usize = 24;

/// More bytes than one thread should look through while others wait.
pub(super) const BIG: usize = 256 << 10;

/// What is left of a call that has its answer: memory that nobody needs any more.
pub(crate) struct Husk {
    _base: Box<Base>,
}

impl Call<Finished> {
    /// Gives the call its one answer.
    pub fn settle(self, records: &Records) -> Soon<'_, Settled> {
        self.shelled(records).0
    }

    /// The same, and what is left of the call where nothing had to be waited for. Whoever has many of them gives their
    /// memory back later.
    #[inline(never)]
    pub(crate) fn shelled(self, records: &Records) -> (Soon<'_, Settled>, Option<Husk>) {
        let Call { mut base, state: Finished { mut answer } } = self;
        let invocation = base.invocation();
        answer.trust = answer.trust.worse(trust_of(invocation, &answer.outcome));
        let limit = fitting(invocation.tool.spec.max_result, base.scope().window);
        // An answer that was given before was made to fit then.
        let too_long = !answer.replayed && is_too_long(&answer.outcome, limit);
        if too_long || base.is_written(records) {
            return (base.settled_later(answer, limit, records), None);
        }
        if !answer.replayed {
            make_harmless(&mut answer, limit);
        }
        (Soon::now(base.end(answer, Written::No)), Some(Husk { _base: base }))
    }
}

impl Refused {
    /// Gives the refused call its one answer.
    #[cold]
    pub fn settle(self, records: &Records) -> Soon<'_, Settled> {
        let Stopped { mut base, tool, phase, refusal, asked } = *self.0;
        // It holds no claim, and nobody's word let it run.
        let answer = base.answer(tool, Outcome::Refused(refusal), phase);
        if !base.is_written(records) {
            return Soon::now(base.end(answer, Written::No));
        }
        Soon::later(async move {
            let answer = base.write(asked, answer, records).await;
            base.end(answer, Written::Yes)
        })
    }
}

/// Whether the ledger was waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Yes,
    No,
}

impl Base {
    /// An answer as it stands. It has no id yet: the call's own goes over to it at the end.
    pub(super) fn answer(&self, tool: Arc<str>, outcome: Outcome, phase: Phase) -> Settled {
        let room = Box::new_uninit();
        let answer = Answer {
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
        };
        Settled::within(room, answer)
    }

    /// True when the end goes into the ledger.
    fn is_written(&self, records: &Records) -> bool {
        self.fence().is_some() || records.ledger.records_all()
    }

    fn fence(&self) -> Option<Fence> {
        self.rare.as_ref().and_then(|rare| rare.claim.as_ref()).and_then(OpenClaim::fence)
    }

    #[inline(never)]
    fn settled_later(
        self: Box<Self>,
        answer: Settled,
        limit: ResultLimit,
        records: &Records,
    ) -> Soon<'_, Settled> {
        Soon::later(self.settle_later(answer, limit, records))
    }

    /// What takes a while: a long output is put aside, the end is written down.
    async fn settle_later(
        mut self: Box<Self>,
        mut answer: Settled,
        limit: ResultLimit,
        records: &Records,
    ) -> Settled {
        if !answer.replayed {
            shorten(&mut answer, limit, &mut self, records).await;
            make_harmless(&mut answer, limit);
        }
        let settled = if self.is_written(records) {
            let answer = self.write(None, answer, records).await;
            self.end(answer, Written::Yes)
        } else {
            self.end(answer, Written::No)
        };
        // Only now: whoever goes away while the end is being written leaves a claim that is given up.
        if let Some(claim) = self.rare.as_mut().and_then(|rare| rare.claim.as_mut()) {
            claim.close();
        }
        settled
    }

    /// Writes the one terminal record; `text` is what the model wrote, where nobody accepted it.
    async fn write(&mut self, text: Option<RawInput>, mut answer: Settled, records: &Records) -> Settled {
        // A copy: whoever goes away meanwhile is still told of by it.
        answer.id = self.cx().call_id().clone();
        answer.context = self.take_context();
        let fence = self.fence();
        let call = self.record_of(&answer.id, &answer.tool, text.as_ref());
        let by = self.by.as_ref().map(|by| &*by.text);
        let end = End { ticket: self.ticket(), fence, call, by, settled: &answer };
        let written = async { records.ledger.settle(end).await.map_err(|fault| fault.to_string()) };
        match unharmed(written).await {
            Ok(InLedger::Recorded) => {}
            // Others were told this already: one call, one answer.
            Ok(InLedger::Superseded(counts)) => answer.give_way_to(counts),
            // The answer stands even where it could not be written: the effect has happened and is known.
            Err(message) => {
                if fence.is_some() {
                    answer.context.push(UNRECORDED.to_owned());
                }
                self.steps().note(|| What::LedgerFault { message: message.into() });
            }
        }
        answer
    }

    /// The answer, whole: nothing comes after it.
    fn end(&mut self, mut answer: Settled, written: Written) -> Settled {
        if written == Written::No {
            answer.id = self.take_id();
            answer.context = self.take_context();
        }
        let what = || What::Settled {
            status: answer.status(),
            phase: answer.phase,
            code: answer.refusal().map(|refusal| refusal.code),
            attempts: answer.attempts,
            was_concurrent: answer.was_concurrent,
        };
        // An answer right after its body, that nothing had to be written for, took no time of its own.
        let about =
            About { run: self.errand.cx().run.id(), call: Some(&answer.id), tool: Some(&answer.tool) };
        let by = self.by.as_ref().or(self.permit.as_ref().map(Permit::rule));
        let mut steps = self.trail.about(&about, by);
        if written == Written::Yes || answer.offloaded.is_some() || answer.attempts == 0 {
            steps.note(what);
        } else {
            steps.note_brief(what);
        }
        answer.duration = steps.end().unwrap_or_else(|| self.began.elapsed());
        answer
    }

    /// The call's id, which it needs no more; a copy where its body may still run and ask for it.
    fn take_id(&mut self) -> CallId {
        match self.errand.own() {
            Some(errand) => errand.cx.take_id(),
            None => self.copied_id(),
        }
    }

    #[cold]
    fn copied_id(&self) -> CallId {
        self.cx().call_id().clone()
    }
}

/// How long an answer waits for a ledger or a store before it goes without.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// A ledger or a store that panics or never answers has failed, and no answer is lost over it.
async fn unharmed<T: Send>(work: impl Future<Output = Result<T, String>> + Send) -> Result<T, String> {
    patiently(work.boxed(), PATIENCE).await
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

/// True for an output that is longer than it may be, or would be once it is harmless.
fn is_too_long(outcome: &Outcome, limit: ResultLimit) -> bool {
    match (outcome, limit) {
        (Outcome::Ok(output), ResultLimit::Chars(limit)) if output.is_bare() => {
            limit < LONGEST_NUMBER && exceeds(output, limit)
        }
        (Outcome::Ok(output), ResultLimit::Chars(limit)) => {
            exceeds(output, limit) || grows_beyond(output, limit)
        }
        // Nobody measures what may be as long as it is.
        _ => false,
    }
}

/// Puts aside what is too long.
async fn shorten(answer: &mut Settled, limit: ResultLimit, base: &mut Base, records: &Records) {
    if !is_too_long(&answer.outcome, limit) {
        return;
    }
    let label = Label { caller: base.scope().caller.clone(), trust: answer.trust };
    if let (Outcome::Ok(output), ResultLimit::Chars(limit)) = (&mut answer.outcome, limit) {
        let offloaded = put_aside(output, limit, label, records, &mut base.steps()).await;
        answer.offloaded = Some(Box::new(offloaded));
    }
}

/// The one place where what a tool said becomes what everyone is told, whichever door it leaves by.
fn make_harmless(answer: &mut Settled, limit: ResultLimit) {
    if matches!(&answer.outcome, Outcome::Ok(output) if output.is_bare()) {
        return;
    }
    let trust = answer.trust;
    neutralise(&mut answer.outcome, trust);
    if let (Outcome::Failed(failure), ResultLimit::Chars(limit)) = (&mut answer.outcome, limit) {
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
