//! One small world to drive the gate from outside: a few tools, a person with a script, a record of events.

#![allow(dead_code, reason = "each test file uses its part of the world")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Builder, Effects, Failure, Output, Proposed, Registry, Scope, Settled, Tollgate, Tool,
    event::Subscription,
    guard::{Run, Workspace},
    hook::{After, Before, Hook, HookKind, HookedCall},
    outcome::{Item, Outcome, Phase, RefusalCode},
    policy::{Answer, Approver, Question, Rules},
    tool::{DynTool, ToolBuilder},
};

/// A gate with everything around it that a test looks at.
pub(crate) struct World {
    pub(crate) gate: Tollgate,
    /// The scope of the calls to come; tests change it between them.
    pub(crate) scope: Scope,
    pub(crate) person: Person,
    events: Subscription,
    calls: u32,
}

/// Wires a world. What is not said: everything is allowed, nobody is there.
pub(crate) struct WorldBuilder {
    gate: Builder,
    rules: Option<Rules>,
    person: Person,
    run: Run,
}

impl World {
    /// A world with this one tool.
    pub(crate) fn of(tool: impl Tool) -> WorldBuilder {
        Self::with(Registry::new().with(tool).unwrap())
    }

    pub(crate) fn with(registry: Registry) -> WorldBuilder {
        WorldBuilder {
            gate: Tollgate::builder(registry),
            rules: Some(Rules::new().allow("*").unwrap()),
            person: Person::default(),
            run: Run::new("run"),
        }
    }

    /// Proposes a call under a fresh id and walks it to its answer.
    pub(crate) async fn call(&mut self, tool: &str, input: Value) -> Settled {
        self.propose(tool, &input).await
    }

    pub(crate) async fn propose(
        &mut self,
        tool: &str,
        input: impl Into<tollgate::call::RawInput>,
    ) -> Settled {
        let proposed = self.proposed(tool, input);
        self.gate.call(&self.scope(), proposed).await
    }

    /// Proposes a call under a key of the caller's.
    pub(crate) async fn keyed(&mut self, key: &str, tool: &str, input: Value) -> Settled {
        let proposed = self.proposed(tool, &input).with_key(key);
        self.gate.call(&self.scope(), proposed).await
    }

    /// A call with a fresh id.
    pub(crate) fn proposed(&mut self, tool: &str, input: impl Into<tollgate::call::RawInput>) -> Proposed {
        self.calls += 1;
        Proposed::new(format!("c{}", self.calls), tool, input)
    }

    pub(crate) fn scope(&self) -> Arc<Scope> {
        Arc::new(self.scope.clone())
    }

    /// Everything that happened since it was last asked, as it stands on the wire.
    pub(crate) fn events(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while self.events.drain(|event| events.push(serde_json::to_value(event).unwrap())) {}
        events
    }

    /// The same, names only.
    pub(crate) fn steps(&mut self) -> Vec<String> {
        self.events().iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect()
    }

    /// The events of one kind.
    pub(crate) fn told(&mut self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event"] == kind).collect()
    }
}

impl WorldBuilder {
    pub(crate) fn rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    pub(crate) fn policy(mut self, policy: impl tollgate::policy::Policy) -> Self {
        self.rules = None;
        self.gate = self.gate.policy(policy);
        self
    }

    pub(crate) fn answers(self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.person.answers.lock().unwrap().extend(answers);
        self
    }

    pub(crate) fn hook(self, hook: impl Hook) -> Self {
        self.gate(|gate| gate.hook(hook))
    }

    pub(crate) fn run(mut self, run: Run) -> Self {
        self.run = run;
        self
    }

    pub(crate) fn gate(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.gate = change(self.gate);
        self
    }

    pub(crate) fn build(self) -> World {
        let mut gate = self.gate.approver(self.person.clone());
        if let Some(rules) = self.rules {
            gate = gate.policy(rules);
        }
        let gate = gate.build();
        let events = gate.observe(100_000);
        let scope = Scope::new(self.run, Workspace::new("/work"));
        World { gate, scope, person: self.person, events, calls: 0 }
    }
}

/// Somebody who answers from a script, and is not there when it has run out.
#[derive(Clone, Default)]
pub(crate) struct Person {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Person {
    /// What they were asked.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(json!({
            "call": question.call,
            "tool": question.tool.name(),
            "args": question.args,
            "reason": &*question.reason,
            "digest": question.digest.as_str(),
        }));
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Nobody);
        Box::pin(std::future::ready(answer))
    }
}

/// How often something happened.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicU32>);

