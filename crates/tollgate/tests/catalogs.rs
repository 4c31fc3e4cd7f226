//! The tools of real MCP servers, projected for every provider.
//!
//! `TOLLGATE_SHARED` names the folder that has them in `catalogs/`; without it there is nothing to test with.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops where its data is not what it must be")]

mod skipped;
#[path = "../src/schema/project/instances.rs"]
mod instances;

use std::{fs, path::PathBuf};

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::Value;
use skipped::skipped;
use tollgate::schema::{Compiled, Provider, Target, check_provider_rules, project};

struct Tool {
    name: String,
    schema: Value,
}

#[expect(clippy::disallowed_methods, reason = "a test is told where the data is, and reads it")]
fn tools() -> Option<Vec<Tool>> {
    let Some(folder) = std::env::var_os("TOLLGATE_SHARED") else {
        skipped("TOLLGATE_SHARED does not name the folder with the catalogues");
        return None;
    };
    let mut files: Vec<PathBuf> = fs::read_dir(PathBuf::from(folder).join("catalogs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut tools = Vec::new();
    for file in files {
        let catalogue: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for tool in catalogue["tools"].as_array().unwrap() {
            let name = format!("{}/{}", file.file_stem().unwrap().display(), tool["name"].as_str().unwrap());
            tools.push(Tool { name, schema: tool["inputSchema"].clone() });
        }
    }
    assert!(!tools.is_empty());
    Some(tools)
}

fn targets() -> impl Iterator<Item = Target> {
    Provider::ALL.into_iter().flat_map(|provider| [false, true].map(|strict| Target { provider, strict }))
}

#[test]
fn every_tool_projects_for_every_provider_breaking_no_rule_and_to_the_same_bytes() {
    let Some(tools) = tools() else { return };
    for tool in &tools {
        for target in targets() {
            let projection = project(&tool.schema, target).unwrap();
            let as_sent = Target { strict: projection.strict, ..target };
            let broken = check_provider_rules(&projection.schema, as_sent);
            assert_eq!(broken, Vec::<String>::new(), "{} for {target:?}: {}", tool.name, projection.schema);
            let again = project(&tool.schema, target).unwrap();
            assert_eq!(again.schema.to_string(), projection.schema.to_string());
            assert_eq!(again.report, projection.report);
        }
    }
}

#[test]
fn most_tools_get_strict_mode() {
    let Some(tools) = tools() else { return };
    for (provider, least) in
        [(Provider::Anthropic, 90), (Provider::OpenAiResponses, 60), (Provider::OpenAiChat, 60)]
    {
        let mut strict = 0;
        for tool in &tools {
            let projection = project(&tool.schema, Target { provider, strict: true }).unwrap();
            strict += usize::from(projection.strict);
            for reason in &projection.report.not_strict {
                println!(
                    "{provider}: {} is not strict at {:?}: {} {}",
                    tool.name, reason.pointer, reason.keyword, reason.why
                );
            }
        }
        println!(
            "{provider}: {strict} of {} tools are strict ({} %)",
            tools.len(),
            strict * 100 / tools.len()
        );
        assert!(strict * 100 >= least * tools.len(), "{provider}: {strict} of {}", tools.len());
    }
}

#[test]
fn what_a_strict_projection_accepts_the_original_accepts_after_the_inverse() {
    let Some(tools) = tools() else { return };
    let mut runner = TestRunner::deterministic();
    for tool in &tools {
        let original = Compiled::arguments(&tool.schema).unwrap();
        for provider in Provider::ALL {
            let projection = project(&tool.schema, Target { provider, strict: true }).unwrap();
            if !projection.strict {
                continue;
            }
            let projected = Compiled::any(&projection.schema).unwrap();
            let arguments = instances::fitting(&projection.schema);
            for _ in 0..200 {
                let sent = arguments.new_tree(&mut runner).unwrap().current();
                assert!(projected.accepts(&sent), "the generator made {sent} for {}", projection.schema);
                let arrived = projection.inverse.apply(sent.clone());
                assert!(
                    original.accepts(&arrived),
                    "{} for {provider}: {sent} becomes {arrived}, which is refused: {:?}",
                    tool.name,
                    original.violations(&arrived)
                );
            }
        }
    }
}
