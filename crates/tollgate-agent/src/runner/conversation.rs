//! One conversation: says what is said to it, goes on until the task is over, and can be taken up again.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;
use tollgate::{
    Scope,
    event::Subscription,
    guard::{Budget, Run},
    tool::{Route, RunId},
};

use super::{Config, Control, Handle, Meter, offer::Offers};
use crate::{
    event::{AgentEvent, What},
    history::{Part, Projection},
    machine::{Fact, Limits, Machine, Spent, Step, StopReason},
    session::{Saved, SessionFault, SessionLog, replay},
    tools::{Post, Seat},
};

/// A conversation with an agent.
pub struct Conversation {
    pub(super) config: Arc<Config>,
    pub(super) id: RunId,
    pub(super) machine: Machine,
    pub(super) projection: Projection,
    pub(super) offers: Offers,
    pub(super) log: Box<dyn SessionLog>,
    pub(super) control: Arc<Control>,
    pub(super) run: Run,
    pub(super) meter: Arc<Meter>,
    /// Steps of the calls, for whoever watches.
    pub(super) steps: Option<Subscription>,
    /// Time that went by while a person was asked.
    pub(super) patience: super::watch::Patience,
    /// Its place at the desk while it runs.
    pub(super) seat: Option<Seat>,
    /// Calls were open when the process before this one ended.
    pub(super) broken_off: bool,
    /// What the model's window holds by the last count, and how much was projected then.
    pub(super) filled: super::room::Filled,
    pub(super) resumed: bool,
    report: Option<String>,
}

/// How a task ended.
#[derive(Debug, Clone)]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// The last text of the model.
    pub text: Option<String>,
    /// What the run has spent.
    pub spent: Spent,
    /// The conversation's id, to go on with.
    pub id: RunId,
}

impl Conversation {
    pub(super) fn begin(config: Arc<Config>, id: RunId, log: Box<dyn SessionLog>) -> Self {
        let machine = Machine::new(Limits::unlimited());
        let machine = if config.plan { machine.planning() } else { machine };
        let mut conversation = Self::new(config, id, machine, log);
        let limits = conversation.config.limits.clone();
        conversation.fact(Fact::Limits { limits });
        for (text, from) in conversation.config.context.clone() {
            conversation.tell(text, from);
        }
        conversation
    }

    pub(super) fn resume(config: Arc<Config>, id: RunId, saved: Saved, log: Box<dyn SessionLog>) -> Self {
        let torn = saved.torn;
        let (machine, misplaced) = replay(saved);
        let broken_off = matches!(machine.next(), Step::CallTools { .. });
        let mut conversation = Self::new(config, id, machine, log);
        conversation.broken_off = broken_off;
        conversation.resumed = true;
        let limits = conversation.config.limits.clone();
        conversation.fact(Fact::Limits { limits });
        if torn || misplaced > 0 {
            let message =
                format!("the session was torn at its end; {misplaced} facts did not fit and were left out");
            conversation.event(What::Fault { message });
        }
        conversation
    }

    fn new(config: Arc<Config>, id: RunId, machine: Machine, log: Box<dyn SessionLog>) -> Self {
        let control = Arc::new(Control::default());
        if let Some(parent) = &config.parent {
            parent.control.adopt(&control);
        }
        let watches = config.teller.is_some() || config.limits.ms.is_some();
        Self {
            projection: Projection::new(config.model.provider(), config.model.name()),
            offers: Offers::default(),
            run: Run::new(id.as_str()),
            meter: config.meter(*machine.spent()),
            steps: watches.then(|| config.gate.observe(super::watch::CAPACITY)),
            patience: super::watch::Patience::default(),
            seat: None,
            broken_off: false,
            filled: super::room::Filled::default(),
            resumed: false,
            report: None,
            config,
            id,
            machine,
            log,
            control,
        }
    }

    /// Speaks to the conversation while it runs.
    pub fn handle(&self) -> Handle {
        Handle::new(self.control.clone())
    }

    /// Where the conversation stands.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The report a sub-agent handed in.
    pub(crate) fn reported(&mut self) -> Option<String> {
        self.report.take()
    }

    /// Its id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The tools the agent may call now, by the names they go by.
    pub fn tools(&self) -> Vec<Arc<str>> {
        let route = self.route().or_else(|| self.config.scope.route.clone());
        self.config.gate.snapshot().reachable(route.as_ref()).map(|(name, _)| name.clone()).collect()
    }

    /// The route of an agent with a desk.
    fn route(&self) -> Option<Route> {
        let post = if self.config.parent.is_some() { Post::SentOut } else { Post::Main };
        let desk = self.config.desk.as_ref()?;
        Some(desk.route(post, self.config.role.as_deref(), self.machine.is_planning()))
    }

    /// Tells the model something beside the conversation; it is read with the next message.
    pub fn tell(&mut self, text: impl Into<String>, from: impl Into<String>) {
        let (text, from) = (text.into(), from.into());
        self.event(What::Context { text: text.clone(), from: from.clone() });
        self.fact(Fact::Context { text, from });
    }

    /// Begins or ends plan mode by the person's own word.
    pub fn plan(&mut self, on: bool) {
        self.event(What::Plan { on });
        self.fact(Fact::Plan { on });
    }

    /// Says something and goes on until the task is over.
    pub async fn say(&mut self, parts: Vec<Part>) -> Stopped {
        self.fact(Fact::Said { parts });
        if self.config.scope.interactive {
            self.ask_again();
        } else if matches!(self.machine.next(), Step::NeedApproval { .. }) {
            self.fact(Fact::GoOn);
        }
        self.go().await
    }