impl Count {
    pub(crate) fn up(&self) -> u32 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool that only reads, the path it is given if any.
pub(crate) fn reader(name: &str) -> ToolBuilder {
    tool(name).effects(|_, args| match args["path"].as_str() {
        Some(path) => Effects::reading().reads(path),
        None => Effects::reading(),
    })
}

/// A tool that writes, the path it is given if any.
pub(crate) fn writer(name: &str) -> ToolBuilder {
    tool(name).effects(|_, args| match args["path"].as_str() {
        Some(path) => Effects::writing().writes(path),
        None => Effects::writing(),
    })
}

/// A tool that declares no effects.
pub(crate) fn tool(name: &str) -> ToolBuilder {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "n": {"type": "integer", "minimum": 0}},
    });
    ToolBuilder::new(name, "A tool of the test's world.", schema).unwrap()
}

/// Bodies that tests use again and again.
pub(crate) trait Bodies {
    /// Counts its runs and always answers the same.
    fn answers(self, runs: &Count, answer: Result<Output, Failure>) -> DynTool;

    /// Counts its runs and gives its arguments back.
    fn echoes(self, runs: &Count) -> DynTool;

    /// Counts its runs and answers the given things in turn; from then on the last.
    fn answers_in_turn(self, runs: &Count, answers: Vec<Result<Output, Failure>>) -> DynTool;

    /// Counts its runs and answers after a while.
    fn takes(self, runs: &Count, time: Duration) -> DynTool;

    /// Counts its runs and never ends.
    fn hangs(self, runs: &Count) -> DynTool;
}

impl Bodies for ToolBuilder {
    fn answers(self, runs: &Count, answer: Result<Output, Failure>) -> DynTool {
        self.answers_in_turn(runs, vec![answer])
    }

    fn echoes(self, runs: &Count) -> DynTool {
        let runs = runs.clone();
        self.run(move |_, args| {
            runs.up();
            Box::pin(async move { Ok(Output::json(args.clone())) })
        })
    }

    fn answers_in_turn(self, runs: &Count, answers: Vec<Result<Output, Failure>>) -> DynTool {
        let runs = runs.clone();
        self.run(move |_, _| {
            let at = (runs.up() as usize).min(answers.len()) - 1;
            let answer = answers[at].clone();
            Box::pin(async move { answer })
        })
    }

    fn takes(self, runs: &Count, time: Duration) -> DynTool {
        let runs = runs.clone();
        self.run(move |_, _| {
            runs.up();
            Box::pin(async move {
                tokio::time::sleep(time).await;
                Ok(Output::text("done"))
            })
        })
    }

    fn hangs(self, runs: &Count) -> DynTool {
        self.takes(runs, Duration::from_secs(1 << 30))
    }
}

/// A hook made of functions over the arguments.
pub(crate) struct Scripted {
    name: &'static str,
    kind: HookKind,
    before: Box<dyn Fn(&Value) -> Before + Send + Sync>,
    after: Box<dyn Fn(&Outcome) -> After + Send + Sync>,
    hangs_before: bool,
    hangs_after: bool,
}

impl Scripted {
    pub(crate) fn gate(name: &'static str) -> Self {
        Self::of(name, HookKind::Gate)
    }

    pub(crate) fn observer(name: &'static str) -> Self {
        Self::of(name, HookKind::Observer)
    }

    pub(crate) fn of(name: &'static str, kind: HookKind) -> Self {
        Self {
            name,
            kind,
            before: Box::new(|_| Before::Pass),
            after: Box::new(|_| After::Keep),
            hangs_before: false,
            hangs_after: false,
        }
    }

    pub(crate) fn before(mut self, before: impl Fn(&Value) -> Before + Send + Sync + 'static) -> Self {
        self.before = Box::new(before);
        self
    }

    pub(crate) fn after(mut self, after: impl Fn(&Outcome) -> After + Send + Sync + 'static) -> Self {
        self.after = Box::new(after);
        self
    }

    pub(crate) fn hangs_before(mut self) -> Self {
        self.hangs_before = true;
        self
    }

    pub(crate) fn hangs_after(mut self) -> Self {
        self.hangs_after = true;
        self
    }
}

impl Hook for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self) -> HookKind {
        self.kind
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        if self.hangs_before {
            std::future::pending::<()>().await;
        }
        (self.before)(call.args)
    }

    async fn after(&self, _: &HookedCall<'_>, outcome: &Outcome) -> After {
        if self.hangs_after {
            std::future::pending::<()>().await;
        }
        (self.after)(outcome)
    }
}

/// Where and why a call was refused.
pub(crate) fn refused(settled: &Settled) -> (Phase, RefusalCode) {
    match settled.refusal() {
        Some(refusal) => (settled.phase, refusal.code),
        None => unreachable!("not refused: {:?}", settled.outcome),
    }
}

/// The one text a call answered.
pub(crate) fn text(settled: &Settled) -> &str {
    match settled.output().map(|output| &output.items[..]) {
        Some([Item::Text { text }, ..]) => text,
        _ => unreachable!("no text: {:?}", settled.outcome),
    }
}

/// An answer of a tool that went well.
#[expect(clippy::unnecessary_wraps, reason = "it stands where a failure could")]
pub(crate) fn fine() -> Result<Output, Failure> {
    Ok(Output::text("fine"))
}
