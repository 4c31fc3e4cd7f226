//! The short way to a yes: most arguments are a handful of plain fields, and one look at their text tells that it is
//! strict JSON the schema accepts. It never says no: whatever it does not know is left to the validator.

use serde_json::{Map, Value};

use crate::json::Likeness;

/// A schema of plain fields, as far as its text can be judged while it is read.
#[derive(Debug, Clone)]
pub(crate) struct Quick {
    takes: Kinds,
    least: i64,
    most: i64,
    /// The only texts there are.
    words: Option<Box<[Box<str>]>>,
    items: Option<Box<Quick>>,
    fields: Box<[Field]>,
    /// A bit for each field that must be there.
    required: u64,
}

#[derive(Debug, Clone)]
struct Field {
    name: Box<str>,
    likeness: Likeness,
    value: Quick,
}

/// Kinds of values, a bit each.
type Kinds = u8;

const KINDS: [(&str, Kinds); 7] = [
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("integer", WHOLE),
    ("number", WHOLE | BROKEN),
    ("string", TEXT),
    ("array", LIST),
    ("object", OBJECT),
];
const NULL: Kinds = 1;
const BOOLEAN: Kinds = 2;
const WHOLE: Kinds = 4;
const BROKEN: Kinds = 8;
const TEXT: Kinds = 16;
const LIST: Kinds = 32;
const OBJECT: Kinds = 64;
const ANY: Kinds = 127;

/// As many fields as there are bits to remember which have come.
const MOST_FIELDS: usize = 64;
/// As deep as plain arguments go: no text that nests deeper than is read at all is taken for one.
const MOST_LEVELS: usize = 16;
/// So many digits fit an `i64`, whichever they are.
const MOST_DIGITS: usize = 18;

impl Quick {
    /// `None` for a schema that asks for more than this can tell.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        Self::within(schema, MOST_LEVELS)
    }

    fn within(schema: &Value, levels: usize) -> Option<Self> {
        let below = levels.checked_sub(1)?;
        let map = match schema {
            Value::Bool(true) => &Map::new(),
            Value::Object(map) => map,
            _ => return None,
        };
        let mut quick = Self {
            takes: ANY,
            least: i64::MIN,
            most: i64::MAX,
            words: None,
            items: None,
            fields: Box::default(),
            required: 0,
        };
        for (key, value) in map {
            match key.as_str() {
                "type" => quick.takes = kinds(value)?,
                "minimum" => quick.least = value.as_i64()?,
                "maximum" => quick.most = value.as_i64()?,
                "enum" => quick.words = Some(words(value)?),
                "items" => quick.items = Some(Box::new(Self::within(value, below)?)),
                "properties" => quick.fields = fields(value, below)?,
                // Numbers have no format that a validator knows.
                "format" if NUMERIC.contains(&value.as_str()?) => {}
                // Fields it does not name are left to the validator anyway.
                "additionalProperties" | "unevaluatedProperties" | "required" | "$schema" => {}
                _ => return None,
            }
        }
        quick.required = required(map.get("required"), &quick.fields)?;
        Some(quick)
    }

    /// True where a value of this kind may stand; words alone are all texts.
    fn takes(&self, kind: Kinds) -> bool {
        self.takes & kind != 0 && self.words.is_none()
    }

    /// What stands for the arguments, where their text is strict JSON that the schema accepts, as far as this can tell.
    pub(crate) fn accepts(&self, text: &str) -> Option<Likeness> {
        let mut reader = Reader { text, rest: text.as_bytes() };
        let first = reader.first()?;
        let found = reader.value(self, first)?;
        reader.first().is_none().then_some(found)
    }
}

const NUMERIC: [&str; 10] =
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"];

fn kinds(names: &Value) -> Option<Kinds> {
    let kind = |name: &Value| KINDS.iter().find(|(known, _)| name == known).map(|(_, kind)| *kind);
    match names {
        Value::Array(names) => names.iter().try_fold(0, |all, name| Some(all | kind(name)?)),
        name => kind(name),
    }
}

fn words(list: &Value) -> Option<Box<[Box<str>]>> {
    list.as_array()?.iter().map(|word| word.as_str().map(Into::into)).collect()
}

