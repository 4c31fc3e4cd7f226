//! A number that equal values share, whichever way it is computed: from a value, or while its text is read.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use serde_json::{Number, Value};

/// What equal values have in common. Different ones differ in it but for chance; nothing is decided by it that chance
/// could turn to the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Likeness(u64);

impl Likeness {
    pub(crate) const NULL: Self = Self(0x9e37_79b9_7f4a_7c15);

    /// Of a value. Nothing is copied, and the order of an object's fields does not matter.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(bool) => Self::of_bool(*bool),
            Value::Number(number) => of_number(number),
            Value::String(text) => Self::of_text(text),
            Value::Array(items) => items.iter().map(Self::of).fold(Self::EMPTY_LIST, Self::then),
            Value::Object(map) => map
                .iter()
                .fold(Self::EMPTY_OBJECT, |all, (key, value)| all.with(Self::of_text(key), Self::of(value))),
        }
    }

    pub(crate) const EMPTY_LIST: Self = Self(0xd1b5_4a32_d192_ed03);
    pub(crate) const EMPTY_OBJECT: Self = Self(0xaef1_7502_b3a7_11e9);

    pub(crate) const fn of_bool(bool: bool) -> Self {
        Self(Self::NULL.0.wrapping_add(1 + bool as u64))
    }

    pub(crate) fn of_whole(number: i64) -> Self {
        Self(mixed(1, number.cast_unsigned()))
    }

    pub(crate) fn of_text(text: &str) -> Self {
        let mut hasher = FixedState::default().build_hasher();
        hasher.write(text.as_bytes());
        Self(hasher.finish())
    }

    /// A list, and an item more at its end.
    pub(crate) fn then(self, item: Self) -> Self {
        Self(mixed(self.0, item.0))
    }

    /// An object, and a field more.
    pub(crate) fn with(self, key: Self, value: Self) -> Self {
        Self(self.0.wrapping_add(mixed(key.0, value.0)))
    }

    /// The same of a call of this tool.
    pub(crate) fn of_call(self, tool: usize) -> u64 {
        mixed(tool as u64, self.0)
    }
}

fn of_number(number: &Number) -> Likeness {
    match (number.as_i64(), number.as_u64()) {
        (Some(whole), _) => Likeness::of_whole(whole),
        (None, Some(large)) => Likeness(mixed(2, large)),
        (None, None) => Likeness(mixed(3, number.as_f64().map_or(0, f64::to_bits))),
    }
}

/// Two numbers in one: every bit of either moves about half of its bits.
fn mixed(one: u64, two: u64) -> u64 {
    let product = u128::from(one ^ 0x2d35_8dcc_aa6c_78a5) * u128::from(two ^ 0x8bb8_4b93_962e_acc9);
    let (high, low) = (product >> 64, product & u128::from(u64::MAX));
    #[expect(clippy::cast_possible_truncation, reason = "either half is 64 bits")]
    let folded = (high ^ low) as u64;
    folded
}
