use serde_json::{Value, json};

use super::{
    Provider::{self, Anthropic, OpenAiChat, OpenAiResponses},
    check,
    history::missing_result,
    repair,
};

/// A history in no provider's form: what a random run leaves behind.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn id(&mut self) -> Value {
        json!(self.pick(&["a", "b", "c", "d", ""]))
    }

    fn name(&mut self) -> Value {
        json!(self.pick(&["read", "write", "read file", "", "x/y"]))
    }

    fn text(&mut self) -> Value {
        json!(self.pick(&["hello", "", " ", "more"]))
    }

    fn arguments(&mut self) -> Value {
        json!(self.pick(&["{}", "{\"a\":1}", "", "{", "null", "[1]"]))
    }

    fn list(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> Value) -> Vec<Value> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    fn messages(&mut self, provider: Provider) -> Vec<Value> {
        self.list(8, |random| match provider {
            Anthropic => random.anthropic(),
            OpenAiResponses => random.responses(),
            OpenAiChat => random.chat(),
        })
    }

    fn anthropic(&mut self) -> Value {
        let role = self.pick(&["user", "assistant", "assistant", "user", "system"]);
        if self.below(6) == 0 {
            return json!({"role": role, "content": self.text()});
        }
        let content = self.list(5, |random| match random.below(8) {
            0 => json!({"type": "text", "text": random.text()}),
            1 | 2 if role == "assistant" => {
                json!({"type": "tool_use", "id": random.id(), "name": random.name(), "input": {}})
            }
            1 | 2 => json!({"type": "tool_result", "tool_use_id": random.id(), "content": random.text()}),
            3 => json!({"type": "tool_result", "tool_use_id": random.id(), "content": [
                {"type": "text", "text": random.text()}, {"type": "image", "source": {}}], "is_error": true}),
            4 => json!({"type": "tool_use", "id": random.id(), "name": "t", "input": random.arguments()}),
            5 => json!({"type": "thinking", "thinking": "hm", "signature": random.text()}),
            6 => json!({"type": "server_tool_use", "id": "srv", "name": "web", "input": {}}),
            _ => json!({"type": "tool_result", "tool_use_id": random.id(), "is_error": true}),
        });
        json!({"role": role, "content": content})
    }

    fn responses(&mut self) -> Value {
        match self.below(9) {
            0 => json!({"role": "user", "content": self.text()}),
            1 => json!({"type": "message", "role": "assistant", "content": [], "id": self.text()}),
            2 => json!({"type": "reasoning", "id": self.text(), "summary": []}),
            3..=5 => json!({"type": "function_call", "call_id": self.id(), "name": self.name(),
                "arguments": self.arguments(), "id": self.text()}),
            6 => json!({"type": "function_call_output", "call_id": self.id()}),
            7 => json!({"type": "custom_tool_call", "call_id": self.id(), "name": "t", "input": "x"}),
            _ => json!({"type": "function_call_output", "call_id": self.id(), "output": self.text()}),
        }
    }

    fn chat(&mut self) -> Value {
        match self.below(7) {
            0 => json!({"role": "user", "content": self.text()}),
            1 => json!({"role": "assistant", "content": null, "tool_calls": []}),
            2 | 3 => {
                let calls = self.list(3, |random| {
                    json!({"id": random.id(), "type": "function",
                        "function": {"name": random.name(), "arguments": random.arguments()}})
                });
                json!({"role": "assistant", "content": self.text(), "tool_calls": calls})
            }
            4 => json!({"role": "tool", "tool_call_id": self.id(), "content": [{"type": "image_url"}]}),
            _ => json!({"role": "tool", "tool_call_id": self.id(), "content": self.text()}),
        }
    }
}

#[test]
fn any_history_becomes_one_the_provider_takes_and_then_stays_so() {
    for provider in Provider::ALL {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut clean = 0;
        for _ in 0..4_000 {
            let original = random.messages(provider);
            let mut history = original.clone();
            let report = repair(provider, &mut history);
            assert_eq!(check(provider, &history), Vec::<String>::new(), "{}", json!(original));
            let is_right = check(provider, &original).is_empty();
            clean += usize::from(is_right && original.len() > 1);
            assert_eq!(report.is_clean(), is_right, "{report:?} {}", json!(original));
            if is_right {
                assert_eq!(json!(history).to_string(), json!(original).to_string());
            }
            let repaired = history.clone();
            assert!(repair(provider, &mut history).is_clean(), "{}", json!(repaired));
            assert_eq!(json!(history).to_string(), json!(repaired).to_string());
        }
        assert!(clean > 5, "{provider}: only {clean} histories were right from the start");
    }
}

fn repaired(provider: Provider, mut history: Vec<Value>) -> Vec<Value> {
    repair(provider, &mut history);
    assert_eq!(check(provider, &history), Vec::<String>::new());
    history
}

