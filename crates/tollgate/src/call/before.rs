//! Phase 3: hooks have looked. They may add a word for the model, rewrite the input, or block.

use serde_json::Value;
use tokio::time::Instant;

use super::{Base, Call, Proposed, Refused, Soon, Written, check::Checked, validate::Invocation};
use crate::{
    event::What,
    guard::{Guarded, guarded},
    hook::{Before, HookKind, HookedCall, Hooks},
    outcome::{Phase, Refusal, RefusalCode},
    tool::{Cx, WrittenName},
};

/// A call that hooks are done with.
pub struct Prepared {
    _earned: (),
}

/// Where a call goes from phase 3.
#[derive(Debug)]
pub enum Passed {
    /// A hook rewrote the input: the call begins again, and everything is judged again.
    Again(Call<Proposed>),
    /// Nothing was rewritten.
    Ready(Call<Prepared>),
}

/// How often hooks may rewrite one call.
pub const MAX_REWRITES: u32 = 3;

impl Call<Checked> {
    /// Asks each matching hook in order. A gate that fails blocks; an observer that fails is noted.
    pub fn before(mut self, hooks: &Hooks) -> Soon<'_, Result<Passed, Refused>> {
        if hooks.is_empty() {
            self.base.steps().note_brief(|| What::Prepared);
            let call = Call { base: self.base, state: Prepared { _earned: () } };
            return Soon::now(Ok(Passed::Ready(call)));
        }
        Soon::later(self.ask_hooks(hooks))
    }

    async fn ask_hooks(self, hooks: &Hooks) -> Result<Passed, Refused> {
        let Call { mut base, .. } = self;
        match answer_of(hooks, &mut base).await {
            Ok(Some(args)) => begin_again(base, &args),
            Ok(None) => {
                base.steps().note(|| What::Prepared);
                Ok(Passed::Ready(Call { base, state: Prepared { _earned: () } }))
            }
            Err(refusal) => Err(base.refuse(Phase::Before, refusal)),
        }
    }
}

/// What the hooks want the input to be, where the first that rewrites it says so.
async fn answer_of(hooks: &Hooks, base: &mut Base) -> Result<Option<Value>, Refusal> {
    let Base { errand, trail, rare, .. } = base;
    let (cx, invocation) = (errand.cx(), errand.invocation());
    let mut steps = trail.about(errand, None);
    for hook in hooks.of(&invocation.tool.spec) {
        let call = hooked(invocation, cx);
        let looked = Instant::now();
        let answer = guarded(hook.before(&call), hook.timeout(), || cx.until_started(), &mut steps).await;
        let answer = answer.within(hook.timeout(), looked);
        let mut rewritten = None;
        let did = match verdict(hooks.heard(answer), hook.kind()) {
            Ok(Before::Pass) => continue,
            Ok(Before::Context(words)) => {
                tell(&mut rare.get_or_insert_default().context, words);
                "added context".to_owned()
            }
            Ok(Before::Rewrite(args) | Before::RewriteWith(args, _)) if args == *invocation.args => continue,
            Ok(Before::Rewrite(args)) => {
                rewritten = Some(args);
                "rewrote the input".to_owned()
            }
            Ok(Before::RewriteWith(args, words)) => {
                rewritten = Some(args);
                tell(&mut rare.get_or_insert_default().context, words);
                "rewrote the input and added context".to_owned()
            }
            Ok(Before::Block(reason) | Before::Failed(reason)) | Err(Trouble::Blocks(reason)) => {
                steps.note(|| What::hook(hook.name(), format!("blocked: {reason}")));
                let reason = format!("The hook `{}` blocked this call: {reason}", hook.name());
                return Err(Refusal::new(RefusalCode::BlockedByHook, reason));
            }
            Err(Trouble::Cancelled) => return Err(super::execute::cancelled()),
            Err(Trouble::Noted(what)) => what,
        };
        steps.note(|| What::hook(hook.name(), did));
        if rewritten.is_some() {
            return Ok(rewritten);
        }
    }
    Ok(None)
}

/// After a rewrite a hook is asked again and may say the same again.
fn tell(context: &mut Vec<String>, words: String) {
    if !context.contains(&words) {
        context.push(words);
    }
}

fn begin_again(mut base: Box<Base>, args: &Value) -> Result<Passed, Refused> {
    base.rounds += 1;
    if base.rounds > MAX_REWRITES {
        let reason =
            format!("Hooks rewrote this call more than {MAX_REWRITES} times without coming to an end.");
        let refusal = Refusal::new(RefusalCode::RewriteLimit, reason);
        return Err(base.refuse(Phase::Before, refusal));
    }
    let round = base.rounds;
    base.steps().note(|| What::Rewritten { round });
    let name = WrittenName::new(&*base.invocation().tool.label);
    base.written = Written { name, text: args.into(), inverse: None, fault: None };
    Ok(Passed::Again(Call { base, state: () }))
}

pub(super) fn hooked<'a>(invocation: &'a Invocation, cx: &'a Cx) -> HookedCall<'a> {
    HookedCall::new(cx.call_id(), &invocation.tool.spec, &invocation.args, &invocation.effects, cx)
}

enum Trouble {
    Blocks(String),
    Noted(String),
    Cancelled,
}

/// What a hook's answer, or the lack of one, means for its kind.
fn verdict(answer: Guarded<Before>, kind: HookKind) -> Result<Before, Trouble> {
    let failed = match (answer, kind) {
        (Guarded::Cancelled, _) => return Err(Trouble::Cancelled),
        (Guarded::Done(Before::Failed(why)), _) => format!("it failed ({why})"),
        (
            Guarded::Done(Before::Block(_) | Before::Rewrite(_) | Before::RewriteWith(..)),
            HookKind::Observer,
        ) => {
            return Err(Trouble::Noted("wanted to change the call; an observer cannot".to_owned()));
        }
        (Guarded::Done(answer), _) => return Ok(answer),
        (Guarded::Panicked(panic), _) => format!("it failed ({panic})"),
        (Guarded::Late, _) => "it did not answer in time".to_owned(),
    };
    match kind {
        HookKind::Gate => {
            Err(Trouble::Blocks(format!("{failed}, and what a gate cannot judge does not pass")))
        }
        HookKind::Observer => Err(Trouble::Noted(failed)),
    }
}
