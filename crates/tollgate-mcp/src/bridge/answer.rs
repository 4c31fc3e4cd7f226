//! What a server answered to a call becomes an output or a failure. Nothing is taken for more than it is.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json, value::RawValue};
use tollgate::{Failure, Output, outcome::Item};

/// An answer to `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) result_type: Option<String>,
    #[serde(default)]
    content: Option<Vec<Block>>,
    #[serde(default)]
    structured_content: Option<Value>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    pub(super) input_requests: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) request_state: Option<Value>,
}

/// A block of content. Nearly every one is a text, and needs no map of its fields.
enum Block {
    Text(String),
    Other(Value),
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Text<'a> {
            #[serde(rename = "type")]
            kind: &'a str,
            text: String,
        }
        let raw = <&RawValue>::deserialize(from)?.get();
        match serde_json::from_str::<Text<'_>>(raw) {
            Ok(Text { kind: "text", text }) => Ok(Self::Text(text)),
            // Something else, or a text in an odd form: that is told of the whole of it.
            _ => serde_json::from_str(raw).map(Self::Other).map_err(serde::de::Error::custom),
        }
    }
}

const NOT_UNDERSTOOD: &str = "The server has run the call; look up what it did before you call it again.";

impl Answer {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        serde_json::from_str(text).map_err(|error| odd(&error.to_string()))
    }

    /// True when the server wants something before it goes on.
    pub(super) fn wants_input(&self) -> bool {
        self.result_type.as_deref() == Some("input_required")
    }

    /// The output, or the failure it tells of.
    pub(super) fn settle(self, blocks_as: Blocks) -> Result<Output, Failure> {
        if let Some(kind) = self.result_type.as_deref().filter(|kind| *kind != "complete") {
            return Err(odd(&format!("its kind is {:?}", kind.chars().take(40).collect::<String>())));
        }
        if self.content.is_none() && self.structured_content.is_none() {
            return Err(odd("it has no content"));
        }
        let blocks = self.content.unwrap_or_default();
        let mut items =
            blocks.into_iter().map(|block| block.item(blocks_as)).collect::<Result<Vec<_>, _>>()?;
        if self.is_error == Some(true) {
            let said: Vec<_> = items.iter().map(text_of).collect();
            let said = if said.is_empty() { "the server gave no reason".to_owned() } else { said.join("\n") };
            return Err(Failure::fatal(said).untrusted());
        }
        if let Some(structured) = self.structured_content {
            // The same once more as text, for clients that know no structured content.
            items.retain(|item| !repeats(item, &structured));
            items.insert(0, Item::Json { json: structured });
        }
        let mut output = Output::default().untrusted();
        output.items = items;
        Ok(output)
    }
}

fn repeats(item: &Item, structured: &Value) -> bool {
    let Item::Text { text } = item else { return false };
    serde_json::from_str::<Value>(text).is_ok_and(|value| value == *structured)
}

/// What becomes of sound and of resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// Words for what a model cannot take.
    ForModels,
    /// The block itself, for a client of the same protocol.
    AsTheyAre,
}

impl Block {
    fn item(self, blocks: Blocks) -> Result<Item, Failure> {
        match self {
            Self::Text(text) => Ok(Item::Text { text }),
            Self::Other(block) => item(&block, blocks),
        }
    }
}

fn item(block: &Value, blocks: Blocks) -> Result<Item, Failure> {
    let field = |key: &str| block.get(key).and_then(Value::as_str);
    if blocks == Blocks::AsTheyAre && matches!(field("type"), Some("audio" | "resource")) {
        return Ok(Item::Json { json: block.clone() });
    }
    match field("type") {
        Some("text") => match field("text") {
            Some(text) => Ok(Item::Text { text: text.to_owned() }),
            None => Err(odd("a text without its text")),
        },
        Some("image") => picture(field("mimeType"), field("data")),
        Some("audio") => {
            let bytes = decoded(field("data"), "audio")?.len();
            let mime = field("mimeType").unwrap_or("of no known kind");
            Ok(Item::Text { text: format!("[sound, {mime}, {bytes} bytes: not shown]") })
        }
        Some("resource") => match block.get("resource") {
            Some(resource) => embedded(resource),
            None => Err(odd("a resource without the resource")),
        },
        // A link is data: whoever follows it makes a call of its own. So is what nobody here knows.
        Some(_) => Ok(Item::Json { json: block.clone() }),
        None => Err(odd("a block of content without its type")),
    }
}

