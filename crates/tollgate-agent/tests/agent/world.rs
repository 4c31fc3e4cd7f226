//! One small world: a stand-in, a gate with a few tools, a folder of sessions, a record of what happened.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tollgate::{
    BoxFuture, Effects, Failure, Output, Registry, Scope, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    outcome::FolderResults,
    policy::{Answer, Approver, Layers, Question, Rule, Stance},
    tool::{DynTool, Interrupt, ToolBuilder, Visibility},
};
use tollgate_agent::{
    Agent, AgentBuilder, AgentEvent, Conversation, Desk, Listener, Part, Stopped, events,
    session::{SessionFolder, SessionStore, new_session_id},
    standin::StandIn,
};

/// The three APIs, as models are named.
pub(crate) const MODELS: [&str; 3] = ["anthropic:any", "openai:any", "chat:any"];

/// A picture of one point.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Everything a test looks at.
pub(crate) struct World {
    pub(crate) standin: StandIn,
    pub(crate) log: Log,
    pub(crate) person: Person,
    pub(crate) folder: tempfile::TempDir,
    rules: Vec<(Stance, &'static str)>,
    desk: Option<Desk>,
}

/// What the tools did, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.all().iter().filter(|done| *done == what).count()
    }
}

/// A person with a script; without one, yes to everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Person {
    script: Arc<Mutex<VecDeque<Answer>>>,
    pub(crate) asked: Log,
}

impl Person {
    pub(crate) fn says(&self, answer: Answer) {
        self.script.lock().unwrap().push_back(answer);
    }
}

