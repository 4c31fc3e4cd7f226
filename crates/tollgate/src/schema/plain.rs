//! Plain arguments, read once from their text: straight into what a tool wants, and held against their schema on the way.
//!
//! Gives up where something is not plain: an escape, a fraction, a field that is not named or comes twice, a type that
//! wants to be read in another way. Whoever asked then takes the long way, which knows why.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, Deserialize, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::quick::{BOOLEAN, LIST, NULL, OBJECT, Quick};
use crate::json::Likeness;

/// So many digits fit an `i64`, whichever they are.
const MOST_DIGITS: usize = 18;

pub(super) fn read<'t, T: Deserialize<'t>>(quick: &Quick, text: &'t str) -> Option<(T, Likeness)> {
    let mut reader = Reader { text, rest: text.as_bytes() };
    let mut found = Likeness::NULL;
    let value = T::deserialize(Value { reader: &mut reader, quick, found: &mut found }).ok()?;
    reader.first().is_none().then_some((value, found))
}

/// It is not plain. Nobody is told more: the long way finds the words.
#[derive(Debug)]
struct NotPlain;

impl fmt::Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not plain")
    }
}

impl std::error::Error for NotPlain {}

impl de::Error for NotPlain {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// A value that begins here, and what its schema says; what stands for it is left in `found`.
struct Value<'r, 't> {
    reader: &'r mut Reader<'t>,
    quick: &'r Quick,
    found: &'r mut Likeness,
}

impl<'t> Deserializer<'t> for Value<'_, 't> {
    type Error = NotPlain;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotPlain> {
        let Self { reader, quick, found } = self;
        match reader.first().ok_or(NotPlain)? {
            first @ (b'-' | b'0'..=b'9') => {
                let number =
                    reader.whole(first).filter(|number| quick.takes_whole(*number)).ok_or(NotPlain)?;
                *found = Likeness::of_whole(number);
                match u64::try_from(number) {
                    Ok(number) => visitor.visit_u64(number),
                    Err(_) => visitor.visit_i64(number),
                }
            }
            b'"' => {
                let text = reader.string().filter(|text| quick.takes_text(text)).ok_or(NotPlain)?;
                *found = Likeness::of_text(text);
                visitor.visit_borrowed_str(text)
            }
            b'{' if quick.takes(OBJECT) => {
                let mut fields = Fields::begin(reader, quick);
                let value = visitor.visit_map(&mut fields)?;
                *found = fields.all().ok_or(NotPlain)?;
                Ok(value)
            }
            // What nobody describes could hold anything.
            b'[' if quick.takes(LIST) => {
                let mut items = Items::begin(reader, quick.items.as_deref().ok_or(NotPlain)?);
                let value = visitor.visit_seq(&mut items)?;
                *found = items.all().ok_or(NotPlain)?;
                Ok(value)
            }
            b't' if quick.takes(BOOLEAN) && reader.word(b"true") => {
                *found = Likeness::of_bool(true);
                visitor.visit_bool(true)
            }
            b'f' if quick.takes(BOOLEAN) && reader.word(b"false") => {
                *found = Likeness::of_bool(false);
                visitor.visit_bool(false)
            }
            b'n' if quick.takes(NULL) && reader.word(b"null") => {
                *found = Likeness::NULL;
                visitor.visit_unit()
            }
            _ => Err(NotPlain),
        }
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, NotPlain> {
        if self.reader.first() != Some(b'n') {
            return visitor.visit_some(self);
        }
        if !self.quick.takes(NULL) || !self.reader.word(b"null") {
            return Err(NotPlain);
        }
        *self.found = Likeness::NULL;
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotPlain> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, NotPlain> {
        let Self { reader, quick, found } = self;
        if reader.first() != Some(b'"') {
            return Err(NotPlain);
        }
        let text = reader.string().filter(|text| quick.takes_text(text)).ok_or(NotPlain)?;
        *found = Likeness::of_text(text);
        visitor.visit_enum(text.into_deserializer())
    }

    // Bytes have no plain form in JSON.
    fn deserialize_bytes<V: Visitor<'t>>(self, _: V) -> Result<V::Value, NotPlain> {
        Err(NotPlain)
    }

    fn deserialize_byte_buf<V: Visitor<'t>>(self, _: V) -> Result<V::Value, NotPlain> {
        Err(NotPlain)
    }

