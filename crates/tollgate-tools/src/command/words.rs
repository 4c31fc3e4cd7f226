//! A command's end, or how far it is, as the model reads it.

use std::path::{Path, PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{
    job::{Job, Over},
    repository::Repository,
    transcript::{Raw, Stream, Transcript},
};
use crate::{sandbox::Hidden, shell::Analysis};

/// A few of these paths, as seen from the working folder, and how many there are beside them.
pub(super) fn some(paths: &[PathBuf], from: &Path) -> String {
    const SHOWN: usize = 5;
    let shown =
        paths.iter().take(SHOWN).map(|path| path.strip_prefix(from).unwrap_or(path).display().to_string());
    let shown = shown.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Everything a command said and how it ended.
pub(super) fn result(job: &Job, number: Option<u32>, sandbox: &str, mut notes: Vec<String>) -> Value {
    let over = job.over();
    let mut told = json!({ "status": if over.is_some() { "ended" } else { "running" } });
    if let Some(over) = &over {
        told["exit_code"] = over.code.into();
        if let Some(signal) = over.signal {
            told["signal"] = signal.into();
        }
        ends(over, &mut notes);
    }
    if let Some(number) = number {
        told["job"] = number.into();
    }
    let took = over.map_or_else(|| job.began.elapsed(), |over| over.took);
    told["took_ms"] = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into();
    told["sandbox"] = sandbox.into();
    let output = output(&job.transcript(), number, &mut notes);
    if !notes.is_empty() {
        told["notes"] = notes.into();
    }
    // Last, so that how it went stands before what it said, however much that is.
    told["output"] = output;
    told
}

fn ends(over: &Over, notes: &mut Vec<String>) {
    if over.stopped {
        notes.push("It was told to end, with everything it had started.".to_owned());
    }
    if over.held {
        notes.push(
            "A process it started had the output still open when the shell ended; what that says later is not here."
                .to_owned(),
        );
    }
}

/// How much is kept of either end, in words.
const KEPT: &str = "1 MiB";

/// Stretches of bytes that are no text are given as they were up to this length.
const INLINE: u64 = 4 << 10;

/// True where a result cannot give every byte that was kept.
pub(super) fn needs_more(job: &Job) -> bool {
    job.transcript().told().iter().any(|one| one.replaced && one.length > INLINE)
}

/// What was said on both streams, in order, each stretch with its stream.
fn output(transcript: &Transcript, number: Option<u32>, notes: &mut Vec<String>) -> Value {
    let told = transcript.told();
    if told.iter().any(|one| one.replaced) {
        notes.push(match number {
            Some(number) => format!(
                "Some bytes are no UTF-8 text and are shown as \u{fffd}. `jobs` reads them as they were: \
                 {{\"action\": \"read\", \"job\": {number}, \"encoding\": \"base64\"}}."
            ),
            None => format!(
                "Some bytes are no UTF-8 text and are shown as \u{fffd}; base64 has them as they were, for stretches of up to \
                 {INLINE} bytes."
            ),
        });
    }
    let missing: u64 = told.iter().map(|one| one.missing).sum();
    if missing > 0 {
        notes.push(format!(
            "{missing} of {} bytes are left out of the middle; no more than the first and the last {KEPT} are kept. \
             Send the output to a file, or narrow it, to have all of it.",
            transcript.total()
        ));
    }
    if transcript.came_at_once() {
        notes.push(
            "Where stdout and stderr had something at the same moment, stdout stands first; which came first there is not known."
                .to_owned(),
        );
    }
    let stretch = |one: super::transcript::Told| {
        let mut stretch = json!({ "stream": one.stream.name(), "text": one.text });
        if one.replaced && one.length <= INLINE {
            let raw = transcript.raw(one.stream, one.offset, usize::try_from(one.length).unwrap_or_default());
            stretch["base64"] = BASE64_STANDARD.encode(raw.bytes).into();
        }
        if one.missing > 0 {
            stretch["missing_before"] = one.missing.into();
        }
        stretch
    };
    told.into_iter().map(stretch).collect()
}

/// Bytes of one stream of a job, as they were.
pub(super) fn raw(number: u32, stream: Stream, raw: &Raw) -> Value {
    json!({
        "job": number,
        "stream": stream.name(),
        "offset": raw.offset,
        "bytes": raw.bytes.len(),
        "total_bytes": raw.total,
        "base64": BASE64_STANDARD.encode(&raw.bytes),
    })
}

/// What the command was kept from, in words.
pub(super) fn kept(hidden: &Hidden, folder: &Path) -> Vec<String> {
    let told = [
        (&hidden.found, "Kept from the command, because a rule or their name says so"),
        (&hidden.closed, "Closed to changes by the command, because a rule says so"),
    ];
    let told = told.into_iter().filter(|(paths, _)| !paths.is_empty());
    told.map(|(paths, what)| format!("{what}: {}.", some(paths, folder))).collect()
}

/// Why git found no repository where there is one.
pub(super) fn unreached(job: &Job, analysis: &Analysis, folder: &Path, roots: &[PathBuf]) -> Option<String> {
    let failed = job.over().is_some_and(|over| over.code == Some(128)) && analysis.names("git");
    let out = Repository::of(folder).filter(|_| failed)?.out_of_reach(roots)?;
    let out = out.display();
    Some(format!(
        "blocked by the sandbox: {out} of this folder's repository lies outside the workspace. `--root` with the repository's top brings it in."
    ))
}
