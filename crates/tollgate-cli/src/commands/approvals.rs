//! `tollgate approvals`: questions that wait for a person, listed whole and answered once.

use tollgate::policy::{Lifetime, NotAnswered, Pending, Reply};

use tollgate_store::LazyStore;

use crate::{
    approver::show,
    args::{AnswerQuestion, Approvals, Environment, HowLong, Shared, Word},
    exit::{Exit, Fault},
    store, words, world,
};

pub(crate) fn run(approvals: &Approvals, shared: &Shared) -> Result<Exit, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
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
                let pending = desk.answer(&answer.id, &reply).await.map_err(fault)?;
                told(&pending, &reply, shared)
            }
        }
    })
}

fn list(waiting: &[Pending], shared: &Shared) -> Result<Exit, Fault> {
    if shared.json {
        waiting.iter().try_for_each(|pending| words::data(&words::json(pending)))?;
        return Ok(Exit::Done);
    }
    if waiting.is_empty() {
        words::talk("no question waits for a person.");
    }
    for pending in waiting {
        let minutes = pending.expires_ms.saturating_sub(pending.asked_ms) / 60_000;
        words::data(&format!(
            "{}   to be answered within {minutes} minutes of being asked\n{}  how far an always or a never could reach:\n{}",
            pending.id,
            show::pending(pending),
            show::reaches(&pending.reaches)
        ))?;
    }
    Ok(Exit::Done)
}

fn reply(answer: &AnswerQuestion, waiting: &[Pending]) -> Result<Reply, Fault> {
    let further = answer.reach.is_some() || !answer.rule.is_empty();
    match answer.answer {
        Word::Yes | Word::No if further => Err(Fault::usage(
            "--reach and --rule go with always and never",
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

fn told(pending: &Pending, reply: &Reply, shared: &Shared) -> Result<Exit, Fault> {
    if shared.json {
        words::data(&words::json(
            &serde_json::json!({"id": pending.id, "digest": pending.digest, "reply": reply}),
        ))?;
    } else {
        let tool = words::visible(&pending.tool);
        words::talk(&format!("answered: the next call of {tool} with exactly these arguments uses it up."));
    }
    Ok(Exit::Done)
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
