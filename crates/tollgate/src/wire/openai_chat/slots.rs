//! Which call a piece of a chat stream belongs to, though servers differ in how they say it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    call::Proposed,
    wire::{
        body::NOT_UTF8,
        calls::{CallIds, is_object},
        envelope::value_of,
        loose::Loose,
        stream::Incoming,
    },
};

/// A piece of a call. Whole or in parts, with an index or without, its id in every piece or only in the first.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Loose<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Loose<'a>>,
    #[serde(borrow)]
    arguments: Option<Loose<'a>>,
}

/// One call, as far as it has come.
#[derive(Default)]
pub(super) struct Slot {
    index: Option<u64>,
    id: Option<OwnLoose>,
    name: Option<OwnLoose>,
    arguments: String,
    extra: Option<Value>,
    fault: Option<&'static str>,
    damaged: bool,
    told: bool,
}

/// What stood where a text belongs, kept.
type OwnLoose = Loose<'static>;

impl Piece<'_> {
    fn id(&self) -> &str {
        text(self.id.as_ref())
    }

    fn name(&self) -> &str {
        text(self.function.as_ref().and_then(|function| function.name.as_ref()))
    }

    /// The arguments in this piece.
    pub(super) fn arguments(&self) -> &str {
        text(self.function.as_ref().and_then(|function| function.arguments.as_ref()))
    }

    /// True where it adds nothing to any call.
    pub(super) fn says_nothing(&self) -> bool {
        self.arguments().is_empty() && self.name().is_empty()
    }

    /// The slot this piece belongs to; `None` where it begins a new one.
    pub(super) fn slot(&self, slots: &[Slot]) -> Option<usize> {
        let (id, name) = (self.id(), self.name());
        if let Some(index) = self.index {
            let at = slots.iter().rposition(|slot| slot.index == Some(index))?;
            // Some servers number every call 0 and tell them apart by id alone.
            return (!slots[at].is_other(id, name)).then_some(at);
        }
        if !id.is_empty() {
            return slots.iter().rposition(|slot| text(slot.id.as_ref()) == id);
        }
        let at = slots.len().checked_sub(1)?;
        let begins = !name.is_empty() && (slots[at].is_other(id, name) || !slots[at].arguments.is_empty());
        (!begins).then_some(at)
    }
}

fn text<'a>(loose: Option<&'a Loose<'_>>) -> &'a str {
    match loose {
        Some(Loose::Text(text)) => text,
        _ => "",
    }
}

impl Slot {
    pub(super) fn new(piece: &Piece<'_>) -> Self {
        Self { index: piece.index, ..Self::default() }
    }

    fn is_other(&self, id: &str, name: &str) -> bool {
        let (own_id, own_name) = (text(self.id.as_ref()), text(self.name.as_ref()));
        let differs = |own: &str, new: &str| !own.is_empty() && !new.is_empty() && own != new;
        differs(own_id, id) || differs(own_name, name)
    }

    /// Takes a piece in.
    pub(super) fn add(&mut self, event: Incoming<'_>, piece: Piece<'_>) {
        if self.told && !piece.arguments().is_empty() {
            self.fault = Some("Its arguments went on after they had ended.");
        }
        self.damaged |= event.damaged;
        keep(&mut self.id, piece.id);
        self.extra = self.extra.take().or_else(|| piece.extra_content.and_then(value_of));
        let Some(function) = piece.function else { return };
        keep(&mut self.name, function.name);
        match function.arguments {
            None | Some(Loose::Null) => {}
            Some(Loose::Text(more)) => self.arguments.push_str(&more),
            Some(_) => self.fault = Some("The arguments are not a string of JSON."),
        }
    }

    /// The call, where its arguments are whole by themselves: nothing can follow an object.
    pub(super) fn tell_if_whole(&mut self, ids: &mut CallIds) -> Option<Proposed> {
        if is_object(&self.arguments) { self.tell(ids) } else { None }
    }

    /// The call, the first time it is asked for.
    pub(super) fn tell(&mut self, ids: &mut CallIds) -> Option<Proposed> {
        if std::mem::replace(&mut self.told, true) {
            return None;
        }
        let call = self.call(ids);
        // An id that had to be made is made once.
        self.id = Some(match self.id.take() {
            Some(Loose::Text(id)) if !id.is_empty() => Loose::Text(id),
            _ => {
                self.fault = self.fault.or(Some("The call came without an id that is a string."));
                Loose::Text(Cow::Owned(call.id.as_str().to_owned()))
            }
        });
        Some(call)
    }

    /// The call as it stands.
    pub(super) fn call(&self, ids: &mut CallIds) -> Proposed {
        let mut call = ids.head(again(self.id.as_ref()), again(self.name.as_ref())).with(&*self.arguments);
        if let Some(fault) = self.fault {
            call = call.broken(fault);
        }
        if self.damaged {
            call = call.unreadable(NOT_UTF8);
        }
        call
    }

    pub(super) fn extra(&mut self) -> Option<Value> {
        self.extra.take()
    }
}

/// Keeps the first that says anything.
fn keep(own: &mut Option<OwnLoose>, new: Option<Loose<'_>>) {
    let has_text = matches!(own, Some(Loose::Text(text)) if !text.is_empty());
    match new {
        None | Some(Loose::Null) => {}
        Some(_) if has_text => {}
        Some(new) => *own = Some(owned(new)),
    }
}

fn owned(loose: Loose<'_>) -> OwnLoose {
    match loose {
        Loose::Text(text) => Loose::Text(Cow::Owned(text.into_owned())),
        Loose::Scalar(text) => Loose::Scalar(text),
        Loose::Parts(text) => Loose::Parts(text),
        Loose::Null => Loose::Null,
        Loose::Other => Loose::Other,
    }
}

fn again(loose: Option<&OwnLoose>) -> Loose<'_> {
    match loose {
        Some(Loose::Text(text)) => Loose::Text(Cow::Borrowed(text)),
        Some(Loose::Scalar(text)) => Loose::Scalar(text.clone()),
        Some(Loose::Parts(_) | Loose::Other) => Loose::Other,
        Some(Loose::Null) | None => Loose::Null,
    }
}
