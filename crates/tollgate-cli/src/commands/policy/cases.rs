//! `policy test`: calls from a file, each with the decision it must meet. For CI.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tollgate::{
    Effects, Explanation, Proposed, Scope, ToolSpec,
    outcome::Phase,
    policy::{Decision, Layer, Policy as _, Query, Verdict},
    tool::{Caller, Resource, Route},
};

use crate::{
    args::Shared,
    exit::{Exit, Fault},
    input,
    mocks::Wanted,
    words,
    world::World,
};

/// No file of cases is larger.
const MOST: usize = 16 << 20;

/// The tool that runs a command line.
const SHELL: &str = "shell";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: Option<String>,
    tool: Option<String>,
    input: Option<Value>,
    command: Option<String>,
    read: Option<String>,
    write: Option<String>,
    host: Option<String>,
    caller: Option<String>,
    route: Option<String>,
    expect: Expected,
    rule: Option<String>,
    layer: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Expected {
    Allow,
    Ask,
    Deny,
}

#[derive(Serialize)]
struct Tested<'a> {
    case: String,
    ok: bool,
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a tollgate::policy::RuleRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
}

pub(super) fn run(file: &Path, shared: &Shared) -> Result<Exit, Fault> {
    let cases = read(file)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    runtime.block_on(async {
        let world = World::build(shared, Wanted::All)?;
        let mut failed = 0;
        for (number, case) in (1..).zip(&cases) {
            let verdict = decide(case, number, &world).await.map_err(|why| {
                let name = case.title(number);
                Fault::usage(
                    format!("{}: case {name}: {why}", file.display()),
                    "`tollgate policy test --help` says what a case has.",
                )
            })?;
            let wrong = case.wrong(&verdict);
            failed += usize::from(wrong.is_some());
            tell(case.title(number), &verdict, wrong, shared)?;
        }
        words::talk(&format!(
            "{} of {} cases are decided as they should be.",
            cases.len() - failed,
            cases.len()
        ));
        Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
    })
}

fn read(file: &Path) -> Result<Vec<Case>, Fault> {
    let bytes = input::read(Some(file), MOST)?;
    let hint = "`tollgate policy test --help` says what a case has.";
    let bad =
        |why: &str| Fault::usage(format!("the cases in {} cannot be used: {why}", file.display()), hint);
    let text = String::from_utf8(bytes).map_err(|_| bad("they are not UTF-8 text"))?;
    let file: File = toml_edit::de::from_str(&text).map_err(|error| bad(error.to_string().trim_end()))?;
    if file.case.is_empty() {
        return Err(bad("there is no [[case]] in it"));
    }
    Ok(file.case)
}

async fn decide(case: &Case, number: usize, world: &World) -> Result<Verdict, String> {
    let mut scope = Scope::clone(&world.scope);
    scope.caller = case.caller.as_ref().map_or(scope.caller, Caller::new);
    scope.route = case.route.as_ref().map(Route::new).or(scope.route);
    let args = case.input.clone().unwrap_or_else(|| serde_json::json!({}));
    if let Some((name, args)) = case.proposed(&args).filter(|(name, _)| world.spec(name).is_some()) {
        let call = Proposed::new(number.to_string(), name, &args);
        return foreseen(world.gate.explain(&Arc::new(scope), call).await);
    }
    let (tool, effects) = case.call(world)?;
    let query = Query::new(&tool, &args, &effects, &scope);
    let policy = &world.config.policy;
    Ok(policy.forbids(&query).unwrap_or_else(|| policy.decide(&query)))
}

/// What the path says of a call of a tool that is loaded.
fn foreseen(explanation: Explanation) -> Result<Verdict, String> {
    let Explanation { phase, decision, rule, reason, .. } = explanation;
    let reason: Option<Arc<str>> = reason.map(Into::into);
    match phase {
        Phase::Resolve | Phase::Validate => Err(reason.map_or_else(String::new, |reason| reason.to_string())),
        _ => Ok(Verdict { decision, rule, reason, protected: None }),
    }
}

