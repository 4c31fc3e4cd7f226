//! An answer in words: the output on stdout, anything else on stderr with what to do about it.

use tollgate::{
    Failure, Refusal, Settled,
    outcome::{FailureKind, Item, Outcome, RefusalCode},
    policy::{Layer, RuleRef},
};

use super::{
    data, entry,
    names::{same, unknown_tool},
    talk, visible,
};
use crate::{exit::Fault, world::World};

/// Tells how a call ended. `inert` is the rule that would have let it run, did its file count.
pub(crate) fn answer(settled: &Settled, inert: Option<&RuleRef>, world: &World) -> Result<(), Fault> {
    let place = format!("{}: {}", settled.phase.title(), visible(&settled.tool));
    if settled.replayed {
        talk("note: replayed: this is the answer of an earlier call under the same key; nothing ran now.");
    }
    match &settled.outcome {
        Outcome::Ok(output) => {
            for item in &output.items {
                data(&shown(item))?;
            }
        }
        Outcome::Refused(refusal) => {
            talk(&format!("refused at {place}"));
            tell_refusal(refusal);
            let way = way_on(refusal, &settled.tool, world);
            talk(&line("hint:", &or_trusting(inert, &way)));
        }
        Outcome::Failed(failure) => {
            talk(&format!("{} at {place}", settled.status()));
            talk(&line("reason", &failure.message));
            talk(&line("hint:", &after(failure)));
        }
    }
    if let Some(file) = settled.offloaded.as_ref().and_then(|offloaded| world.file_of(offloaded)) {
        talk(&format!("note: the whole result is kept in {}", file.display()));
    }
    for words in &settled.context {
        talk(&format!("note: {}", visible(words)));
    }
    Ok(())
}

fn line(word: &str, text: &str) -> String {
    entry::<6>(word, text)
}

fn shown(item: &Item) -> String {
    match item {
        Item::Text { text } => text.clone(),
        Item::Json { json } => format!("{json:#}"),
        Item::Image { mime, data } => format!("[picture: {mime}, {} characters of base64]", data.len()),
    }
}

fn tell_refusal(refusal: &Refusal) {
    if let Some(rule) = &refusal.rule {
        talk(&line("rule", &format!("{}   {}", rule.text, rule.source)));
    }
    if refusal.violations.is_empty() {
        talk(&line("reason", &refusal.reason));
    }
    if let Some(digest) = &refusal.digest {
        talk(&line("digest", digest.as_str()));
    }
    for violation in &refusal.violations {
        let place = if violation.pointer.is_empty() { "the arguments" } else { &violation.pointer };
        talk(&line("reason", &format!("{place}: {}", violation.message)));
    }
}

/// A rule that is written down and does nothing, in words.
pub(crate) fn trusting(rule: &RuleRef) -> String {
    format!("`{}` at {} would let it run; it is inert until `tollgate trust`.", rule.text, rule.source)
}

/// The way on, after the rule that is there already.
pub(super) fn or_trusting(inert: Option<&RuleRef>, way: &str) -> String {
    inert.map_or_else(|| way.to_owned(), |rule| format!("{} Otherwise {way}", trusting(rule)))
}

/// What the person at the command line can do; the model's own hint where that is all there is.
pub(super) fn way_on(refusal: &Refusal, tool: &str, world: &World) -> String {
    match refusal.code {
        RefusalCode::UnknownTool => unknown_tool(tool, world),
        RefusalCode::ApprovalRequired => match &refusal.rule {
            Some(rule) if rule.text.starts_with("ask always ") || rule.layer == Some(Layer::Managed) => {
                format!("`{}` asks each time: only a person's yes lets it run.", rule.text)
            }
            Some(rule) if &*rule.source == "--ask" => "leave --ask out, or let a person answer.".to_owned(),
            _ if refusal.would_allow.is_empty() => "only a person's yes lets it run.".to_owned(),
            _ => format!(
                "give {} to let it run; `tollgate explain {tool} JSON` shows narrower rules.",
                allowing(&refusal.would_allow)
            ),
        },
        RefusalCode::InvalidJson => format!(
            "write the arguments as one JSON object in single quotes, as '{{\"name\": \"value\"}}'; `tollgate tools show {tool}`{} shows them.",
            same(world)
        ),
        RefusalCode::InvalidArguments => {
            format!("correct these fields; `tollgate tools show {tool}`{} shows them all.", same(world))
        }
        RefusalCode::RequiresInteraction => "nobody can be asked from this command line.".to_owned(),
        RefusalCode::MissingIdempotencyKey => "give --idempotency-key KEY.".to_owned(),
        RefusalCode::OutsideRoots => "give --root DIR for each folder that calls may touch.".to_owned(),
        RefusalCode::NotDisclosed => "leave --route out, or add the tool to the route.".to_owned(),
        _ => match &refusal.hint {
            Some(hint) => hint.clone(),
            None => format!("`tollgate explain {tool} JSON` shows the whole path of a call."),
        },
    }
}

/// Options that let rules count, as they are typed in a shell.
pub(super) fn allowing(rules: &[String]) -> String {
    let option = |rule: &String| format!("--allow '{}'", rule.replace('\'', r"'\''"));
    rules.iter().map(option).collect::<Vec<_>>().join(" ")
}

fn after(failure: &Failure) -> String {
    match (&failure.hint, failure.kind) {
        (Some(hint), _) => hint.clone(),
        (None, FailureKind::Retryable) => match failure.retry_after {
            Some(wait) => format!("nothing happened; try again in {} ms.", wait.as_millis()),
            None => "nothing happened; try again.".to_owned(),
        },
        (None, FailureKind::Fatal) => "the same call will fail again; change the arguments.".to_owned(),
        (None, FailureKind::Unknown) => "find out whether it took effect before you repeat it.".to_owned(),
    }
}
