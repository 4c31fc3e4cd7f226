//! Decisions as data: rules of each layer and a call in, decision, rule and layer out.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tollgate::{
    Effects, Scope, ToolSpec,
    guard::{Run, Workspace},
    policy::{
        Decision, Grant, Layer, Layers, Lifetime, Policy, Protection, Query, Rule, Stance, config::ConfigFile,
    },
    tool::{Caller, Origin, Resource, Route, ToolName},
};

const FOLDER: &str = "/work/app";
const HOME: &str = "/home/me";

#[test]
fn every_call_of_the_table_is_decided_as_the_table_says() {
    let groups: Vec<Value> = serde_json::from_str(include_str!("data/policy_decisions.json")).unwrap();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for group in &groups {
        let policy = policy(&group["rules"]);
        for case in group["cases"].as_array().unwrap() {
            count += 1;
            let (decision, rule, layer) = decide(&policy, &case["call"]);
            let same = |key: &str, is: &Option<String>| {
                case.get(key).is_none_or(|wanted| wanted.as_str() == is.as_deref())
            };
            if case["is"] != json!(decision) || !same("rule", &rule) || !same("layer", &layer) {
                wrong.push(format!("{}: {case}\n    is {decision} by {rule:?} of {layer:?}", group["about"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 150, "{count} decisions");
}

fn decide(policy: &Layers, call: &Value) -> (&'static str, Option<String>, Option<String>) {
    let (tool, args, effects, scope) = (tool(call), args(call), effects(call), scope(call));
    let query = Query::new(&tool, &args, &effects, &scope);
    let (forbidden, verdict) = (policy.forbids(&query), policy.decide(&query));
    assert_eq!(
        forbidden.as_ref().map(|verdict| verdict.decision),
        (verdict.decision == Decision::Deny).then_some(Decision::Deny),
        "deny alone is deny with everything: {call}"
    );
    let word = match verdict.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    };
    let layer = verdict.rule.as_ref().and_then(|rule| rule.layer).map(|layer| layer.as_str().to_owned());
    (word, verdict.rule.map(|rule| rule.text.to_string()), layer)
}

fn policy(layers: &Value) -> Layers {
    let mut rules = Vec::new();
    for layer in Layer::ALL {
        let Some(said) = layers.get(layer.as_str()).and_then(Value::as_object) else { continue };
        if layer == Layer::Session {
            rules.extend(flags(said));
        } else {
            let file = Path::new(FOLDER).join("tollgate.toml");
            let read = ConfigFile::parse(&file, &toml(said), layer, Some(Path::new(HOME)), &[]);
            rules.extend(read.unwrap().rules().iter().cloned());
        }
    }
    let policy = Layers::with(rules, Some(PathBuf::from(HOME)), None);
    for (word, stance) in [("always", Stance::Grant), ("never", Stance::Deny)] {
        let given = layers.pointer(&format!("/answers/{word}")).map(texts).unwrap_or_default();
        if !given.is_empty() {
            policy.grants().give(stance, &Grant { rules: given, lifetime: Lifetime::Session }).unwrap();
        }
    }
    policy
}

fn flags(said: &Map<String, Value>) -> Vec<Rule> {
    let stance = |word: &str| match word {
        "allow" => Stance::Grant,
        "ask" => Stance::Ask,
        _ => Stance::Deny,
    };
    let parse = |(word, list): (&String, &Value)| -> Vec<Rule> {
        let rule = |text: &String| {
            let rule = Rule::parse(stance(word), text).unwrap();
            rule.anchored(None, Some(Path::new(HOME))).placed(Layer::Session, format!("--{word}"))
        };
        texts(list).iter().map(rule).collect()
    };
    said.iter().flat_map(parse).collect()
}

/// The file that says the same.
fn toml(said: &Map<String, Value>) -> String {
    let mut file = String::from("[policy]\n");
    for (list, rules) in said.iter().filter(|(list, _)| *list != "rules") {
        file += &format!("{list} = {rules}\n");
    }
    for rule in said.get("rules").and_then(Value::as_array).into_iter().flatten() {
        file += "[[policy.rule]]\n";
        for (key, value) in rule.as_object().unwrap() {
            file += &format!("{key} = {value}\n");
        }
    }
    file
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn tool(call: &Value) -> ToolSpec {
    let usual = if call.get("commands").is_some() { "shell" } else { "some_tool" };
    let name = call["tool"].as_str().unwrap_or(usual);
    let mut spec = ToolSpec::new("x", "", json!({})).unwrap();
    let (origin, name) = match name.strip_prefix('@') {
        Some(rest) => {
            let (server, name) = rest.split_once('/').unwrap();
            (Origin::Server(server.into()), name)
        }
        None => (Origin::Builtin, name),
    };
    spec.id.origin = origin;
    spec.id.name = ToolName::new(name).unwrap();
    spec.aliases = texts(&call["aliases"]).iter().map(|alias| ToolName::new(alias).unwrap()).collect();
    spec.explicit_only = call["explicit"] == json!(true);
    spec.requires_permission = call["waived"] != json!(true);
    spec
}

fn args(call: &Value) -> Value {
    call.get("args").cloned().unwrap_or_else(|| json!({}))
}

fn effects(call: &Value) -> Effects {
    let has = |key: &str| call.get(key).is_some();
    let usual = match () {
        () if has("commands") => "worst",
        () if has("write") => "writing",
        () if has("read") || has("hosts") => "reading",
        () => "worst",
    };
    let mut effects = match call["effects"].as_str().unwrap_or(usual) {
        "reading" => Effects::reading(),
        "writing" => Effects::writing(),
        _ => Effects::worst(),
    };
    effects.open_world |= call["open"] == json!(true) || has("hosts");
    let commands = texts(&call["commands"]).into_iter().map(|command| Resource::Command {
        command: command.split_whitespace().map(str::to_owned).collect(),
    });
    let hosts = texts(&call["hosts"]).into_iter().map(|host| Resource::Host { host });
    let keys = texts(&call["keys"]).into_iter().map(|key| Resource::Key { key });
    for resource in commands.chain(hosts).chain(keys) {
        effects = effects.touching(resource);
    }
    for path in texts(&call["read"]) {
        effects = effects.reads(path);
    }
    for path in texts(&call["write"]) {
        effects = effects.writes(path);
    }
    effects
}

fn scope(call: &Value) -> Scope {
    let mut scope = Scope::new(Run::new("table"), Workspace::new(FOLDER));
    scope.protection = Protection::with_own([Path::new(HOME).join(".config/tollgate")]);
    scope.caller = call["caller"].as_str().map_or(scope.caller, Caller::new);
    scope.route = call["route"].as_str().map(Route::new);
    scope.agent = call["agent"].as_str().map(Into::into);
    scope
}