impl Case {
    /// The call that a model would propose for this; `None` where the case says by itself what the call would do.
    fn proposed(&self, args: &Value) -> Option<(&str, Value)> {
        match (&self.tool, &self.command, self.effects().len()) {
            (Some(tool), None, 0) => Some((tool, args.clone())),
            // A line is read as the shell tool reads it: each of its commands is judged.
            (None, Some(command), 1) => Some((SHELL, serde_json::json!({"command": command}))),
            _ => None,
        }
    }

    /// What the call would do, where the case says it.
    fn effects(&self) -> Vec<Effects> {
        let command = self.command.as_ref().map(|command| {
            let command = command.split_whitespace().map(str::to_owned).collect();
            Effects::worst().touching(Resource::Command { command })
        });
        let read = self.read.as_ref().map(|path| Effects::reading().reads(path));
        let write = self.write.as_ref().map(|path| Effects::writing().writes(path));
        let host = self
            .host
            .as_ref()
            .map(|host| Effects::reading().open_world().touching(Resource::Host { host: host.clone() }));
        [command, read, write, host].into_iter().flatten().collect()
    }

    /// The tool and its effects. A tool that is not loaded does the worst.
    fn call(&self, world: &World) -> Result<(ToolSpec, Effects), String> {
        let made =
            |name: &str| ToolSpec::new(name, "", serde_json::json!({})).map_err(|error| error.to_string());
        let usual = if self.command.is_some() { SHELL } else { "some_tool" };
        let effects = match &self.effects()[..] {
            [] if self.tool.is_none() => return Err("it names no call".to_owned()),
            [] => Effects::worst(),
            [effects] => effects.clone(),
            _ => return Err("it has more than one of command, read, write and host".to_owned()),
        };
        let known = self.tool.as_deref().and_then(|name| world.spec(name)).cloned();
        let spec = known.map_or_else(|| made(self.tool.as_deref().unwrap_or(usual)), Ok)?;
        Ok((spec, effects))
    }

    fn title(&self, number: usize) -> String {
        self.name.clone().unwrap_or_else(|| number.to_string())
    }

    fn wrong(&self, verdict: &Verdict) -> Option<String> {
        let expected = match self.expect {
            Expected::Allow => Decision::Allow,
            Expected::Ask => Decision::Ask,
            Expected::Deny => Decision::Deny,
        };
        let rule = verdict.rule.as_ref();
        if verdict.decision != expected {
            return Some(format!(
                "it should be {} and is {}",
                words::decision(expected),
                words::decision(verdict.decision)
            ));
        }
        let text = rule.map(|rule| &*rule.text);
        if let Some(wanted) = self.rule.as_deref().filter(|wanted| Some(*wanted) != text) {
            return Some(format!(
                "`{wanted}` should decide it, and {} does",
                text.map_or("no rule".to_owned(), |text| format!("`{text}`"))
            ));
        }
        let layer = rule.and_then(|rule| rule.layer).map(Layer::as_str);
        let wanted = self.layer.as_deref().filter(|wanted| Some(*wanted) != layer)?;
        Some(format!("the layer {wanted} should decide it, and {} does", layer.unwrap_or("none")))
    }
}

fn tell(case: String, verdict: &Verdict, wrong: Option<String>, shared: &Shared) -> Result<(), Fault> {
    let rule = verdict.rule.as_ref();
    if shared.json {
        let tested = Tested { case, ok: wrong.is_none(), decision: verdict.decision, rule, wrong };
        return words::data(&words::json(&tested));
    }
    let word = if wrong.is_none() { "ok" } else { "wrong" };
    let by = rule.map_or(String::new(), |rule| format!("   {}   {}", rule.text, rule.source));
    let why = wrong.map_or(String::new(), |why| format!("\n{why}"));
    words::data(&words::entry::<5>(word, &format!("{case}: {}{by}{why}", words::decision(verdict.decision))))
}
