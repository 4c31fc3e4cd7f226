//! A decision under thousands of rules against the same decision under tens.

use std::hint::black_box;

use serde_json::json;
use tollgate::{
    Effects, Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{Layer, Layers, Policy, Query, Rule, Rules, Stance},
    tool::Resource,
};

use crate::table::{Row, best_of, wanted};

const DECISIONS: u32 = 2_000;
const FEW: usize = 50;
const MANY: usize = 5_000;

/// One kind of rules and calls they are asked about, some of them meant and some not.
struct Kind {
    name: &'static str,
    rule: fn(usize) -> String,
    calls: fn() -> Vec<(ToolSpec, serde_json::Value, Effects)>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "paths, each with its own folder",
        rule: |at| format!("write(./crates/part{at}/src/**/*.rs)"),
        calls: || paths(["crates/part7/src/a/b.rs", "crates/part49/src/c.rs", "docs/x.md"]),
    },
    Kind {
        name: "paths, all in one folder",
        rule: |at| format!("write(./crates/**/module{at}.rs)"),
        calls: || paths(["crates/a/b/module7.rs", "crates/x/y/z/module49.rs", "docs/x.md"]),
    },
    Kind {
        name: "path globs over an argument of one tool",
        rule: |at| format!("edit(path=**/generated{at}/**)"),
        calls: || arguments(["a/generated7/b.rs", "generated49/c.rs", "docs/x.md"]),
    },
    Kind {
        name: "tools by name",
        rule: |at| format!("tool_{at}"),
        calls: || {
            vec![call("tool_7", json!({}), Effects::reading()), call("other", json!({}), Effects::reading())]
        },
    },
    Kind {
        name: "commands of one program",
        rule: |at| format!("shell(git command{at} *)"),
        calls: || commands(["git command7 -x", "git command49", "git status"]),
    },
];

fn call(tool: &str, args: serde_json::Value, effects: Effects) -> (ToolSpec, serde_json::Value, Effects) {
    (ToolSpec::new(tool, "", json!({})).expect("a legal name"), args, effects)
}

fn paths(paths: [&str; 3]) -> Vec<(ToolSpec, serde_json::Value, Effects)> {
    paths.map(|path| call("edit", json!({"path": path}), Effects::writing().writes(path))).into()
}

fn arguments(paths: [&str; 3]) -> Vec<(ToolSpec, serde_json::Value, Effects)> {
    paths.map(|path| call("edit", json!({"path": path}), Effects::writing())).into()
}

fn commands(commands: [&str; 3]) -> Vec<(ToolSpec, serde_json::Value, Effects)> {
    let command = |text: &str| Resource::Command { command: text.split(' ').map(str::to_owned).collect() };
    commands.map(|text| call("shell", json!({}), Effects::worst().touching(command(text)))).into()
}

fn policy(kind: &Kind, count: usize) -> Layers {
    let stances = [Stance::Allow, Stance::Ask, Stance::Deny];
    let rule = |at: usize| {
        let rule = Rule::parse(stances[at % 3], &(kind.rule)(at)).expect("a rule");
        rule.placed(Layer::User, "bench")
    };
    Layers::new((0..count).map(rule).collect())
}

/// The rows about decisions.
pub(crate) fn rows() -> Vec<Row> {
    let scope = Scope::new(Run::new("bench"), Workspace::new("/work/app"));
    let mut rows = Vec::new();
    for kind in &KINDS {
        let name = format!("5,000 rules: {}", kind.name);
        if !wanted(&name) {
            continue;
        }
        let (few, many, calls) = (policy(kind, FEW), policy(kind, MANY), (kind.calls)());
        let decide = |policy: &Layers| {
            for at in 0..DECISIONS as usize {
                let (tool, args, effects) = &calls[at % calls.len()];
                let query = Query::new(tool, args, effects, &scope);
                black_box(policy.forbids(black_box(&query)));
                black_box(policy.decide(black_box(&query)));
            }
        };
        let (floor, figure) = best_of(200, || decide(&few), || (), |()| decide(&many));
        rows.push(Row::ratio(&name, "the same under 50", floor / DECISIONS, figure / DECISIONS, Some(2.0)));
    }
    rows.extend(one_rule(&scope));
    rows
}

/// The least there is: one rule that allows the tool, and nothing touched.
fn one_rule(scope: &Scope) -> Option<Row> {
    let name = "one rule that allows, nothing touched";
    if !wanted(name) {
        return None;
    }
    let rules = Rules::new().allow("add").expect("a rule");
    let (tool, args, effects) = call("add", json!({}), Effects::reading());
    let query = Query::new(&tool, &args, &effects, scope);
    let map =
        std::collections::HashMap::<_, _, foldhash::fast::RandomState>::from_iter([(tool.id.clone(), 1)]);
    let lock = std::sync::RwLock::new(map);
    let floor = || {
        for _ in 0..DECISIONS {
            let read = lock.read().expect("a lock nobody broke");
            black_box(read.get(black_box(&tool.id)));
        }
    };
    let decide = |()| {
        for _ in 0..DECISIONS {
            black_box(rules.decide(black_box(&query)));
        }
    };
    let (floor, figure) = best_of(200, floor, || (), decide);
    Some(Row::ratio(name, "a look-up behind a lock", floor / DECISIONS, figure / DECISIONS, None))
}
