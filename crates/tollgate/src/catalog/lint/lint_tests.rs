use std::time::Duration;

use serde_json::{Value, json};

use super::{Declared, Hints, Level, Subject, lint};
use crate::{
    tool::{ResultLimit, ToolSpec, Visibility},
    wire::Provider,
};

const GOOD: &str = "Lists the invoices of a customer that are not paid, newest first.";

fn schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["customer"],
           "properties": {"customer": {"type": "string", "description": "The customer's number."}}})
}

fn good() -> ToolSpec {
    ToolSpec::new("list_open_invoices", GOOD, schema()).unwrap()
}

fn declared() -> Declared {
    let hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    Declared { hints: Some(hints), check: true, result_limit: true, interrupt: true, timeouts: true }
}

fn rules_of(spec: &ToolSpec, declared: Option<&Declared>) -> Vec<&'static str> {
    let subject = Subject { label: spec.name(), spec, declared, providers: &Provider::ALL };
    let found = lint(subject);
    for finding in &found {
        assert!(!finding.message.is_empty() && finding.fix.ends_with('.'), "{finding:?}");
        assert!(finding.message.len() < 2_000, "{finding:?}");
    }
    found.into_iter().filter(|finding| finding.level == Level::Warning).map(|finding| finding.rule).collect()
}

#[test]
fn a_good_tool_gives_no_finding() {
    let (spec, declared) = (good(), declared());
    let subject =
        Subject { label: spec.name(), spec: &spec, declared: Some(&declared), providers: &Provider::ALL };
    assert_eq!(lint(subject), []);
}

#[test]
fn names_are_found_vague_or_broad_or_neither() {
    let cases = [
        ("process_data", vec!["vague_name"]),
        ("handle", vec!["vague_name"]),
        ("do_it", vec!["vague_name"]),
        ("helper", vec!["vague_name"]),
        ("processData", vec!["vague_name"]),
        ("mcp__x__run", vec!["vague_name"]),
        ("run_sql", vec!["broad_primitive"]),
        ("execute_shell", vec!["broad_primitive"]),
        ("send_http_request", vec!["broad_primitive"]),
        ("executeCommand", vec!["broad_primitive"]),
        ("bash", vec!["broad_primitive"]),
        ("run_migration", vec![]),
        ("send_pull_request_review", vec![]),
        ("get_invoice", vec![]),
        ("process_refund", vec![]),
    ];
    for (name, rules) in cases {
        let spec = ToolSpec::new(name, GOOD, schema()).unwrap();
        assert_eq!(rules_of(&spec, None), rules, "{name}");
    }
}

#[test]
fn each_change_for_the_worse_is_found_by_its_own_rule() {
    type Change = fn(&mut ToolSpec, &mut Declared);
    let cases: [(&str, Change); 14] = [
        ("thin_description", |spec, _| spec.description = "".into()),
        ("thin_description", |spec, _| spec.description = "Lists things.".into()),
        ("thin_description", |spec, _| spec.description = "List open   invoices.".into()),
        ("undescribed_arguments", |spec, _| {
            spec.input_schema["properties"]["customer"] = json!({"type": "string"});
        }),
        ("many_optional_fields", |spec, _| {
            for at in 0..9 {
                spec.input_schema["properties"][format!("f{at}")] =
                    json!({"type": "string", "description": "A field."});
            }
        }),
        ("unlimited_result", |spec, _| spec.max_result = ResultLimit::Unlimited),
        ("unchecked_write", |_, declared| {
            declared.check = false;
            declared.hints = declared.hints.map(|hints| Hints { read_only: false, ..hints });
        }),
        ("destructive_not_idempotent", |_, declared| {
            declared.hints =
                Some(Hints { read_only: false, destructive: true, idempotent: false, open_world: false });
        }),
        ("undeclared_interrupt", |spec, declared| {
            spec.timeouts.total = Duration::from_secs(61);
            declared.interrupt = false;
        }),
        ("undeclared_interrupt", |_, declared| {
            declared.interrupt = false;
            declared.hints = declared.hints.map(|hints| Hints { open_world: true, ..hints });
        }),
        ("costly_always_load", |spec, _| {
            spec.visibility = Visibility::AlwaysLoad;
            spec.description = "word ".repeat(500).into();
        }),
        ("unportable_schema", |spec, _| {
            spec.input_schema["properties"]["customer"] =
                json!({"$ref": "https://example.com/schema.json", "description": "One."});
        }),
        ("hidden_characters", |spec, _| spec.description = format!("{GOOD}\u{200b}").into()),
        ("hidden_characters", |spec, _| {
            spec.input_schema["properties"]["customer"]["description"] = json!("The customer.\u{e0041}");
        }),
    ];
    for (rule, change) in cases {
        let (mut spec, mut declared) = (good(), declared());
        change(&mut spec, &mut declared);
        assert_eq!(rules_of(&spec, Some(&declared)), [rule]);
    }
}

#[test]
fn a_name_that_a_provider_cannot_take_is_found() {
    let long = "list_open_invoices_".repeat(5);
    for name in [&*long, "list.open/invoices"] {
        let spec = ToolSpec::new(name, GOOD, schema()).unwrap();
        assert_eq!(rules_of(&spec, None), ["provider_name"], "{name}");
    }
}

#[test]
fn what_cannot_be_seen_is_not_accused() {
    assert_eq!(rules_of(&good(), None), Vec::<&str>::new());
    assert_eq!(rules_of(&good(), Some(&Declared::default())), Vec::<&str>::new());
}
