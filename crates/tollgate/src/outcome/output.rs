//! What a tool gives back: text, JSON and images, and how ordinary return types become them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::failure::Failure;

/// The output of a call that succeeded: items in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Output {
    /// The items, in the order the model gets them.
    pub items: Vec<Item>,
    #[serde(skip)]
    pub(crate) untrusted: bool,
}

/// One item of an output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value.
    Json {
        /// The value.
        json: Value,
    },
    /// A picture.
    Image {
        /// As `image/png`.
        mime: String,
        /// The bytes in base64, as every provider wants them.
        data: Arc<str>,
    },
}

impl Item {
    /// About how many bytes it takes to hold it.
    pub(crate) fn weight(&self) -> usize {
        const FRAME: usize = 32;
        FRAME
            + match self {
                Self::Text { text } => text.len(),
                Self::Json { json } => weight_of(json),
                Self::Image { data, .. } => data.len(),
            }
    }
}

fn weight_of(json: &Value) -> usize {
    const VALUE: usize = 32;
    VALUE
        + match json {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight_of).sum(),
            Value::Object(map) => map.iter().map(|(key, value)| VALUE + key.len() + weight_of(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Whether what a result holds may be taken at its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Made by us.
    TrustedSystem,
    /// Bridged, fetched, read from a file or from a tool that talks to the outside: data, never instructions.
    UntrustedContent,
}

impl Trust {
    /// The lower of the two.
    pub(crate) fn worse(self, other: Self) -> Self {
        if self == Self::UntrustedContent { self } else { other }
    }
}

impl Output {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::item(Item::Text { text: text.into() })
    }

    /// One JSON value.
    pub fn json(json: impl Into<Value>) -> Self {
        Self::item(Item::Json { json: json.into() })
    }

    /// One picture, its bytes in base64.
    pub fn image(mime: impl Into<String>, base64: impl Into<Arc<str>>) -> Self {
        Self::item(Item::Image { mime: mime.into(), data: base64.into() })
    }

    fn item(item: Item) -> Self {
        Self { items: vec![item], untrusted: false }
    }

    /// The same with one item more.
    #[must_use]
    pub fn and(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }

    /// The same, marked as content nobody vouches for, whatever the tool's own label.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.untrusted = true;
        self
    }

    /// True for one number, yes or no, or nothing: there is no text in it that could hide, hold or be anything.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(&self.items[..], [Item::Json { json: Value::Number(_) | Value::Bool(_) | Value::Null }])
    }

    /// The first JSON item: what an output schema speaks of.
    pub fn structured(&self) -> Option<&Value> {
        self.items.iter().find_map(|item| match item {
            Item::Json { json } => Some(json),
            _ => None,
        })
    }
}

/// A return type that becomes one JSON item, its schema derived and checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

/// What a tool may return.
///
/// Text, numbers, `bool`, `()`, [`Output`], [`Json<T>`] for your own types, and a `Result` of any of them
/// whose error converts into [`Failure`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a tool",
    label = "not a tool output",
    note = "return `String`, a number, `bool`, `()`, `Output`, `Json<YourType>` (with `Serialize` and `JsonSchema`), or a `Result` of one of them"
)]
pub trait IntoOutput {
    /// The schema of the JSON this type becomes; `None` where it becomes text or anything else.
    fn output_schema() -> Option<Value> {
        None
    }

    /// The output, or the failure this value stands for.
    fn into_output(self) -> Result<Output, Failure>;
}

impl IntoOutput for Output {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self)
    }
}

impl IntoOutput for String {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::text(self))
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::text(self))
    }
}

impl IntoOutput for () {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::text("done"))
    }
}

impl<T: Serialize + JsonSchema> IntoOutput for Json<T> {
    fn output_schema() -> Option<Value> {
        Some(output_schema_of::<T>())
    }

    fn into_output(self) -> Result<Output, Failure> {
        let value = serde_json::to_value(&self.0)
            .map_err(|error| Failure::fatal("the result could not be written as JSON").caused_by(error))?;
        Ok(Output::json(value))
    }
}

fn output_schema_of<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T);
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value()
}

macro_rules! scalar_output {
    ($($scalar:ty),+) => {$(
        impl IntoOutput for $scalar {
            fn output_schema() -> Option<Value> {
                Some(output_schema_of::<$scalar>())
            }

            fn into_output(self) -> Result<Output, Failure> {
                Ok(Output::json(self))
            }
        }
    )+};
}

scalar_output!(bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64);

impl IntoOutput for Value {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::json(self))
    }
}

impl<T: IntoOutput, E: Into<Failure>> IntoOutput for Result<T, E> {
    fn output_schema() -> Option<Value> {
        T::output_schema()
    }

    fn into_output(self) -> Result<Output, Failure> {
        self.map_err(Into::into).and_then(T::into_output)
    }
}
