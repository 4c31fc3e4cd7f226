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
    pub(super) items: Option<Box<Quick>>,
    pub(super) fields: Box<[Field]>,
    /// A bit for each field that must be there.
    pub(super) required: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) likeness: Likeness,
    pub(super) value: Quick,
}

/// Kinds of values, a bit each.
pub(super) type Kinds = u8;

const KINDS: [(&str, Kinds); 7] = [
    ("null", NULL),
    ("boolean", BOOLEAN),
    ("integer", WHOLE),
    ("number", WHOLE | BROKEN),
    ("string", TEXT),
    ("array", LIST),
    ("object", OBJECT),
];
pub(super) const NULL: Kinds = 1;
pub(super) const BOOLEAN: Kinds = 2;
const WHOLE: Kinds = 4;
const BROKEN: Kinds = 8;
const TEXT: Kinds = 16;
pub(super) const LIST: Kinds = 32;
pub(super) const OBJECT: Kinds = 64;
const ANY: Kinds = 127;

/// As many fields as there are bits to remember which have come.
const MOST_FIELDS: usize = 64;
/// As deep as plain arguments go: no text that nests deeper than is read at all is taken for one.
const MOST_LEVELS: usize = 16;

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
    pub(super) fn takes(&self, kind: Kinds) -> bool {
        self.takes & kind != 0 && self.words.is_none()
    }

    /// True where this whole number may stand.
    pub(super) fn takes_whole(&self, number: i64) -> bool {
        self.takes(WHOLE) && self.least <= number && number <= self.most
    }

    /// True where this text may stand.
    pub(super) fn takes_text(&self, text: &str) -> bool {
        self.takes & TEXT != 0
            && self.words.as_ref().is_none_or(|words| words.iter().any(|word| **word == *text))
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
