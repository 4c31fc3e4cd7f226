//! Where policy says ask: a person decides about exactly this call, or what a person said of another does.

use std::sync::Arc;

use futures_util::FutureExt;

use super::{
    super::{
        Base,
        check::denied,
        execute::{Guards, cancelled},
    },
    Permit, opinion, other_words,
};
use crate::{
    event::What,
    guard::{cancellable, caught},
    outcome::{Refusal, RefusalCode},
    policy::{
        Answer, Approver, Decision, Digest, Opinion, Policy, Query, Question, RuleRef, Stance, Verdict,
        rules_that_allow,
    },
    tool::ToolSpec,
};

/// Asks a person about exactly this call.
pub(super) async fn ask(
    base: &mut Base,
    verdict: Verdict,
    (policy, approver, guards): (&dyn Policy, &dyn Approver, &Guards),
) -> Result<Permit, Refusal> {
    // Where the tool itself wants a person, no rule can answer for one.
    let by_rules = matches!(opinion(base), Opinion::Abstain);
    let changes = if by_rules { caught(|| policy.changed()).ok().flatten() } else { None };
    let Base { errand, trail, rare, .. } = base;
    let (cx, invocation) = (errand.cx(), errand.invocation());
    let mut steps = trail.about(errand, None);
    if cx.is_kept_from_starting() {
        return Err(cancelled());
    }
    let (query, rule) = (invocation.query(cx), verdict.rule);
    let reason = verdict.reason.unwrap_or_else(|| "a rule asks about it".into());
    let own_reason = (!by_rules).then(|| reason.clone());
    let digest = Digest::of(&query);
    if cx.approvals.take(&digest) {
        return Ok(Permit::by_word("an earlier approval of exactly this call"));
    }
    let told = |rule: &RuleRef| other_words(rule, guards).unwrap_or_else(|| rule.text.clone());
    steps.note(|| What::Asked { rule: rule.as_ref().map(told) });
    steps.flush();
    let question = Question {
        call: cx.call_id(),
        tool: query.tool,
        args: query.args.value(),
        effects: query.effects,
        scope: query.scope,
        rule: rule.clone(),
        reason,
        purpose: rare.as_ref().and_then(|rare| rare.purpose.as_deref()),
        digest: digest.clone(),
    };
    // The person may take any time; only a cancellation, or an answer to another question, ends the wait.
    // Asked inside the future, so that a panic in the method itself is caught with it.
    let said = async move {
        tokio::select! {
            biased;
            answer = approver.ask(question) => Said::Answer(answer),
            verdict = answered_elsewhere(policy, query, changes) => Said::Decided(verdict),
        }
    };
    let said = match cancellable(said.boxed(), cx.until_started()).await {
        Some(Ok(said)) => said,
        Some(Err(_)) => {
            return Err(Refusal::new(
                RefusalCode::ApprovalRequired,
                "The question could not be asked, so the call did not run.",
            ));
        }
        None => return Err(cancelled()),
    };
    let mut remember = |stance, grant| {
        let remembered = caught(|| match cx.agent.as_deref() {
            Some(agent) => policy.remember_for(agent, stance, grant),
            None => policy.remember(stance, grant),
        });
        let why = match remembered {
            Ok(Ok(_)) => return,
            Ok(Err(why)) => {
                let _ = caught(|| approver.not_kept(&why));
                why.to_string()
            }
            Err(panic) => panic,
        };
        steps.note(|| What::Fault { message: why.into() });
    };
    match said {
        Said::Decided(verdict) if verdict.decision == Decision::Deny => {
            Err(denied(&invocation.tool.label, verdict))
        }
        Said::Decided(verdict) => Ok(Permit::of(verdict)),
        Said::Answer(Answer::Yes) => Ok(Permit::by_word("a person")),
        Said::Answer(Answer::Always(grant)) => {
            remember(Stance::Grant, &grant);
            Ok(Permit::by_word(format!("a person, always: {}", grant.rules.join("; "))))
        }
        Said::Answer(Answer::Never(grant)) => {
            remember(Stance::Deny, &grant);
            Err(said_no(rule, None))
        }
        Said::Answer(Answer::No(message)) => Err(said_no(rule, message)),
        Said::Answer(Answer::Nobody) => {
            let allow = if by_rules { rules_that_allow(&query) } else { Vec::new() };
            Err(nobody(query.tool, own_reason, rule, allow).with_digest(digest))
        }
    }
}

/// How a question ended.
enum Said {
    Answer(Answer),
    /// What a person said of something else decides this too.
    Decided(Verdict),
}

/// Waits until policy no longer asks about the call.
async fn answered_elsewhere(
    policy: &dyn Policy,
    query: Query<'_>,
    changes: Option<tokio::sync::watch::Receiver<u64>>,
) -> Verdict {
    let Some(mut changes) = changes else { return std::future::pending().await };
    loop {
        // Looked at before the first wait too: it may have been said since the call was judged.
        let verdict = policy.decide(&query);
        if verdict.decision != Decision::Ask {
            return verdict;
        }
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

fn said_no(rule: Option<RuleRef>, message: Option<String>) -> Refusal {
    let reason = match message {
        Some(message) => format!("The person said no: {message}"),
        None => "The person said no.".to_owned(),
    };
    let refusal = Refusal::new(RefusalCode::Denied, reason)
        .with_hint("Do not try the same again; ask what to do instead.");
    refusal.with_rule(rule)
}

/// `own` is why the tool itself asks, where it does.
fn nobody(tool: &ToolSpec, own: Option<Arc<str>>, rule: Option<RuleRef>, allow: Vec<String>) -> Refusal {
    let tool = &tool.id;
    let why = own.map_or_else(String::new, |why| format!(" ({why})"));
    let reason = format!("A call of `{tool}` needs a person's yes{why}, and nobody is there to give it.");
    let hint = match &rule {
        Some(rule) => {
            format!("The rule `{}` asks for a person each time; do something else meanwhile.", rule.text)
        }
        None if allow.is_empty() => {
            "Only a person's yes lets it run; do something else meanwhile.".to_owned()
        }
        None => {
            let rules = allow.join("` and `allow ");
            format!("The rule `allow {rules}` would let it run; do something else meanwhile.")
        }
    };
    let refusal = Refusal::new(RefusalCode::ApprovalRequired, reason).with_hint(hint);
    refusal.with_rule(rule).with_rules_that_allow(allow)
}