impl Approver for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        let purpose = question.purpose.map(|words| format!(" ({words})")).unwrap_or_default();
        self.asked.note(format!("{}{purpose}", question.tool.id));
        let answer = self.script.lock().unwrap().pop_front().unwrap_or(Answer::Yes);
        Box::pin(async move { answer })
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self {
            standin: StandIn::start().await.unwrap(),
            log: Log::default(),
            person: Person::default(),
            folder: tempfile::tempdir().unwrap(),
            rules: vec![(Stance::Allow, "*")],
            desk: None,
        }
    }

    /// These rules in the place of "everything is allowed".
    pub(crate) fn rules(mut self, rules: &[(Stance, &'static str)]) -> Self {
        self.rules = rules.to_vec();
        self
    }

    pub(crate) fn desk(mut self, desk: Desk) -> Self {
        self.desk = Some(desk);
        self
    }

    pub(crate) fn sessions(&self) -> Arc<dyn SessionStore> {
        Arc::new(SessionFolder::new(self.folder.path().join("sessions")))
    }

    pub(crate) fn results(&self) -> FolderResults {
        FolderResults::new(self.folder.path().join("results"), Arc::new(TokioSpawner::current().unwrap()))
    }

    pub(crate) fn gate(&self) -> Tollgate {
        self.gate_asking(self.person.clone())
    }

    pub(crate) fn gate_asking(&self, person: impl Approver) -> Tollgate {
        self.builder().approver(person).build()
    }

    pub(crate) fn builder(&self) -> tollgate::Builder {
        let mut registry = Registry::new();
        for tool in tools(&self.log) {
            registry = registry.with(tool).unwrap();
        }
        if let Some(desk) = &self.desk {
            registry = desk.register(registry).unwrap();
        }
        let rules = self.rules.iter().map(|(stance, text)| Rule::parse(*stance, text).unwrap()).collect();
        Tollgate::builder(registry).policy(Layers::new(rules)).results(self.results())
    }

    pub(crate) fn scope(&self) -> Scope {
        let mut scope = Scope::new(Run::new("outer"), Workspace::new(self.folder.path()));
        scope.interactive = true;
        scope
    }

    pub(crate) fn agent(&self, model: &str) -> AgentBuilder {
        self.agent_at(model, self.gate())
    }

    pub(crate) fn agent_at(&self, model: &str, gate: Tollgate) -> AgentBuilder {
        let agent = Agent::builder(Arc::new(self.standin.model(model)), gate, self.scope())
            .system("You are a test.")
            .retry_pause(Duration::from_millis(1))
            .sessions(self.sessions());
        match &self.desk {
            Some(desk) => agent.desk(desk.clone()),
            None => agent,
        }
    }

    /// Has one message said by an agent of this model.
    pub(crate) async fn say(&self, model: &str, text: &str) -> (Stopped, Conversation, Vec<AgentEvent>) {
        let (teller, listener) = events();
        let agent = self.agent(model).events(teller).build();
        let mut conversation = agent.begin(new_session_id()).unwrap();
        let stopped = within(conversation.say(vec![Part::text(text)])).await;
        (stopped, conversation, all(listener))
    }

    /// No request was refused, and every reply was asked for.
    pub(crate) fn assert_accepted(&self) {
        let refused = self.standin.refused();
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

/// Nothing here may take long.
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it hangs")
}

pub(crate) fn all(mut listener: Listener) -> Vec<AgentEvent> {
    std::iter::from_fn(|| listener.try_next()).collect()
}

/// The events of one kind.
pub(crate) fn told(events: &[AgentEvent], kind: &str) -> Vec<Value> {
    let all = events.iter().map(|event| serde_json::to_value(event).unwrap());
    all.filter(|event| event["event"] == kind).collect()
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn tools(log: &Log) -> Vec<DynTool> {
    let text = |args: &Value, key: &str| args[key].as_str().unwrap_or_default().to_owned();
    let mut tools = Vec::new();
    let note = log.clone();
    tools.push(
        ToolBuilder::new(
            "read",
            "Reads.",
            object(&json!({"path": {"type": "string"}, "size": {"type": "integer"}})),
        )
        .unwrap()
        .spec(|spec| spec.aliases.push(tollgate::tool::ToolName::new("old_read").unwrap()))
        .effects(|_, _| Effects::reading())
        .run(move |_, args| {
            let path = text(args, "path");
            note.note(format!("read {path}"));
            let size = usize::try_from(args["size"].as_u64().unwrap_or(0)).unwrap();
            Box::pin(async move { Ok(Output::text(format!("content of {path} {}", "x".repeat(size)))) })
        }),
    );
    let note = log.clone();
    tools.push(
        ToolBuilder::new("write", "Writes.", object(&json!({"path": {"type": "string"}})))
            .unwrap()
            .effects(|_, _| Effects::writing())
            .run(move |_, args| {
                let path = text(args, "path");
                note.note(format!("write {path}"));
                Box::pin(async move { Ok(Output::text(format!("wrote {path}"))) })
            }),
    );
    for (name, interrupt) in [("slow", Interrupt::Cancel), ("steady", Interrupt::Block)] {
        let note = log.clone();
        tools.push(
            ToolBuilder::new(name, "Takes its time.", object(&json!({"ms": {"type": "integer"}})))
                .unwrap()
                .spec(|spec| spec.interrupt = interrupt)
                .effects(|_, _| Effects::writing())
                .run(move |_, args| {
                    let (note, ms) = (note.clone(), args["ms"].as_u64().unwrap_or(0));
                    Box::pin(async move {
                        note.note(format!("{name} began"));
                        tokio::time::sleep(Duration::from_millis(ms)).await;
                        note.note(format!("{name} ended"));
                        Ok(Output::text("done"))
                    })
                }),
        );
    }
    tools.push(
        ToolBuilder::new("look", "Shows a picture.", object(&json!({})))
            .unwrap()
            .effects(|_, _| Effects::reading())
            .run(|_, _| Box::pin(async { Ok(Output::image("image/png", PNG)) })),
    );
    tools.push(
        ToolBuilder::new("fail", "Fails.", object(&json!({})))
            .unwrap()
            .effects(|_, _| Effects::reading())
            .run(|_, _| Box::pin(async { Err(Failure::fatal("it cannot be done")) })),
    );
    let note = log.clone();
    tools.push(
        ToolBuilder::new("hidden", "Is found by search.", object(&json!({})))
            .unwrap()
            .spec(|spec| spec.visibility = Visibility::Deferred)
            .effects(|_, _| Effects::reading())
            .run(move |_, _| {
                note.note("hidden");
                Box::pin(async { Ok(Output::text("found")) })
            }),
    );
    tools
}
