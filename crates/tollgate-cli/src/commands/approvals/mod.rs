//! `tollgate approvals`: questions that wait for a person, listed whole and answered once.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tollgate::policy::{Confirmed, Desk, Lifetime, NotAnswered, Pending, Reply, RuleRef};
use tollgate_store::LazyStore;

use crate::{
    approver::show,
    args::{AnswerQuestion, Approvals, Environment, HowLong, Shared, Word},
    commands::trace::time,
    exit::{Exit, Fault},
    store, words, world,
};

mod lasting;

use lasting::Lasting;

pub(crate) fn run(approvals: &Approvals, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let environment = Environment::read();
    let store = store::place(&environment)?.map(LazyStore::new);
    let desk = world::desk(&environment, store.as_ref()).ok_or_else(|| {
        Fault::usage(
            "nothing says where questions wait",
            "set TOLLGATE_HOME to the folder the calls ran with.",
        )
    })?;
    runtime.block_on(async {
        let waiting = desk.list().await.map_err(fault)?;
        match approvals {
            Approvals::List(_) => list(&waiting, shared),
            Approvals::Answer(answer) => {
                let reply = reply(answer, &waiting)?;
                settle(&*desk, answer, reply, &waiting, (shared, &environment)).await
            }
        }
    })
}

fn list(waiting: &[Pending], shared: &Shared) -> Result<Exit, Fault> {
    if shared.json {
        waiting.iter().try_for_each(|pending| words::data(&words::json(&named(pending))))?;
        return Ok(Exit::Done);
    }
    if waiting.is_empty() {
        words::talk("no question waits for a person.");
    }
    for pending in waiting {
        let at = |ms: u64| time(i64::try_from(ms).unwrap_or(i64::MAX));
        words::data(&format!(
            "{}   asked {}, to be answered until {}\n{}  how far an always or a never could reach:\n{}",
            pending.id,
            at(pending.asked_ms),
            at(pending.expires_ms),
            show::pending(pending),
            show::reaches(&pending.reaches)
        ))?;
    }
    Ok(Exit::Done)
}

/// A question with the names its parts have everywhere else.
fn named(pending: &Pending) -> Value {
    let mut named = json!(pending);
    named["input"] = named["args"].take();
    if let Some(fields) = named.as_object_mut() {
        fields.remove("args");
    }
    if let Some((text, source)) = &pending.rule {
        named["rule"] = json!({"text": text, "source": source});
    }
    named
}

fn reply(answer: &AnswerQuestion, waiting: &[Pending]) -> Result<Reply, Fault> {
    let further = answer.reach.is_some() || !answer.rule.is_empty() || answer.confirm_wide;
    match answer.answer {
        Word::Yes | Word::No if further => Err(Fault::usage(
            "--reach, --rule and --confirm-wide go with always and never",
            "leave them out, or say always or never.",
        )),
        Word::Yes => Ok(Reply::Yes),
        Word::No => Ok(Reply::No { message: answer.message.clone() }),
        Word::Always => {
            Ok(Reply::Always { rules: rules(answer, waiting)?, lifetime: answer.lifetime.into() })
        }
        Word::Never => Ok(Reply::Never { rules: rules(answer, waiting)?, lifetime: answer.lifetime.into() }),
    }
}

/// The rules as given, or those of the way far that was chosen. None is chosen for a person.
fn rules(answer: &AnswerQuestion, waiting: &[Pending]) -> Result<Vec<String>, Fault> {
    if !answer.rule.is_empty() {
        return Ok(answer.rule.clone());
    }
    let hint = "give --reach NUMBER as `tollgate approvals list` shows them, or --rule RULE.";
    let number = answer.reach.ok_or_else(|| Fault::usage("always and never need to know how far", hint))?;
    let pending =
        waiting.iter().find(|pending| pending.id == answer.id || pending.digest.as_str() == answer.id);
    let pending = pending.ok_or_else(|| fault(NotAnswered::Unknown(answer.id.clone())))?;
    let reach = number.checked_sub(1).and_then(|index| pending.reaches.get(index));
    let reach =
        reach.ok_or_else(|| Fault::usage(format!("there is no reach {number} for this question"), hint))?;
    Ok(reach.rules.clone())
}