fn picture(mime: Option<&str>, data: Option<&str>) -> Result<Item, Failure> {
    let bytes = decoded(data, "an image")?;
    let Some(mime) = mime.filter(|mime| mime.starts_with("image/") && mime.len() < 80) else {
        return Err(odd("an image of no kind that is known"));
    };
    let known = SIGNATURES.iter().any(|(kind, _)| *kind == mime);
    let really = SIGNATURES.iter().find(|(_, signature)| bytes.starts_with(signature)).map(|(kind, _)| *kind);
    match really {
        // Of these kinds one taken for another is refused by whoever is shown it: it goes by what it is.
        Some(really) if known => {
            Ok(Item::Image { mime: really.to_owned(), data: data.unwrap_or_default().into() })
        }
        None if known || bytes.is_empty() => Err(odd(&format!("an image that is marked {mime} and is none"))),
        _ => Ok(Item::Image { mime: mime.to_owned(), data: data.unwrap_or_default().into() }),
    }
}

/// How pictures of the kinds that models take begin.
const SIGNATURES: [(&str, &[u8]); 4] = [
    ("image/png", b"\x89PNG"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF8"),
    ("image/webp", b"RIFF"),
];

/// Whole text of a resource, or its picture; other bytes by what they are.
fn embedded(resource: &Value) -> Result<Item, Failure> {
    let field = |key: &str| resource.get(key).and_then(Value::as_str);
    match (field("text"), field("blob")) {
        (Some(_), _) => Ok(Item::Json { json: resource.clone() }),
        (None, Some(blob)) if field("mimeType").is_some_and(|mime| mime.starts_with("image/")) => {
            picture(field("mimeType"), Some(blob))
        }
        (None, Some(blob)) => {
            let size = decoded(Some(blob), "a resource")?.len();
            Ok(Item::Json {
                json: json!({"uri": field("uri"), "mimeType": field("mimeType"), "bytes": size, "blob": blob}),
            })
        }
        (None, None) => Err(odd("a resource with neither text nor bytes")),
    }
}

/// The bytes a base64 text stands for; an error where it is none.
fn decoded(data: Option<&str>, of: &str) -> Result<Vec<u8>, Failure> {
    let data = data.ok_or_else(|| odd(&format!("{of} without its data")))?;
    BASE64_STANDARD.decode(data).map_err(|_| odd(&format!("the data of {of} is no base64")))
}

fn text_of(item: &Item) -> String {
    match item {
        Item::Text { text } => text.clone(),
        Item::Json { json } => json.to_string(),
        Item::Image { mime, .. } => format!("[image, {mime}]"),
    }
}

fn odd(why: &str) -> Failure {
    Failure::fatal(format!("The server's answer could not be understood: {why}."))
        .with_hint(NOT_UNDERSTOOD)
        .untrusted()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a PNG picture begins.
    const PNG: &str = "iVBORw0KGgo=";

    fn settle(answer: &Value) -> Result<Vec<Item>, String> {
        let settled = Answer::read(&answer.to_string()).and_then(|answer| answer.settle(Blocks::ForModels));
        settled.map(|output| output.items).map_err(|failure| failure.message.clone())
    }

    #[test]
    fn every_kind_of_content_is_carried_as_what_it_is() {
        let text = |text: &str| Item::Text { text: text.to_owned() };
        let image = Item::Image { mime: "image/png".to_owned(), data: PNG.into() };
        let (png, file) = (
            json!({"type": "image", "data": PNG, "mimeType": "image/jpeg"}),
            json!({"uri": "file:///a", "text": "x"}),
        );
        for (answer, items) in [
            (json!({"content": []}), vec![]),
            (json!({"content": [{"type": "text", "text": "a"}, png]}), vec![text("a"), image.clone()]),
            (
                json!({"content": [{"type": "text", "text": "{\"n\": 1}"}], "structuredContent": {"n": 1}}),
                vec![Item::Json { json: json!({"n": 1}) }],
            ),
            (
                json!({"content": [{"type": "resource", "resource": file}]}),
                vec![Item::Json { json: file.clone() }],
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "u", "mimeType": "image/png", "blob": PNG}}]}),
                vec![image],
            ),
            (
                json!({"content": [{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}]}),
                vec![text("[sound, audio/wav, 3 bytes: not shown]")],
            ),
        ] {
            assert_eq!(settle(&answer).unwrap(), items, "{answer}");
        }
    }

    #[test]
    fn an_answer_that_is_none_is_a_failure() {
        for answer in [
            json!({}),
            json!(1),
            json!({"content": "text"}),
            json!({"content": [{"type": "text"}]}),
            json!({"content": [{"type": "image", "data": "@@not-base64@@", "mimeType": "image/png"}]}),
            json!({"content": [{"type": "image", "data": PNG, "mimeType": "text/html"}]}),
            json!({"content": [{"type": "image", "data": "PGh0bWw+", "mimeType": "image/png"}]}),
            json!({"content": [{"type": "image", "data": "", "mimeType": "image/svg+xml"}]}),
            json!({"content": [{"text": "a"}]}),
            json!({"content": [], "resultType": "task"}),
        ] {
            assert!(settle(&answer).is_err(), "{answer}");
        }
        assert_eq!(
            settle(&json!({"content": [{"type": "text", "text": "no"}], "isError": true})).unwrap_err(),
            "no"
        );
    }
}
