//! When the window fills, old results give way to references; calls and answers stay paired, and the rest as it is.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use tollgate::{
    Output,
    outcome::{Item, Outcome, Trust},
    tool::CallId,
};

use super::{Entry, History, Kept};

/// A result that takes room it need not take.
#[derive(Debug, Clone)]
pub struct Room {
    /// The entry it stands in.
    pub entry: usize,
    /// The call it answers.
    pub id: CallId,
    /// The whole of it as text, to be kept elsewhere; `None` where that was done when it was given.
    pub whole: Option<String>,
    /// How many characters the history has less without it.
    pub chars: usize,
    /// Whether its content may be taken at its word.
    pub trust: Trust,
}

/// A result that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// The entry it stands in.
    pub entry: usize,
    /// The call it answers.
    pub id: CallId,
    /// Where the whole of it is; `None` where nothing keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// How many characters it had.
    pub chars: usize,
}

/// Shorter ones are left as they are: the words that would stand for them take as much room.
const WORTH_IT: usize = 600;

impl History {
    /// How many characters [`History::room`] would win.
    pub fn room_chars(&self, keep: usize) -> usize {
        self.old(keep).flat_map(|at| self.worth_it(at)).map(|(_, chars)| chars).sum()
    }

    /// The results that could be put aside, all but those of the latest `keep` turns that have any.
    pub fn room(&self, keep: usize) -> Vec<Room> {
        let old =
            self.old(keep).flat_map(|at| self.worth_it(at).map(move |(answer, chars)| (at, answer, chars)));
        old.map(|(at, answer, chars)| {
            let kept = answer.offloaded.as_ref().is_some_and(|aside| aside.result.is_some());
            Room {
                entry: at,
                id: answer.id.clone(),
                whole: answer.output().filter(|_| !kept).map(text),
                chars,
                trust: answer.trust,
            }
        })
        .collect()
    }

    /// The places of results, without the latest `keep` of them.
    fn old(&self, keep: usize) -> impl Iterator<Item = usize> {
        let places: Vec<usize> = self
            .entries()
            .iter()
            .enumerate()
            .filter(|(_, entry)| matches!(entry, Entry::Results { .. }))
            .map(|(at, _)| at)
            .collect();
        let old = places.len().saturating_sub(keep);
        places.into_iter().take(old)
    }

    /// The answers of an entry that are long enough to be put aside, and how long they are.
    fn worth_it(&self, at: usize) -> impl Iterator<Item = (&Kept, usize)> {
        let answers = match self.entries().get(at) {
            Some(Entry::Results { answers }) => &answers[..],
            _ => &[],
        };
        let long = answers.iter().filter_map(|answer| answer.output().map(|output| (answer, length(output))));
        long.filter(|(_, chars)| *chars >= WORTH_IT)
    }

    /// Puts results aside. What is not there, or was put aside before, is passed over.
    pub(crate) fn put_aside(&mut self, aside: &[Aside]) {
        for one in aside {
            let Some(Entry::Results { answers }) = self.entries_mut().get_mut(one.entry) else { continue };
            let Some(answer) = answers.iter_mut().find(|answer| answer.id == one.id) else { continue };
            let earlier = answer.offloaded.as_ref().and_then(|aside| aside.result.as_ref());
            let reference =
                one.reference.clone().or_else(|| earlier.map(|earlier| earlier.as_str().to_owned()));
            if matches!(answer.outcome, Outcome::Ok(_)) {
                let words = words(one.chars, reference.as_deref());
                answer.0.outcome = Outcome::Ok(Output::text(words));
                // Our own words now, whatever they stand for.
                answer.0.trust = Trust::TrustedSystem;
            }
        }
    }
}

fn words(chars: usize, reference: Option<&str>) -> String {
    match reference {
        Some(reference) => format!(
            "(This result of {chars} characters was put aside to save room. It is kept whole as {reference}; \
             read what you need of it with `result_read`.)"
        ),
        None => format!(
            "(This result of {chars} characters was left out to save room. Call the tool again if you need it.)"
        ),
    }
}

/// Characters of an answer as the model sees it, about.
pub(crate) fn shown_length(answer: &tollgate::Settled) -> usize {
    match &answer.outcome {
        Outcome::Ok(output) => length(output) + 50,
        _ => 300,
    }
}

fn length(output: &Output) -> usize {
    output
        .items
        .iter()
        .map(|item| match item {
            Item::Text { text } => text.len(),
            Item::Json { json } => json.to_string().len(),
            // Counted by its size in points on the wire, not by its bytes.
            Item::Image { .. } => 5_000,
        })
        .sum()
}

fn text(output: &Output) -> String {
    let mut whole = String::new();
    for item in &output.items {
        if !whole.is_empty() {
            whole.push('\n');
        }
        match item {
            Item::Text { text } => whole.push_str(text),
            Item::Json { json } => whole.push_str(&json.to_string()),
            Item::Image { mime, .. } => {
                let _ = write!(whole, "(a picture, {mime})");
            }
        }
    }
    whole
}
