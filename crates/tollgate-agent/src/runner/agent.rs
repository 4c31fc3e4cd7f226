//! What an agent is made of: a model, a gate, a place to work in, and what it may spend.

use std::{sync::Arc, time::Duration};

use tollgate::{Scope, Tollgate, outcome::ResultStore, tool::RunId, wire::Usage};

use super::{Conversation, Meter};
use crate::{
    event::Teller,
    history::Part,
    machine::{Limits, Spent},
    model::Model,
    price::Models,
    session::{Forgotten, Header, SessionFault, SessionStore},
    tools::Desk,
};

/// What a turn of a model costs, in millionths of a dollar.
pub type Price = Arc<dyn Fn(&dyn Model, &Usage) -> u64 + Send + Sync>;

/// Prices by a table of models; what is not in it costs nothing.
pub fn prices(models: Models) -> Price {
    Arc::new(move |model, usage| {
        let cost = models.cost(model.name(), model.provider(), usage);
        cost.map_or(0, |money| money.nanos().div_ceil(1_000))
    })
}

/// An agent, ready to take up conversations. Cheap to clone.
#[derive(Clone)]
pub struct Agent {
    config: Arc<Config>,
}

/// Everything a conversation needs to know.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "independent choices of whoever builds the agent")]
pub(crate) struct Config {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) gate: Tollgate,
    /// What every call has in common; run, turn and route are filled in.
    pub(crate) scope: Scope,
    pub(crate) system: Arc<str>,
    /// Said before the first message: instruction files and the like.
    pub(crate) context: Vec<(String, String)>,
    pub(crate) limits: Limits,
    pub(crate) sessions: Option<Arc<dyn SessionStore>>,
    pub(crate) results: Option<Arc<dyn ResultStore>>,
    pub(crate) price: Option<Price>,
    pub(crate) teller: Option<Teller>,
    pub(crate) desk: Option<Desk>,
    pub(crate) role: Option<String>,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) purpose: bool,
    pub(crate) strict: bool,
    pub(crate) plan: bool,
    pub(crate) durable_ledger: bool,
    pub(crate) retry_pause: Duration,
    pub(crate) window: Option<u64>,
    /// Who sent it out.
    pub(crate) parent: Option<Parent>,
}

/// Who sent an agent out, and what it is held to.
#[derive(Clone)]
pub(crate) struct Parent {
    pub(crate) run: RunId,
    pub(crate) meter: Arc<Meter>,
    pub(crate) control: Arc<super::Control>,
}

/// Makes an agent. What is not given is on the safe side, or left out.
#[must_use]
pub struct AgentBuilder {
    config: Config,
}

impl Agent {
    /// An agent with this model, whose calls walk through this gate in this scope.
    ///
    /// The scope's run and turn are the conversation's own; its route is kept unless a [`Desk`] sets one.
    pub fn builder(model: Arc<dyn Model>, gate: Tollgate, scope: Scope) -> AgentBuilder {
        AgentBuilder {
            config: Config {
                model,
                gate,
                scope,
                system: Arc::from(""),
                context: Vec::new(),
                limits: Limits::default(),
                sessions: None,
                results: None,
                price: None,
                teller: None,
                desk: None,
                role: None,
                max_output_tokens: None,
                purpose: false,
                strict: false,
                plan: false,
                durable_ledger: false,
                retry_pause: Duration::from_millis(500),
                window: None,
                parent: None,
            },
        }
    }

    pub(crate) fn of(config: Config) -> Self {
        Self { config: Arc::new(config) }
    }

    /// Begins a conversation under this id, which is its run's and its session's.
    pub fn begin(&self, id: RunId) -> Result<Conversation, SessionFault> {
        let config = &self.config;
        let header = Header {
            id: id.clone(),
            began_ms: crate::session::now_ms(),
            model: config.model.name().into(),
            cwd: config.scope.cwd().display().to_string(),
            role: config.role.clone(),
            parent: config.parent.as_ref().map(|parent| parent.run.clone()),
            plan: config.plan,
        };
        let log = match &config.sessions {
            Some(sessions) => sessions.begin(&header)?,
            None => Box::new(Forgotten),
        };
        Ok(Conversation::begin(self.config.clone(), id, log))
    }

