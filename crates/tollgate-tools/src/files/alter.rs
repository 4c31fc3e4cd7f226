//! What `write` and `edit` share: compare, change, journal, verify, and say what came of it.

use std::{path::Path, sync::Arc};

use serde_json::{Value, json};
use tollgate::{
    Cx, Failure, Output,
    outcome::{Evidence, Item},
};

use super::{
    Files,
    change::{Edit, Miss, apply},
    diff,
    patch::BadPatch,
    replace::{self, NotDone, Standing},
};
use crate::{
    beneath::{Held, failure, shown},
    blocking::{Stop, off_thread, stopped},
    command::Reading,
    journal::Change,
};

/// A change of one file, as a call asks for it.
pub(super) struct Wanted {
    pub(super) tool: &'static str,
    pub(super) path: String,
    pub(super) held: Arc<Held>,
    /// The hash the file must have, as the call says it.
    pub(super) hash: Option<String>,
    pub(super) edits: Vec<Edit>,
}

/// What an answer tells of what stood in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    All,
    Nothing,
}

/// A hash may be shortened to this many digits.
pub(super) const SHORTEST_HASH: usize = 12;

/// Makes the change, off the async threads.
pub(super) async fn alter(files: &Arc<Files>, cx: &Cx, wanted: Wanted) -> Result<Output, Failure> {
    let real = wanted.held.path();
    let expected = wanted.hash.clone().or_else(|| files.seen.of(cx, &real));
    let change = Change::new(cx, wanted.tool, wanted.held.place());
    // Somebody was asked about reading where an edit compares; where it does not, what stands there is not told.
    let told = if files.guard.says(cx, &real) == Reading::Allowed || wanted.edits.iter().any(Edit::compares) {
        Told::All
    } else {
        Told::Nothing
    };
    let shared = files.clone();
    let (output, hash) =
        off_thread(move |stop| shared.change(&wanted, (expected.as_deref(), told), change, stop)).await?;
    files.seen.note(cx, &real, &hash);
    Ok(output)
}

impl Files {
    fn change(
        &self,
        wanted: &Wanted,
        (expected, told): (Option<&str>, Told),
        mut change: Change,
        stop: &Stop,
    ) -> Result<(Output, String), Failure> {
        let held = &*wanted.held;
        let real = held.path();
        let undone = |why: NotDone| not_done(&real, why);
        let standing = replace::lock(held, stop).map_err(undone)?;
        self.compare(&real, (expected, told), &standing, &wanted.edits)?;
        let before = standing.now.as_ref().map(|now| &now.bytes[..]);
        let after = apply(before, &wanted.edits).map_err(|miss| missed(&real, &miss, &standing))?;
        let hash = Evidence::of(&after).as_str().to_owned();
        if before == Some(&after[..]) {
            return Ok((said(wanted, "unchanged", &hash, None), hash));
        }
        let ready = replace::prepare(held, &standing, &after, None).map_err(undone)?;
        change.before = standing.now.as_ref().map(|now| now.hash.clone());
        change.mode = standing.now.as_ref().map(replace::Now::mode);
        change.after = Some(hash.clone());
        change.made.clone_from(&ready.made);
        let entry = match &self.journal {
            Some(journal) => Some(journal.record(change, before).map_err(|error| {
                Failure::fatal(format!("The change could not be journaled, so it was not made: {error}."))
                    .with_hint(
                        "Ask the person to look at the folder of the journal; `tollgate doctor` names it.",
                    )
                    .caused_by(error)
            })?),
            None => None,
        };
        if let Err(why) = ready.commit(&standing, &after, stop) {
            if let (Some(journal), Some(entry), false) =
                (&self.journal, &entry, matches!(why, NotDone::NotVerified))
            {
                let _ = journal.close(entry);
            }
            return Err(match why {
                NotDone::Raced => self.conflict(&real, None, &wanted.edits, told),
                why => undone(why),
            });
        }
        let what = if before.is_some() { "changed" } else { "created" };
        if told == Told::Nothing && before.is_some() {
            return Ok((quiet(wanted, what), hash));
        }
        let difference = diff::unified(Path::new(&wanted.path), before.unwrap_or_default(), &after);
        Ok((said(wanted, what, &hash, Some(&difference)), hash))
    }

    /// A file that is not what the model last saw is not changed.
    fn compare(
        &self,
        real: &Path,
        (expected, told): (Option<&str>, Told),
        standing: &Standing,
        edits: &[Edit],
    ) -> Result<(), Failure> {
        let Some(expected) = expected else { return Ok(()) };
        let digits = |hash: &str| hash.trim_start_matches("sha256:").to_ascii_lowercase();
        match &standing.now {
            Some(now) if digits(&now.hash).starts_with(&digits(expected)) => Ok(()),
            // It was there when the model saw it; making it anew is what such an edit says.
            None if matches!(edits.first(), Some(Edit::Create { .. } | Edit::Overwrite { .. })) => Ok(()),
            _ => Err(self.conflict(real, Some(standing), edits, told)),
        }
    }

