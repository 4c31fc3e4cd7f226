use serde_json::json;

use super::{Found, SearchIndex};
use crate::tool::{ToolName, ToolSpec};

fn spec(name: &str, description: &str, parameter: &str) -> ToolSpec {
    let schema =
        json!({"type": "object", "properties": {parameter: {"type": "string", "description": "A thing."}}});
    ToolSpec::new(name, description, schema).unwrap()
}

fn found(tools: &[ToolSpec], query: &str) -> Vec<(String, Found)> {
    let index = SearchIndex::build(tools.iter().map(|tool| (tool.name(), tool)));
    index.search(query, 10).iter().map(|hit| (tools[hit.document].name().to_owned(), hit.how)).collect()
}

fn names(tools: &[ToolSpec], query: &str) -> Vec<String> {
    found(tools, query).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn an_exact_name_comes_before_a_prefix_and_a_prefix_before_words() {
    let tools = [
        spec("issue_archive", "Issue issue issue issue.", "issue"),
        spec("issue", "Shows one.", "number"),
        spec("close", "Closes an issue, the issue with this number.", "number"),
    ];
    let hits = found(&tools, "issue");
    assert_eq!(hits[0], ("issue".to_owned(), Found::Name));
    assert_eq!(hits[1], ("issue_archive".to_owned(), Found::Prefix));
    assert_eq!(hits[2], ("close".to_owned(), Found::Words));
}

#[test]
fn an_alias_is_found_as_one() {
    let mut read = spec("read_file", "Reads.", "path");
    read.aliases.push(ToolName::new("fs_read").unwrap());
    assert_eq!(found(&[read], "fs_read"), [("read_file".to_owned(), Found::Alias)]);
}

#[test]
fn words_of_names_descriptions_and_parameters_are_found_in_any_spelling() {
    let tools = [
        spec("getUserProfile", "Who somebody is.", "id"),
        spec("send_mail", "Sends messages.", "recipient"),
        spec("list_rooms", "Rooms of a building.", "floor"),
    ];
    for (query, expected) in [
        ("user profile", "getUserProfile"),
        ("message", "send_mail"),
        ("recipients", "send_mail"),
        ("which ROOM", "list_rooms"),
    ] {
        assert_eq!(names(&tools, query).first().map(String::as_str), Some(expected), "{query}");
    }
}

#[test]
fn nothing_is_found_for_nothing_and_the_limit_holds() {
    let tools: Vec<_> = (0..30).map(|at| spec(&format!("tool_{at}"), "The same words.", "x")).collect();
    assert!(names(&tools, "").is_empty());
    assert!(names(&tools, "zebra").is_empty());
    let hits = names(&tools, "same words");
    assert_eq!(hits.len(), 10);
    assert_eq!(hits[0], "tool_0", "equal hits keep the order of the index");
}
