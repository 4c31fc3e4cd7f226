//! Phase 6: hooks have seen the outcome of every execution. A result is never lost here.

use tokio::time::Instant;

use super::{Call, Soon, before::hooked, execute::Executed};
use crate::{
    event::What,
    guard::{Guarded, guarded},
    hook::{After, HookKind, Hooks},
    outcome::{Outcome, Output, Settled},
};

/// A call with its final outcome, still to be recorded.
pub struct Finished {
    pub(super) answer: Settled,
}

impl Call<Executed> {
    /// Asks each matching hook. Where a gate fails, the output is withheld: an unredacted one does not pass
    /// because the redaction crashed. The call stays answered.
    pub fn after(mut self, hooks: &Hooks) -> Soon<'_, Call<Finished>> {
        if hooks.is_empty() || self.state.answer.replayed {
            self.base.steps().note_brief(|| What::After);
            return Soon::now(Call { base: self.base, state: Finished { answer: self.state.answer } });
        }
        Soon::later(self.show_hooks(hooks))
    }

    async fn show_hooks(self, hooks: &Hooks) -> Call<Finished> {
        let Call { mut base, state: Executed { mut answer } } = self;
        let super::Base { errand, trail, rare, by, .. } = &mut *base;
        let (cx, invocation) = (errand.cx(), errand.invocation());
        let mut steps = trail.about(errand, by.as_ref());
        // The run is over: a cancelled token must not keep hooks from seeing what happened.
        let never = tokio_util::sync::CancellationToken::new();
        for hook in hooks.of(&invocation.tool.spec) {
            let call = hooked(invocation, cx);
            let looked = Instant::now();
            let said =
                guarded(hook.after(&call, &answer.outcome), hook.timeout(), || &never, &mut steps).await;
            let (said, why) = match hooks.heard(said.within(hook.timeout(), looked)) {
                Guarded::Done(After::Failed(why)) => (None, why),
                Guarded::Done(said) => (Some(said), String::new()),
                Guarded::Panicked(panic) => (None, panic),
                Guarded::Late | Guarded::Cancelled => (None, "it did not answer in time".to_owned()),
            };
            let did = match (said, hook.kind(), &mut answer.outcome) {
                (Some(After::Keep), ..) => continue,
                (Some(After::Context(words)), ..) => {
                    rare.get_or_insert_default().context.push(words);
                    "added context".to_owned()
                }
                (Some(After::Replace(output)), HookKind::Gate, Outcome::Ok(old)) => {
                    replace(old, output);
                    "replaced the output".to_owned()
                }
                (Some(After::ReplaceWith(output, words)), HookKind::Gate, Outcome::Ok(old)) => {
                    replace(old, output);
                    rare.get_or_insert_default().context.push(words);
                    "replaced the output and added context".to_owned()
                }
                (Some(_), ..) => "wanted to replace what it cannot".to_owned(),
                (None, HookKind::Gate, Outcome::Ok(old)) => {
                    *old = withheld(hook.name());
                    format!("failed ({why}); the output is withheld")
                }
                (None, HookKind::Gate, Outcome::Failed(failure)) => {
                    failure.message = format!(
                        "The call failed; its message is withheld because the hook `{}` failed.",
                        hook.name()
                    );
                    failure.hint = None;
                    format!("failed ({why}); the message is withheld")
                }
                (None, ..) => format!("failed ({why})"),
            };
            steps.note(|| What::hook(hook.name(), did));
        }
        steps.note(|| What::After);
        Call { base, state: Finished { answer } }
    }
}

/// What was not to be trusted stays so, whoever rewrote it.
fn replace(old: &mut Output, new: Output) {
    *old = Output { untrusted: old.untrusted || new.untrusted, ..new };
}

fn withheld(hook: &str) -> Output {
    Output::text(format!("[The call went well; its output is withheld because the hook `{hook}` failed.]"))
}