    /// Takes up a conversation where it was left, however it was left.
    pub fn resume(&self, id: &RunId) -> Result<Conversation, SessionFault> {
        let Some(sessions) = &self.config.sessions else {
            return Err(SessionFault::Unknown(id.to_string()));
        };
        let (saved, log) = sessions.open(id)?;
        Ok(Conversation::resume(self.config.clone(), id.clone(), saved, log))
    }
}

impl AgentBuilder {
    /// What the model is told before everything else.
    pub fn system(mut self, text: impl Into<Arc<str>>) -> Self {
        self.config.system = text.into();
        self
    }

    /// Something said before the first message of a new conversation, as an instruction file; `from` names it.
    pub fn context(mut self, text: impl Into<String>, from: impl Into<String>) -> Self {
        self.config.context.push((text.into(), from.into()));
        self
    }

    /// What a run may take.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// Where conversations are written down. Without it they are gone with the process.
    pub fn sessions(mut self, sessions: Arc<dyn SessionStore>) -> Self {
        self.config.sessions = Some(sessions);
        self
    }

    /// Conversations are not written down, whatever was said before.
    pub fn unkept(mut self) -> Self {
        self.config.sessions = None;
        self
    }

    /// Where old results go when the window fills; the gate's own store, so that `result_read` finds them. Without
    /// it they are left out for good.
    pub fn results(mut self, results: Arc<dyn ResultStore>) -> Self {
        self.config.results = Some(results);
        self
    }

    /// What turns cost.
    pub fn price(mut self, price: Price) -> Self {
        self.config.price = Some(price);
        self
    }

    /// Who is told of what happens.
    pub fn events(mut self, teller: Teller) -> Self {
        self.config.teller = Some(teller);
        self
    }

    /// The desk whose tools (`todo`, `ask_user`, `delegate` …) are registered with the gate.
    pub fn desk(mut self, desk: Desk) -> Self {
        self.config.desk = Some(desk);
        self
    }

    /// The name of the agent's role, as the desk knows it: its tools are the ones exposed.
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.config.role = Some(role.into());
        self
    }

    /// The most tokens of one answer.
    pub fn max_output_tokens(mut self, most: u32) -> Self {
        self.config.max_output_tokens = Some(most);
        self
    }

    /// Asks the model for a line on why it calls each tool.
    pub fn purpose(mut self, asked: bool) -> Self {
        self.config.purpose = asked;
        self
    }

    /// Asks the provider to hold the model to the schemas, where they can be told it so.
    pub fn strict(mut self, strict: bool) -> Self {
        self.config.strict = strict;
        self
    }

    /// Begins new conversations in plan mode: nothing may be changed until `start_work` was approved.
    pub fn plan(mut self, plan: bool) -> Self {
        self.config.plan = plan;
        self
    }

    /// Says that the gate's ledger outlives the process, so that a resumed call finds there what became of it.
    /// Otherwise a call with effects that was open when the process ended is answered as `unknown` and not run.
    pub fn durable_ledger(mut self, durable: bool) -> Self {
        self.config.durable_ledger = durable;
        self
    }

    /// How long to wait before an answer that broke off is asked for again, where the provider says nothing.
    pub fn retry_pause(mut self, pause: Duration) -> Self {
        self.config.retry_pause = pause;
        self
    }

    /// How many tokens fit into the model's window, where the model does not know it.
    pub fn window(mut self, tokens: u64) -> Self {
        self.config.window = Some(tokens);
        self
    }

    /// The agent.
    pub fn build(self) -> Agent {
        Agent::of(self.config)
    }
}

impl Config {
    /// How many tokens fit, where anybody knows.
    pub(crate) fn window(&self) -> Option<u64> {
        self.window.or_else(|| self.model.context_window())
    }

    pub(crate) fn meter(&self, spent: Spent) -> Arc<Meter> {
        Meter::new(self.limits.clone(), spent, self.parent.as_ref().map(|parent| parent.meter.clone()))
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.config.model.name()).finish_non_exhaustive()
    }
}

/// One text, as a message.
impl From<&str> for Part {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}