/// Writes what lasts, answers the question, and every other one that what was written answers.
async fn settle(
    desk: &dyn Desk,
    answer: &AnswerQuestion,
    reply: Reply,
    waiting: &[Pending],
    (shared, environment): (&Shared, &Environment),
) -> Result<Exit, Fault> {
    let id = answer.id.as_str();
    let is_meant = |pending: &&Pending| pending.id == id || pending.digest.as_str() == id;
    let confirmed = if answer.confirm_wide { Confirmed::Yes } else { Confirmed::No };
    let lasting = match waiting.iter().find(is_meant) {
        Some(pending) => lasting::write(&reply, pending, confirmed, (shared, environment)).await?,
        // The desk says why there is none.
        None => Lasting::Nothing,
    };
    let reply = match (&lasting, reply) {
        // What could not be written now is not tried again behind the person's back: the call alone has its answer.
        (Lasting::Not(_), Reply::Always { .. }) => Reply::Yes,
        (Lasting::Not(_), Reply::Never { .. }) => Reply::No { message: None },
        (_, reply) => reply,
    };
    let pending = desk.answer(id, &reply).await.map_err(fault)?;
    let mut others = Vec::new();
    if let Lasting::Written(rules) = &lasting {
        let rest = waiting.iter().filter(|other| other.digest != pending.digest);
        for (other, reply) in lasting::also_answered(rules, rest, shared).await {
            // Somebody may have been quicker.
            if desk.answer(other.digest.as_str(), &reply).await.is_ok() {
                others.push(other.id.as_str());
            }
        }
    }
    told(&pending, &reply, (&lasting, &others), shared)
}

fn told(
    pending: &Pending,
    reply: &Reply,
    (lasting, others): (&Lasting, &[&str]),
    shared: &Shared,
) -> Result<Exit, Fault> {
    let exit = if matches!(lasting, Lasting::Not(_)) { Exit::Failed } else { Exit::Done };
    if shared.json {
        let mut line = json!({"id": pending.id, "digest": pending.digest, "reply": reply});
        match lasting {
            Lasting::Nothing => {}
            Lasting::Written(rules) => line["written"] = json!(rules),
            Lasting::Not(why) => line["not_written"] = why.as_str().into(),
        }
        if !others.is_empty() {
            line["also_answered"] = json!(others);
        }
        words::data(&words::json(&line))?;
        return Ok(exit);
    }
    let tool = words::visible(&pending.tool);
    let once = format!("the next call of {tool} with exactly these arguments uses it up");
    let mut text = match (lasting, reply) {
        (Lasting::Written(rules), _) => rules.iter().map(in_force).collect::<Vec<_>>().join("\n"),
        (Lasting::Not(why), _) => {
            let why = words::visible(why);
            format!(
                "answered for this call alone: {once}.\nerror: no rule was written: {why}\nhint: put that right, then answer the next question so."
            )
        }
        (Lasting::Nothing, Reply::Always { .. } | Reply::Never { .. }) => format!(
            "answered: {once}, and the rule holds from there on in the session of whoever makes it.\nhint: --for project or --for user writes it down now."
        ),
        (Lasting::Nothing, _) => format!("answered: {once}."),
    };
    if !others.is_empty() {
        let _ = write!(text, "\nit answers other questions too: {}", others.join(", "));
    }
    words::talk(&text);
    Ok(exit)
}

fn in_force(rule: &RuleRef) -> String {
    format!("in force: {}   {}", words::visible(&rule.text), words::visible(&rule.source))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` asks for")]
fn fault(error: NotAnswered) -> Fault {
    let hint = match error {
        NotAnswered::Desk(_) => "`tollgate doctor` says what is set up.",
        _ => "`tollgate approvals list` shows what waits.",
    };
    Fault::usage(error.to_string(), hint)
}

impl From<HowLong> for Lifetime {
    fn from(long: HowLong) -> Self {
        match long {
            HowLong::Session => Self::Session,
            HowLong::Project => Self::Project,
            HowLong::User => Self::User,
        }
    }
}
