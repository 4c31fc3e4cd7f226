//! `{"$result": "ref#/pointer"}` inside arguments stands for what was kept, before anyone judges them.

use std::io::Read as _;

use serde_json::{Map, Value};

use super::{Opened, Refusal, RefusalCode, ResultRef, ResultStore, StoreFault, Trust};
use crate::tool::Caller;

const REFERENCE: &str = "$result";

/// The longest kept result that is read for an argument. A part of a longer one comes through `result_read`.
pub(super) const LONGEST_SOURCE: u64 = 16 << 20;

/// The most characters that references of one call may stand for.
const MOST: usize = 4 << 20;

/// True when the text could hold a reference; false means there is none.
pub(crate) fn may_refer(text: &str) -> bool {
    text.as_bytes().contains(&b'$') && text.contains(REFERENCE)
}

/// Puts what was kept in the place of each reference, and says whether any of it is doubtful.
///
/// `$$result` stands for a field that is really called `$result`; what was kept is not looked into again.
pub(crate) fn resolve(
    args: &mut Value,
    store: Option<&dyn ResultStore>,
    caller: &Caller,
) -> Result<Trust, Refusal> {
    let mut resolver = Resolver { store, caller, trust: Trust::TrustedSystem, room: MOST };
    resolver.walk(args, &mut String::new())?;
    Ok(resolver.trust)
}

struct Resolver<'a> {
    store: Option<&'a dyn ResultStore>,
    caller: &'a Caller,
    trust: Trust,
    room: usize,
}

impl Resolver<'_> {
    fn walk(&mut self, value: &mut Value, pointer: &mut String) -> Result<(), Refusal> {
        match value {
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.step(item, &at.to_string(), pointer)?;
                }
            }
            Value::Object(map) => {
                if map.contains_key(REFERENCE) {
                    *value = self.resolve(map, pointer)?;
                    return Ok(());
                }
                if map.keys().any(|key| is_escaped(key)) {
                    let plain = std::mem::take(map).into_iter();
                    *map = plain.map(|(key, value)| (unescaped(key), value)).collect();
                }
                for (key, item) in map.iter_mut() {
                    self.step(item, &key.replace('~', "~0").replace('/', "~1"), pointer)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn step(&mut self, item: &mut Value, name: &str, pointer: &mut String) -> Result<(), Refusal> {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(name);
        self.walk(item, pointer)?;
        pointer.truncate(length);
        Ok(())
    }

    fn resolve(&mut self, map: &Map<String, Value>, at: &str) -> Result<Value, Refusal> {
        let Some(Value::String(text)) = map.get(REFERENCE).filter(|_| map.len() == 1) else {
            return Err(bad(at, "a reference is an object with the one field `$result`, a text"));
        };
        let (reference, pointer) = match text.split_once('#') {
            Some((reference, pointer)) => (reference, Some(pointer)),
            None => (text.as_str(), None),
        };
        let Some(store) = self.store else { return Err(bad(at, "no results are kept here")) };
        let whole = ResultRef::parse(reference).and_then(|result| {
            let opened = store.open(&result, self.caller)?;
            self.read(opened)
        });
        let whole = whole.map_err(|fault| bad(at, &said(&fault)))?;
        let value = match pointer {
            None => Value::String(whole),
            Some(pointer) => pointed(&whole, pointer).map_err(|why| bad(at, &why))?,
        };
        let length = match &value {
            Value::String(text) => text.len(),
            other => other.to_string().len(),
        };
        self.room = self
            .room
            .checked_sub(length)
            .ok_or_else(|| bad(at, "the references of this call stand for more than an argument may hold"))?;
        Ok(value)
    }

    fn read(&mut self, opened: Opened) -> Result<String, StoreFault> {
        if opened.bytes > LONGEST_SOURCE {
            return Err(StoreFault::Full { bytes: opened.bytes, quota: LONGEST_SOURCE });
        }
        if opened.trust == Trust::UntrustedContent {
            self.trust = Trust::UntrustedContent;
        }
        let mut text = String::new();
        opened.content.take(LONGEST_SOURCE).read_to_string(&mut text)?;
        Ok(text)
    }
}

/// What a JSON pointer leads to; the whole document for an empty one.
fn pointed(whole: &str, pointer: &str) -> Result<Value, String> {
    let document: Value = serde_json::from_str(whole)
        .map_err(|_| "what is kept is not JSON, so no pointer leads into it".to_owned())?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return Err("a pointer begins with `/`".to_owned());
    }
    let found = document.pointer(pointer).cloned();
    found.ok_or_else(|| format!("the pointer `{}` leads nowhere", crate::json::shorten(pointer, 100)))
}

fn said(fault: &StoreFault) -> String {
    match fault {
        StoreFault::Full { bytes, .. } => {
            format!(
                "what is kept there has {bytes} bytes, more than an argument may hold; read a part of it first"
            )
        }
        StoreFault::Io(_) => "what is kept there cannot be read at the moment".to_owned(),
        other => other.to_string(),
    }
}

fn bad(at: &str, why: &str) -> Refusal {
    let place = if at.is_empty() { "the arguments".to_owned() } else { format!("`{at}`") };
    Refusal::new(RefusalCode::BadResultRef, format!("The result reference in {place} cannot be used: {why}."))
        .with_hint(
            "Use a reference from one of your own results, as {\"$result\":\"sha256:…#/pointer\"}; \
             write `$$result` for a field that is really called `$result`.",
        )
}

fn is_escaped(key: &str) -> bool {
    key.starts_with("$$") && key.trim_start_matches('$') == "result"
}

fn unescaped(key: String) -> String {
    if is_escaped(&key) { key[1..].to_owned() } else { key }
}
