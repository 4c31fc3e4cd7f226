//! Files that nobody would write: whatever stands in them, loading ends, names what it cannot use and never panics.

use serde_json::{Map, Value, json};

use super::{Mocks, answer_tests::World};
use crate::{Registry, Tollgate, policy::Rules};

/// A small generator of its own, so that a failure is the same on every machine.
struct Odd(u64);

const KEYS: [&str; 44] = [
    "name",
    "description",
    "input_schema",
    "inputSchema",
    "parameters",
    "function",
    "type",
    "aliases",
    "origin",
    "effects",
    "check",
    "answers",
    "when",
    "ok",
    "text",
    "error",
    "retryable",
    "fatal",
    "unknown",
    "refuse",
    "delay_ms",
    "panic",
    "hang",
    "progress",
    "pointer",
    "matches",
    "not_matches",
    "message",
    "concurrency",
    "touches",
    "path_from",
    "access",
    "command",
    "timeouts",
    "total_ms",
    "retry",
    "max_result_chars",
    "routes",
    "tools",
    "result",
    "items",
    "visibility",
    "properties",
    "$ref",
];
const TEXTS: [&str; 16] = [
    "",
    "a",
    "object",
    "function",
    "read_only",
    "unlimited",
    "mcp:",
    "builtin",
    "/a",
    "(",
    "\u{0}",
    "string",
    "#",
    "#/properties/a",
    "cancel",
    "read",
];

impl Odd {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 6 } else { 10 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 0),
            2 => json!(self.below(5)),
            3 => [json!(-1), json!(1e300), json!(u64::MAX), json!(0.5)]
                [usize::try_from(self.below(4)).unwrap()]
            .clone(),
            4 | 5 => Value::String(self.pick(&TEXTS).to_owned()),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object(self.object(depth)),
        }
    }

    fn object(&mut self, depth: u64) -> Map<String, Value> {
        (0..self.below(6)).map(|_| (self.pick(&KEYS).to_owned(), self.value(depth.max(1) - 1))).collect()
    }

    /// Nearly a tool: a good one with a few fields replaced.
    fn tool(&mut self) -> Value {
        let mut tool = json!({"name": format!("t{}", self.below(1000)), "input_schema": {"type": "object"}});
        if let Value::Object(map) = &mut tool {
            map.extend(self.object(4));
        }
        tool
    }
}

#[test]
fn no_value_whatever_makes_loading_panic_and_every_tool_is_loaded_or_named() {
    let mut odd = Odd(0x5eed);
    for _ in 0..300 {
        let tools: Vec<_> =
            (0..8).map(|_| if odd.below(4) == 0 { odd.value(5) } else { odd.tool() }).collect();
        let routes = odd.value(3);
        let file = json!({"tools": tools, "routes": routes});
        let (registry, aside) = Mocks::parse(&file.to_string()).unwrap().register(Registry::new());
        let of_tools = aside.iter().filter(|one| !one.what.starts_with("route")).count();
        assert_eq!(registry.specs().count() + of_tools, 8, "{file}");
        assert!(aside.iter().all(|one| !one.why.to_string().is_empty()));
        // Anything at all in the place of a file.
        let _ = Mocks::parse(&odd.value(6).to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_loads_can_be_called_and_every_call_is_answered() {
    let mut odd = Odd(0xca11);
    for round in 0..300 {
        let mut tool = odd.tool();
        tool["name"] = json!("t");
        tool["timeouts"] = json!({"total_ms": 100});
        let file = json!([tool]).to_string();
        let (registry, _) = Mocks::parse(&file).unwrap().register(Registry::new());
        let world = World::of(Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build());
        let args = Value::Object(odd.object(3));
        let settled = world.call("t", args).await;
        assert_eq!(settled.id.as_str(), "c1", "round {round}: {file}");
    }
}
