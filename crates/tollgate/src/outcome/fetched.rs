//! Kept results that arguments refer to, read and checked before anyone validates, on a thread that may be blocked.

use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
    sync::Arc,
};

use futures_util::future::BoxFuture;

use super::{Label, Opened, Part, ResultRef, ResultStore, StoreFault, Trust, reference::LONGEST_SOURCE};
use crate::{
    guard::{Spawner, off_thread},
    tool::Caller,
};

/// More than anyone refers to in one call; what is beyond is read where it is needed.
const MOST: usize = 8;

/// A store in which what a call refers to is at hand.
pub(crate) struct Fetched {
    store: Arc<dyn ResultStore>,
    caller: Caller,
    at_hand: HashMap<ResultRef, Content>,
}

struct Content {
    content: Arc<[u8]>,
    bytes: u64,
    trust: Trust,
}

impl Fetched {
    /// Reads what the text of the arguments refers to. `None` when it refers to nothing that can be read.
    pub(crate) async fn of(
        text: &str,
        caller: &Caller,
        store: &Arc<dyn ResultStore>,
        spawner: Option<&dyn Spawner>,
    ) -> Option<Self> {
        let wanted = references(text);
        let (from, whose) = (store.clone(), caller.clone());
        let read = move || {
            let at_hand = wanted.into_iter().filter_map(|result| {
                // What cannot be read is asked for again where the refusal can say so.
                let content = read(&*from, &result, &whose).ok()?;
                Some((result, content))
            });
            at_hand.collect::<HashMap<_, _>>()
        };
        let at_hand = off_thread(spawner, read).await.filter(|at_hand| !at_hand.is_empty())?;
        Some(Self { store: store.clone(), caller: caller.clone(), at_hand })
    }
}

fn read(store: &dyn ResultStore, result: &ResultRef, caller: &Caller) -> Result<Content, StoreFault> {
    let Opened { content, bytes, trust } = store.open(result, caller)?;
    let mut whole = Vec::new();
    // One that is too long is refused by its length alone.
    if bytes <= LONGEST_SOURCE {
        content.take(LONGEST_SOURCE).read_to_end(&mut whole)?;
    }
    Ok(Content { content: whole.into(), bytes, trust })
}

/// Everything in the text that looks like a reference, each once.
fn references(text: &str) -> Vec<ResultRef> {
    const DIGITS: usize = "sha256:".len() + 64;
    let mut found: Vec<ResultRef> = Vec::new();
    for (at, _) in text.match_indices("sha256:") {
        let Some(Ok(result)) = text.get(at..at + DIGITS).map(ResultRef::parse) else { continue };
        if !found.contains(&result) {
            found.push(result);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

impl ResultStore for Fetched {
    fn keep(&self, whole: Arc<str>, label: Label) -> BoxFuture<'_, Result<ResultRef, StoreFault>> {
        self.store.keep(whole, label)
    }

    fn read<'a>(
        &'a self,
        result: &'a ResultRef,
        caller: &'a Caller,
        part: Part,
    ) -> BoxFuture<'a, Result<String, StoreFault>> {
        self.store.read(result, caller, part)
    }

    fn open(&self, result: &ResultRef, caller: &Caller) -> Result<Opened, StoreFault> {
        match self.at_hand.get(result).filter(|_| *caller == self.caller) {
            Some(Content { content, bytes, trust }) => {
                Ok(Opened { content: Box::new(Cursor::new(content.clone())), bytes: *bytes, trust: *trust })
            }
            None => self.store.open(result, caller),
        }
    }
}