    /// Goes on with a task that was broken off, or with calls that are still open.
    pub async fn go_on(&mut self) -> Stopped {
        self.fact(Fact::Resumed);
        self.ask_again();
        self.go().await
    }

    /// Calls that waited for a person are put on the path once more.
    fn ask_again(&mut self) {
        if let Step::NeedApproval { missing } = self.machine.next() {
            let calls = missing.iter().map(|missing| missing.call.id.clone()).collect();
            self.fact(Fact::AskAgain { calls });
        }
    }

    async fn go(&mut self) -> Stopped {
        if self.config.parent.is_none() {
            // What was pressed while nothing ran meant nothing that runs now.
            self.control.forget_interrupts();
        }
        self.begin_run();
        let model = self.config.model.name().into();
        let resumed = std::mem::take(&mut self.resumed);
        self.event(What::Began { model, resumed });
        let reason = self.drive().await;
        self.control.idle();
        self.control.forget_interrupts();
        self.tell_steps();
        self.report = self.seat.take().and_then(|seat| seat.take_report());
        // What is said at the end should be there when somebody asks for it; nothing depends on when.
        if let Err(fault) = self.log.sync().await {
            self.not_kept(&fault);
        }
        let text = self.machine.history().last_text().map(str::to_owned);
        let spent = *self.machine.spent();
        self.event(What::Stopped { stop: reason.clone(), text: text.clone(), spent });
        Stopped { reason, text, spent, id: self.id.clone() }
    }

    async fn drive(&mut self) -> StopReason {
        loop {
            self.take_messages();
            if let Some(limit) = self.meter.ceiling() {
                self.fact(Fact::Ceiling { limit });
            }
            let ended = match self.machine.next() {
                Step::Done { reason } => return reason.clone(),
                // Nobody has said anything: nothing is left to do.
                Step::Wait { for_ms: None } => return StopReason::Done,
                Step::Wait { for_ms: Some(ms) } => self.wait(ms).await,
                Step::MakeRoom => self.make_room(super::room::KEEP_LAST).await,
                Step::CallModel { turn } => {
                    self.room_for_a_turn().await;
                    self.ask(turn).await
                }
                Step::CallTools { .. } => self.take_up_calls().await,
                Step::NeedApproval { missing } => {
                    let tools = missing.iter().map(|missing| missing.call.name.clone()).collect();
                    return StopReason::NeedsPerson { tools };
                }
            };
            if let Err(reason) = ended {
                return reason;
            }
        }
    }

    /// What was said and done from outside since the last step.
    fn take_messages(&mut self) {
        for parts in self.control.take_said() {
            self.fact(Fact::Said { parts });
        }
        if self.control.interrupts() > 0 {
            self.fact(Fact::Interrupted);
        }
    }

    async fn wait(&mut self, ms: u64) -> Result<(), StopReason> {
        let until = Instant::now() + Duration::from_millis(ms);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                () = self.control.changed() => {}
            }
            if self.control.interrupts() > 0 {
                return Ok(());
            }
        }
        self.fact(Fact::Waited);
        Ok(())
    }

    /// A run's token and purse are good for one task: a cancelled one would stop the next as well.
    fn begin_run(&mut self) {
        let left = self.config.limits.left(self.machine.spent());
        let mut budget = Budget::default();
        budget.calls = left.calls;
        budget.tokens = left.tokens;
        budget.microdollars = left.microdollars;
        let run = Run::builder(self.id.as_str()).under(self.config.scope.run.token()).budget(budget);
        self.run = run.build();
        self.meter = self.config.meter(*self.machine.spent());
        self.seat = self.config.desk.as_ref().map(|desk| {
            let seat = crate::tools::Sitting {
                config: self.config.clone(),
                run: self.id.clone(),
                meter: self.meter.clone(),
                control: self.control.clone(),
            };
            desk.sit_down(seat)
        });
    }

    /// The scope of one turn's calls.
    pub(super) fn scope(&self, turn: u32) -> Arc<Scope> {
        let mut scope = self.config.scope.clone();
        scope.run = self.run.clone();
        scope.turn = turn;
        scope.window = self.config.window().map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        scope.reading_only = scope.reading_only || self.machine.is_planning();
        if let Some(route) = self.route() {
            scope.route = Some(route);
        }
        if let Some(seat) = &self.seat {
            seat.turn(turn);
        }
        Arc::new(scope)
    }

    /// Writes a fact down and takes it.
    pub(super) fn fact(&mut self, fact: Fact) {
        self.log.append(&fact);
        let planned = self.machine.is_planning();
        if let Err(misplaced) = self.machine.apply(fact) {
            self.event(What::Fault { message: misplaced.to_string() });
        }
        if planned && !self.machine.is_planning() {
            self.event(What::Plan { on: false });
        }
    }

    pub(super) fn event(&self, what: What) {
        self.event_of(self.machine.turn_under_way(), what);
    }

    pub(super) fn event_of(&self, turn: u32, what: What) {
        if let Some(teller) = &self.config.teller {
            let agent = self.config.scope.agent.clone();
            teller.tell(AgentEvent { run: self.id.clone(), agent, turn, what });
        }
    }

    pub(super) fn not_kept(&self, fault: &SessionFault) -> StopReason {
        self.event(What::Fault { message: fault.to_string() });
        StopReason::NotKept { why: fault.to_string() }
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("id", &self.id)
            .field("next", &self.machine.next())
            .finish_non_exhaustive()
    }
}