fn list(value: Value) -> Vec<Value> {
    serde_json::from_value(value).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_call_without_a_result_gets_an_honest_one_in_its_place() {
    let missing = missing_result();
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "t", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    let invented =
        |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": missing, "is_error": true});
    let history = list(json!([user("1"), {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("b"), {"type": "text", "text": "2"}]},
        {"role": "assistant", "content": [call("c")]}]));
    assert_eq!(
        json!(repaired(Anthropic, history)),
        json!([user("1"),
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [invented("a"), result("b"), {"type": "text", "text": "2"}]},
        {"role": "assistant", "content": [call("c")]},
        {"role": "user", "content": [invented("c")]}])
    );

    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "{}"});
    let result =
        |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let history = vec![user("1"), call("a"), call("b"), result("b", "ok"), user("2"), call("c")];
    let expected = vec![
        user("1"),
        call("a"),
        call("b"),
        result("b", "ok"),
        result("a", &missing),
        user("2"),
        call("c"),
        result("c", &missing),
    ];
    assert_eq!(repaired(OpenAiResponses, history), expected);

    let calls = |ids: &[&str]| {
        let calls: Vec<Value> = ids
            .iter()
            .map(|id| json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}}))
            .collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let history = vec![user("1"), calls(&["a", "b"]), result("b", "ok"), user("2"), calls(&["c"])];
    let expected = vec![
        user("1"),
        calls(&["a", "b"]),
        result("b", "ok"),
        result("a", &missing),
        user("2"),
        calls(&["c"]),
        result("c", &missing),
    ];
    assert_eq!(repaired(OpenAiChat, history), expected);
}

#[test]
fn a_late_result_is_put_where_it_belongs_and_one_nobody_asked_for_is_dropped() {
    let call = json!({"type": "tool_use", "id": "a", "name": "t", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "ok"});
    let history = list(json!([user("1"), {"role": "assistant", "content": [call]}, user("2"),
        {"role": "assistant", "content": "Hm."}, {"role": "user", "content": [result("a"), result("z"), result("a")]}]));
    assert_eq!(
        json!(repaired(Anthropic, history)),
        json!([user("1"), {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result("a"), {"type": "text", "text": "2"}]},
        {"role": "assistant", "content": "Hm."}])
    );
}

#[test]
fn ids_that_come_back_are_told_apart_by_position() {
    let turn = |text: &str| {
        [
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": "a", "content": text}),
        ]
    };
    let history = [turn("one"), turn("two")].concat();
    assert_eq!(repaired(OpenAiChat, history.clone()), history);
    // The first was lost: what came after the second belongs to the second.
    let lost = vec![history[0].clone(), history[2].clone(), history[3].clone()];
    let expected = [turn(&missing_result()), turn("two")].concat();
    assert_eq!(repaired(OpenAiChat, lost), expected);
}

#[test]
fn text_stands_before_the_calls_and_results_before_the_text() {
    let call = json!({"type": "tool_use", "id": "a", "name": "t", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "ok"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let history = list(json!([user("1"), {"role": "assistant", "content": [call, text("after"), text("")]},
        {"role": "user", "content": [text("before"), result]}]));
    assert_eq!(
        json!(repaired(Anthropic, history)),
        json!([user("1"),
        {"role": "assistant", "content": [text("after"), call]},
        {"role": "user", "content": [result, text("before")]}])
    );
}

#[test]
fn an_error_is_a_text_and_not_an_empty_one() {
    let call = json!({"type": "tool_use", "id": "a", "name": "t", "input": {}});
    let picture = json!({"type": "image", "source": {}});
    let said = json!([{"type": "text", "text": "no"}]);
    let cases = [
        (json!(""), json!("(the tool failed and gave no reason)")),
        (json!([picture]), json!("(the tool failed and gave no reason)")),
        (json!([picture, {"type": "text", "text": "no"}]), said.clone()),
        (said.clone(), said),
    ];
    for (content, expected) in cases {
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": true});
        let history = list(
            json!([user("1"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]),
        );
        assert_eq!(repaired(Anthropic, history)[2]["content"][0]["content"], expected);
    }
}

#[test]
fn a_thought_stays_with_the_item_it_led_to_or_is_left_out() {
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "t", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "a", "output": "ok"});
    let right = vec![user("1"), thought.clone(), call.clone(), result.clone()];
    assert_eq!(repaired(OpenAiResponses, right.clone()), right);
    assert_eq!(repaired(OpenAiResponses, vec![user("1"), thought.clone()]), [user("1")]);
    assert_eq!(repaired(OpenAiResponses, vec![thought.clone(), user("1")]), [user("1")]);
    let answer = json!({"role": "assistant", "content": "42"});
    assert_eq!(repaired(OpenAiResponses, vec![thought, answer.clone()]), [answer]);
}

#[test]
fn a_history_of_two_thousand_messages_is_looked_through_in_no_time() {
    let turn = |n: usize| {
        let id = format!("toolu_{n}");
        [
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "t", "input": {}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "x".repeat(500)}]}),
        ]
    };
    let mut history: Vec<Value> = std::iter::once(user("go")).chain((0..1000).flat_map(turn)).collect();
    let began = std::time::Instant::now();
    assert!(repair(Anthropic, &mut history).is_clean());
    // A bound that only a quadratic way would miss; the figure proper is the benchmark's.
    assert!(began.elapsed().as_millis() < 500, "{:?}", began.elapsed());
}