    forward_to_deserialize_any! {
        <W: Visitor<'t>>
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

/// The fields of an object, as they come.
struct Fields<'r, 't> {
    reader: &'r mut Reader<'t>,
    quick: &'r Quick,
    // A bit for each that has come.
    come: u64,
    // The one that is being read, and behind it the one that most likely comes next.
    at: usize,
    all: Likeness,
    state: State,
}

/// The items of a list, as they come.
struct Items<'r, 't> {
    reader: &'r mut Reader<'t>,
    each: &'r Quick,
    all: Likeness,
    state: State,
}

/// How far a list or an object was read.
#[derive(PartialEq, Eq)]
enum State {
    Begins,
    Goes,
    Ended,
}

impl<'r, 't> Fields<'r, 't> {
    fn begin(reader: &'r mut Reader<'t>, quick: &'r Quick) -> Self {
        reader.skip();
        Self { reader, quick, come: 0, at: 0, all: Likeness::EMPTY_OBJECT, state: State::Begins }
    }

    /// What stands for all of them; `None` where some are missing, or nobody read to the end.
    fn all(self) -> Option<Likeness> {
        let whole = self.come & self.quick.required == self.quick.required;
        (whole && self.state == State::Ended).then_some(self.all)
    }
}

impl<'t> MapAccess<'t> for Fields<'_, 't> {
    type Error = NotPlain;

    fn next_key_seed<K: DeserializeSeed<'t>>(&mut self, seed: K) -> Result<Option<K::Value>, NotPlain> {
        if !self.reader.goes_on(b'}', &mut self.state).ok_or(NotPlain)? {
            return Ok(None);
        }
        let first = self.reader.first();
        let key = self.reader.string().filter(|_| first == Some(b'"')).ok_or(NotPlain)?;
        // Most come in the order they are declared in.
        let fields = &self.quick.fields;
        if fields.get(self.at).is_none_or(|field| *field.name != *key) {
            self.at = fields.iter().position(|field| *field.name == *key).ok_or(NotPlain)?;
        }
        if self.come & (1 << self.at) != 0 || self.reader.first() != Some(b':') {
            return Err(NotPlain);
        }
        self.reader.skip();
        self.come |= 1 << self.at;
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, NotPlain> {
        let field = self.quick.fields.get(self.at).ok_or(NotPlain)?;
        let mut found = Likeness::NULL;
        let value =
            seed.deserialize(Value { reader: self.reader, quick: &field.value, found: &mut found })?;
        self.all = self.all.with(field.likeness, found);
        self.at += 1;
        Ok(value)
    }
}

impl<'r, 't> Items<'r, 't> {
    fn begin(reader: &'r mut Reader<'t>, each: &'r Quick) -> Self {
        reader.skip();
        Self { reader, each, all: Likeness::EMPTY_LIST, state: State::Begins }
    }

    /// What stands for all of them; `None` where nobody read to the end.
    fn all(self) -> Option<Likeness> {
        (self.state == State::Ended).then_some(self.all)
    }
}

impl<'t> SeqAccess<'t> for Items<'_, 't> {
    type Error = NotPlain;

    fn next_element_seed<T: DeserializeSeed<'t>>(&mut self, seed: T) -> Result<Option<T::Value>, NotPlain> {
        if !self.reader.goes_on(b']', &mut self.state).ok_or(NotPlain)? {
            return Ok(None);
        }
        let mut found = Likeness::NULL;
        let value = seed.deserialize(Value { reader: self.reader, quick: self.each, found: &mut found })?;
        self.all = self.all.then(found);
        Ok(Some(value))
    }
}

/// Reads a text from its beginning.
struct Reader<'t> {
    text: &'t str,
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    /// The next byte that is not blank.
    fn first(&mut self) -> Option<u8> {
        loop {
            match *self.rest.first()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.skip(),
                first => return Some(first),
            }
        }
    }

    /// Past the byte that was looked at.
    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    /// Past the comma, or past the end: then false.
    fn goes_on(&mut self, end: u8, state: &mut State) -> Option<bool> {
        if *state == State::Ended {
            return Some(false);
        }
        let first = self.first()?;
        if first == end {
            self.skip();
            *state = State::Ended;
            return Some(false);
        }
        if *state == State::Goes {
            if first != b',' {
                return None;
            }
            self.skip();
        }
        *state = State::Goes;
        Some(true)
    }

    /// A text without escapes, that begins here.
    fn string(&mut self) -> Option<&'t str> {
        let inside = self.rest.get(1..)?;
        let length = inside.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
        if inside[length] != b'"' {
            return None;
        }
        let from = self.text.len() - inside.len();
        self.rest = &inside[length + 1..];
        Some(&self.text[from..from + length])
    }

    fn whole(&mut self, first: u8) -> Option<i64> {
        let negative = first == b'-';
        let digits = if negative { &self.rest[1..] } else { self.rest };
        let (mut size, mut count) = (0_i64, 0);
        while let Some(digit @ b'0'..=b'9') = digits.get(count) {
            if count == MOST_DIGITS {
                return None;
            }
            size = size * 10 + i64::from(digit - b'0');
            count += 1;
        }
        let zero = digits.first() == Some(&b'0');
        let odd = count == 0 || (zero && (count > 1 || negative));
        if odd || matches!(digits.get(count), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        self.rest = &digits[count..];
        Some(if negative { -size } else { size })
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
