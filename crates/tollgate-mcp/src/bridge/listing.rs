//! A server's list of tools, page by page: every entry is read alone, and the asking always comes to an end.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;

use super::{definition::Definition, upstream::Upstream};
use crate::{
    client::{Fault, Request, Session, header_fault},
    config::Endpoint,
};

/// Pages of one list.
const MOST_PAGES: usize = 100;

/// Bytes of one list; of one page there is the limit of a message.
const MOST_BYTES: usize = 32 << 20;

/// What has come of a list so far.
pub(super) struct Listing<'a> {
    upstream: &'a Upstream,
    pub(super) definitions: BTreeMap<String, Definition>,
    /// Which entries cannot be used, and why; also why a list was not read to its end.
    pub(super) aside: Vec<(String, String)>,
    seen: usize,
    bytes: usize,
    cursors: BTreeSet<String>,
}

/// A page with its entries as they were written: one that is no proper JSON value costs itself alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<Value>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(upstream: &'a Upstream) -> Self {
        Self {
            upstream,
            definitions: BTreeMap::new(),
            aside: Vec::new(),
            seen: 0,
            bytes: 0,
            cursors: BTreeSet::new(),
        }
    }

    /// Asks for page after page. The first must come; where a later one does not, the tools before it stay.
    pub(super) async fn ask(&mut self, session: &Arc<Session>) -> Result<(), Fault> {
        let mut next = self.page(session, None).await?;
        // Half of what a start may take, so that what has come by then is not lost with it.
        let until = Instant::now() + self.upstream.config.timeouts.start / 2;
        while let Some(cursor) = next {
            if let Some(why) = self.enough(&cursor) {
                self.leave_rest(&why);
                break;
            }
            self.cursors.insert(cursor.clone());
            next = match tokio::time::timeout_at(until, self.page(session, Some(&cursor))).await {
                Ok(Ok(next)) => next,
                Ok(Err(fault)) if !session.is_alive() => return Err(fault),
                Ok(Err(fault)) => {
                    self.leave_rest(&fault.to_string());
                    None
                }
                Err(_) => {
                    self.leave_rest("its pages do not come to an end in time");
                    None
                }
            };
        }
        Ok(())
    }

    /// Why no further page is asked for, where that is so.
    fn enough(&self, cursor: &str) -> Option<String> {
        let limits = &self.upstream.config.limits;
        if self.cursors.contains(cursor) {
            return Some("its pages lead back to one that was read".to_owned());
        }
        if self.seen > limits.tools {
            return Some(format!("it has more than {} tools", limits.tools));
        }
        if self.bytes > MOST_BYTES.max(limits.message) {
            return Some(format!("it has more than {} MiB", MOST_BYTES.max(limits.message) >> 20));
        }
        (self.cursors.len() + 1 >= MOST_PAGES).then(|| format!("it has more than {MOST_PAGES} pages"))
    }

    fn leave_rest(&mut self, why: &str) {
        let at = self.seen.min(self.upstream.config.limits.tools);
        self.aside.push((format!("tools[{at}] and after"), format!("the list was not read further: {why}")));
    }

    async fn page(&mut self, session: &Arc<Session>, cursor: Option<&str>) -> Result<Option<String>, Fault> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let page = session.request(Request::new("tools/list", &params)).await?;
        self.bytes += page.get().len();
        let Page { tools, next_cursor } = serde_json::from_str(page.get())
            .map_err(|error| Fault::Malformed(format!("its list of tools is none: {error}")))?;
        for entry in tools {
            self.seen += 1;
            if self.seen <= self.upstream.config.limits.tools {
                self.take(entry.get());
            }
        }
        if self.seen > self.upstream.config.limits.tools && next_cursor.is_none() {
            self.leave_rest(&format!("it has more than {} tools", self.upstream.config.limits.tools));
        }
        // Only words lead on. An empty one is how some servers say that there is no more.
        Ok(next_cursor
            .and_then(|cursor| cursor.as_str().map(str::to_owned))
            .filter(|cursor| !cursor.is_empty()))
    }

    fn take(&mut self, entry: &str) {
        match self.read(entry) {
            Ok(definition) if self.definitions.contains_key(definition.name.as_str()) => {
                let why = "the list has another tool of that name".to_owned();
                self.aside.push((definition.name.to_string(), why));
            }
            Ok(definition) => {
                self.definitions.insert(definition.name.as_str().to_owned(), definition);
            }
            Err(aside) => self.aside.push(aside),
        }
    }

    fn read(&self, entry: &str) -> Result<Definition, (String, String)> {
        let at = self.seen - 1;
        let entry: Value = serde_json::from_str(entry)
            .map_err(|error| (format!("tools[{at}]"), format!("it cannot be read: {error}")))?;
        let definition = Definition::read(&entry, at, &self.upstream.config.limits)?;
        let behind_http = matches!(self.upstream.config.endpoint, Endpoint::Http { .. });
        match header_fault(&definition.input_schema).filter(|_| behind_http) {
            Some(why) => Err((definition.name.to_string(), why)),
            None => Ok(definition),
        }
    }
}
