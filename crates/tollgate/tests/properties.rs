//! Properties of the pure parts: strict reading, canonical writing, and previews that lose no count.

mod world;

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};
use tollgate::{
    Output,
    json::{canonical, parse_strict},
    tool::ResultLimit,
};
use world::{Bodies, Count, World, reader, text};

/// Any JSON value of a few levels.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((any::<String>(), inner), 0..6).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

/// The same value with the fields of every object the other way round.
fn turned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Object(map) => {
            let turned: Map<_, _> =
                map.iter().rev().map(|(key, value)| (key.clone(), turned(value))).collect();
            turned.into()
        }
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn strict_reading_agrees_with_serde_json_where_no_key_stands_twice(value in value()) {
        let text = value.to_string();
        let expected: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(parse_strict(&text, usize::MAX).unwrap(), expected);
    }

    #[test]
    fn strict_reading_never_accepts_what_serde_json_refuses(text in "[\\[\\]{}\",:0-9eE.+\\-a-z\\\\ ]{0,24}") {
        let (strict, lax) = (parse_strict(&text, usize::MAX).ok(), serde_json::from_str::<Value>(&text).ok());
        prop_assert!(strict.is_none() || strict == lax);
    }

    #[test]
    fn canonical_text_does_not_depend_on_the_order_of_keys_and_reads_back_equal(value in value()) {
        let text = canonical(&value);
        prop_assert_eq!(&text, &canonical(&turned(&value)));
        let (back, expected): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&value.to_string()).unwrap());
        prop_assert_eq!(back, expected);
    }

    #[test]
    fn a_preview_never_loses_count(lines in vec("(error: )?[a-zé漢🦀 ]{0,30}", 1..80), limit in 1..400_usize) {
        let whole = lines.join("\n");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let settled = runtime.block_on(async {
            let tool = reader("t").spec(|spec| spec.max_result = ResultLimit::Chars(limit));
            let mut world = World::of(tool.answers(&Count::default(), Ok(Output::text(&*whole)))).build();
            world.call("t", json!({})).await
        });
        let chars = whole.chars().count();
        let Some(put_aside) = settled.offloaded.as_deref() else {
            prop_assert!(chars <= limit);
            prop_assert_eq!(text(&settled), whole);
            return Ok(());
        };
        prop_assert!(chars > limit);
        prop_assert_eq!((put_aside.chars, put_aside.lines), (chars, whole.lines().count()));
        let shown = text(&settled);
        let (head, rest) = shown.split_once('\n').unwrap().1.split_once("\n[… ").unwrap();
        let tail = rest.split_once(" left out …]\n").unwrap().1;
        let tail = tail.rsplit_once("the last part follows]\n").map_or(tail, |(_, tail)| tail);
        prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
        prop_assert_eq!(head.chars().count() + tail.chars().count() + put_aside.omitted_chars, chars);
        prop_assert!(head.chars().count() + tail.chars().count() <= limit.max(1));
    }
}