    /// Tells a loser what stands in the file now, who wrote it, and what is nearest to its edit.
    fn conflict(&self, real: &Path, standing: Option<&Standing>, edits: &[Edit], told: Told) -> Failure {
        let path = shown(real.as_os_str());
        let now = standing.and_then(|standing| standing.now.as_ref());
        let (what, who) = match (standing, now) {
            (Some(_), None) => ("is gone".to_owned(), String::new()),
            (_, Some(now)) => {
                let author = self.journal.as_ref().and_then(|journal| journal.author(real, &now.hash));
                let who = author.map_or(" by something other than these tools".to_owned(), |entry| {
                    let Change { tool, call, caller, run, .. } = &entry.change;
                    format!(" by `{tool}` (call {call} of {caller}, run {run})")
                });
                match told {
                    Told::All => (format!("has the content {} now", now.hash), who),
                    Told::Nothing => ("has another content now".to_owned(), who),
                }
            }
            (None, None) => ("was changed at the same moment".to_owned(), String::new()),
        };
        let message =
            format!("{path} is not what you last saw: it was changed{who} and {what}. Nothing was written.");
        let near = now.and_then(|now| edits.iter().find_map(|edit| near(edit, &now.bytes)));
        let quotes = near.is_some();
        let near = near.map_or(String::new(), |near| format!(" Nearest to your edit stands:\n{near}"));
        let failure = Failure::fatal(message + &near)
            .with_hint("Read the file again, then repeat the edit on what is there.");
        if quotes { failure.untrusted() } else { failure }
    }
}

fn near(edit: &Edit, now: &[u8]) -> Option<String> {
    match edit {
        Edit::Replace { old, .. } => super::nearest::to(now, old),
        _ => None,
    }
}

fn missed(real: &Path, miss: &Miss, standing: &Standing) -> Failure {
    let path = shown(real.as_os_str());
    let near = match miss {
        Miss::NotFound { nearest } => nearest.clone(),
        Miss::Patch(BadPatch::NoFit { wanted, .. }) => {
            standing.now.as_ref().and_then(|now| super::nearest::to(&now.bytes, wanted))
        }
        _ => None,
    };
    let quotes = near.is_some();
    let near = near.map_or(String::new(), |near| format!(" Nearest to it stands:\n{near}"));
    let hint = match miss {
        Miss::Exists => "Overwrite or edit it instead, if that is what you mean.",
        Miss::Absent => "Create it first.",
        Miss::EmptyOld => "Give the text to replace, or insert at a line.",
        Miss::NotFound { .. } | Miss::Patch(BadPatch::NoFit { .. }) => {
            "Copy the lines exactly as they stand in the file, white space included."
        }
        Miss::Count { .. } => "Give more lines around it so that it is the only one, or say `count`.",
        Miss::Line { .. } => "Read the file to see its lines.",
        Miss::Patch(_) => {
            "Write a unified diff of this one file, each hunk with some lines around the change."
        }
        Miss::Wide | Miss::Foreign => "Convert the file to UTF-8 first, or overwrite it whole.",
    };
    let failure = Failure::fatal(format!("{path}: {miss}. Nothing was written.{near}")).with_hint(hint);
    if quotes { failure.untrusted() } else { failure }
}

fn not_done(real: &Path, why: NotDone) -> Failure {
    let path = shown(real.as_os_str());
    match why {
        NotDone::Trouble(trouble) => failure(real, trouble),
        NotDone::Stopped => stopped(),
        NotDone::Locked => {
            Failure::retryable(format!("{path} is locked by another program. Nothing was written."))
        }
        NotDone::ReadOnly => Failure::fatal(format!("{path} is read-only. Nothing was written."))
            .with_hint("Ask the person whether it is meant to be, before its permissions are changed."),
        NotDone::Owner | NotDone::Attribute(_) => {
            Failure::fatal(format!("{path}: {why}. Nothing was written."))
                .with_hint("Ask the person to change it, or to give it to you.")
        }
        NotDone::NotVerified => Failure::unknown(format!("{path}: {why}."))
            .with_hint("Read the file before you do anything more to it."),
        NotDone::Raced | NotDone::TooLarge(_) => {
            Failure::fatal(format!("{path}: {why}. Nothing was written."))
                .with_hint("Read the file again before you repeat the change.")
        }
    }
}

/// What came of a change of a file that may not be read.
fn quiet(wanted: &Wanted, what: &str) -> Output {
    let note = "what stood in the file is not told: a rule or its name keeps it from being read";
    Output::json(json!({"path": wanted.path, "change": what, "note": note}))
}

fn said(wanted: &Wanted, what: &str, hash: &str, difference: Option<&diff::Difference>) -> Output {
    let mut meta = json!({"path": wanted.path, "change": what, "hash": hash});
    if let Some(difference) = difference {
        meta["lines_added"] = Value::from(difference.added);
        meta["lines_removed"] = Value::from(difference.removed);
    }
    let output = Output::json(meta);
    // The diff is of what stood in the file: data, like everything that is read.
    match difference {
        Some(difference) if !difference.text.is_empty() => {
            output.and(Item::Text { text: difference.text.clone() }).untrusted()
        }
        _ => output,
    }
}