fn fields(properties: &Value, levels: usize) -> Option<Box<[Field]>> {
    let properties = properties.as_object().filter(|properties| properties.len() <= MOST_FIELDS)?;
    // What begins with `$` may be a reference to a kept result.
    if properties.keys().any(|name| name.starts_with('$')) {
        return None;
    }
    let field = |(name, schema): (&String, &Value)| {
        let likeness = Likeness::of_text(name);
        Some(Field { name: name.as_str().into(), likeness, value: Quick::within(schema, levels)? })
    };
    properties.iter().map(field).collect()
}

fn required(names: Option<&Value>, fields: &[Field]) -> Option<u64> {
    let Some(names) = names else { return Some(0) };
    names.as_array()?.iter().try_fold(0, |all, name| {
        let at = fields.iter().position(|field| name == &*field.name)?;
        Some(all | 1 << at)
    })
}

/// Reads a text once, from its beginning. Gives up where something is not plain: an escape, a fraction, a field that is
/// not named or comes twice.
struct Reader<'t> {
    text: &'t str,
    rest: &'t [u8],
}

impl<'t> Reader<'t> {
    /// A value that begins with `first`.
    fn value(&mut self, quick: &Quick, first: u8) -> Option<Likeness> {
        match first {
            b'-' | b'0'..=b'9' if quick.takes(WHOLE) => {
                let number = self.whole(first)?;
                (quick.least <= number && number <= quick.most).then(|| Likeness::of_whole(number))
            }
            b'"' if quick.takes & TEXT != 0 => {
                let text = self.string()?;
                let known = quick.words.as_ref().is_none_or(|words| words.iter().any(|word| **word == *text));
                known.then(|| Likeness::of_text(text))
            }
            b'{' if quick.takes(OBJECT) => self.object(quick),
            // What nobody describes could hold anything.
            b'[' if quick.takes(LIST) => self.list(quick.items.as_deref()?),
            b't' if quick.takes(BOOLEAN) => self.word(b"true", const { Likeness::of_bool(true) }),
            b'f' if quick.takes(BOOLEAN) => self.word(b"false", const { Likeness::of_bool(false) }),
            b'n' if quick.takes(NULL) => self.word(b"null", Likeness::NULL),
            _ => None,
        }
    }

    fn object(&mut self, quick: &Quick) -> Option<Likeness> {
        self.rest = &self.rest[1..];
        let (mut come, mut all, mut next) = (0_u64, Likeness::EMPTY_OBJECT, 0);
        let mut first = self.first()?;
        if first == b'}' {
            self.rest = &self.rest[1..];
        } else {
            loop {
                let key = if first == b'"' { self.string()? } else { return None };
                // Most come in the order they are declared in.
                let at = match quick.fields.get(next) {
                    Some(field) if *field.name == *key => next,
                    _ => quick.fields.iter().position(|field| *field.name == *key)?,
                };
                next = at + 1;
                if come & (1 << at) != 0 {
                    return None;
                }
                come |= 1 << at;
                if self.first()? != b':' {
                    return None;
                }
                self.rest = &self.rest[1..];
                let field = &quick.fields[at];
                let begins = self.first()?;
                all = all.with(field.likeness, self.value(&field.value, begins)?);
                if self.ends(b'}')? {
                    break;
                }
                first = self.first()?;
            }
        }
        (come & quick.required == quick.required).then_some(all)
    }

    fn list(&mut self, items: &Quick) -> Option<Likeness> {
        self.rest = &self.rest[1..];
        let mut all = Likeness::EMPTY_LIST;
        if self.first()? == b']' {
            self.rest = &self.rest[1..];
            return Some(all);
        }
        loop {
            let first = self.first()?;
            all = all.then(self.value(items, first)?);
            if self.ends(b']')? {
                return Some(all);
            }
        }
    }

    /// Past the comma, or past the end.
    fn ends(&mut self, end: u8) -> Option<bool> {
        let found = self.first()?;
        self.rest = &self.rest[1..];
        (found == end || found == b',').then_some(found == end)
    }

    /// A text without escapes, that begins here.
    fn string(&mut self) -> Option<&'t str> {
        let inside = &self.rest[1..];
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

    fn word(&mut self, word: &[u8], found: Likeness) -> Option<Likeness> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(found)
    }

    /// The next byte that is not blank.
    fn first(&mut self) -> Option<u8> {
        loop {
            match *self.rest.first()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.rest = &self.rest[1..],
                first => return Some(first),
            }
        }
    }
}
