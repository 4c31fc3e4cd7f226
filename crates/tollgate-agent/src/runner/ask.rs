//! One turn of the model: asked, streamed, its calls begun as they come, written down before anything takes effect.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::{Instant, MissedTickBehavior},
};
use tokio_util::sync::CancellationToken;
use tollgate::{
    Proposed, Settled, TurnStream,
    catalog::Snapshot,
    tool::Scope,
    wire::{ModelTurn, Provider, TurnEvent},
};

use super::{
    Conversation,
    offer::{Offer, Shape},
};
use crate::{
    event::What,
    history::Turn,
    machine::{Answered, Fact, ModelFault, Step as Next, StopReason, Then},
    model::{Broken, Caching, ErrorKind, ModelError, Request, Step, ToolChoice, recover},
};

/// How often steps of running calls are told.
const TICK: Duration = Duration::from_millis(20);

/// A turn that is coming.
pub(super) struct Coming {
    pub(super) scope: Arc<Scope>,
    pub(super) offer: Arc<Offer>,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) stream: TurnStream,
    pub(super) interrupter: tollgate::Interrupter,
    /// Answers as they come.
    pub(super) answers: UnboundedReceiver<Settled>,
    /// Calls that were put on the path already.
    pub(super) pushed: Vec<Proposed>,
    /// Answers that came before the turn was whole.
    pub(super) early: Vec<Settled>,
}

/// How the model's part of a turn ended.
enum End {
    Whole(Box<ModelTurn>),
    Broken(Broken),
}

impl Conversation {
    /// Asks the model and has its calls answered.
    pub(super) async fn ask(&mut self, turn: u32) -> Result<(), StopReason> {
        let began = Instant::now();
        self.config.gate.refresh();
        let mut coming = self.coming(turn);
        let request = self.request(&coming.offer);
        let cancel = request.cancel.clone();
        self.control.asking(&cancel);
        self.event(What::TurnBegan);
        let end = self.stream(request, &mut coming, &cancel).await;
        self.worked(began);
        match end {
            End::Whole(turn) => self.whole(*turn, coming).await,
            End::Broken(broken) => {
                self.broken(broken, coming).await;
                Ok(())
            }
        }
    }

    fn coming(&mut self, turn: u32) -> Coming {
        let scope = self.scope(turn);
        let (tell, answers) = mpsc::unbounded_channel();
        let pinned = self.config.gate.turn(&scope).telling(move |answer| {
            // Whoever asked may be gone; the answers of the turn are still gathered.
            let _ = tell.send(answer.clone());
        });
        let shape = self.shape();
        let offer = self.offers.of(pinned.snapshot(), shape, scope.route.as_ref());
        let snapshot = self.config.gate.snapshot();
        let interrupter = pinned.interrupter();
        let stream = pinned.streaming();
        Coming { scope, offer, snapshot, stream, interrupter, answers, pushed: Vec::new(), early: Vec::new() }
    }

    pub(super) fn shape(&self) -> Shape {
        let model = &self.config.model;
        Shape {
            provider: model.provider(),
            search: model.tool_search(),
            strict: self.config.strict,
            purpose: self.config.purpose,
        }
    }

    fn request(&mut self, offer: &Offer) -> Request {
        let report = self.projection.update(self.machine.history(), self.machine.edition());
        if !report.is_clean() {
            self.event(What::Repaired { notes: report.notes });
        }
        Request {
            system: self.config.system.clone(),
            messages: self.projection.messages().clone(),
            tools: offer.json.clone(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: self.config.max_output_tokens,
            caching: Caching::Marked,
            conversation: Some(self.id.as_str().into()),
            cancel: self.run.token().child_token(),
        }
    }

    async fn stream(&mut self, request: Request, coming: &mut Coming, cancel: &CancellationToken) -> End {
        let deadline = self.time_left().and_then(|left| Instant::now().checked_add(left));
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let model = self.config.model.clone();
        let mut reply = model.ask(request);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return broken(ErrorKind::Cancelled, "the request was interrupted"),
                step = reply.next() => match step {
                    Some(Step::Waiting(waiting)) => self.event(What::RetryWaiting {
                        why: waiting.error.to_string(),
                        hint: waiting.error.hint().to_owned(),
                        delay_ms: millis(waiting.delay),
                        attempt: waiting.attempt,
                        of: waiting.of,
                    }),
                    Some(Step::Event(event)) => self.turn_event(event, coming),
                    Some(Step::Done(turn)) => return End::Whole(turn),
                    Some(Step::Broken(broken)) => return End::Broken(broken),
                    None => return broken(ErrorKind::Cut, "the reply ended without its last step"),
                },
                Some(answer) = coming.answers.recv() => {
                    // That it began is told before how it ended.
                    self.tell_steps();
                    self.event(What::CallSettled { answer: Box::new(answer.clone()) });
                    coming.early.push(answer);
                }
                _ = tick.tick() => self.tell_steps(),
                () = until(deadline) => return broken(ErrorKind::Cancelled, "the run's time is used up"),
            }
        }
    }

    fn turn_event(&mut self, event: TurnEvent, coming: &mut Coming) {
        match event {
            TurnEvent::TextDelta(text) => self.event(What::Text { text }),
            TurnEvent::ThinkingDelta(text) => self.event(What::Thinking { text }),
            TurnEvent::CallReady(call) => {
                let call = coming.offer.inward(&call);
                self.proposed(&call);
                coming.stream.push(call.clone());
                coming.pushed.push(call);
            }
            // What they say is in the turn at its end, or in why there is none.
            TurnEvent::Usage(_) | TurnEvent::Stop(_) | TurnEvent::Error(_) | TurnEvent::Ignored(_) => {}
        }
    }

    pub(super) fn proposed(&self, call: &Proposed) {
        self.event(What::CallProposed {
            id: call.id.clone(),
            tool: call.name.to_string(),
            input: call.input.as_str().to_owned(),
            purpose: call.purpose.clone(),
        });
    }

    /// The turn is whole: it is written down, and then its calls run.
    async fn whole(&mut self, turn: ModelTurn, coming: Coming) -> Result<(), StopReason> {
        let turn = self.meant(turn, &coming);
        let calls: Vec<Proposed> = turn.calls.iter().map(|call| coming.offer.inward(call)).collect();
        self.answered(&turn, &calls);
        if calls.is_empty() {
            return Ok(());
        }
        self.control.calling(coming.interrupter.clone());
        if let Err(fault) = self.log.sync().await {
            let why = "The conversation could not be written down, so nothing was run.";
            let answers = coming.stream.cut(why).await;
            answers.into_iter().for_each(|answer| self.settled(answer));
            return Err(self.not_kept(&fault));
        }
        for call in &calls[coming.pushed.len().min(calls.len())..] {
            self.proposed(call);
        }
        let began = Instant::now();
        self.settle(&turn, calls, coming).await;
        self.worked(began);
        Ok(())
    }

    /// The turn with the calls that a small model wrote into its text, where it did; those are served by the open
    /// APIs, and nobody else's JSON is taken for a call.
    fn meant(&self, turn: ModelTurn, coming: &Coming) -> ModelTurn {
        let provider = self.config.model.provider();
        if provider == Provider::Anthropic || !turn.calls.is_empty() {
            return turn;
        }
        let seed = format!("{}/{}", self.id, self.machine.turn());
        let route = coming.scope.route.as_ref();
        let is_call = |call: &Proposed| coming.snapshot.takes(&coming.offer.inward(call), route);
        recover(&turn, provider, &seed, is_call).unwrap_or(turn)
    }

    /// Charges for the turn and puts it into the history.
    fn answered(&mut self, turn: &ModelTurn, calls: &[Proposed]) {
        let model = &self.config.model;
        let provider = model.provider();
        let usage = turn.usage;
        let price = self.config.price.as_ref().zip(usage.as_ref());
        let microdollars = price.map_or(0, |(price, usage)| price(&**model, usage));
        if let Some(usage) = &usage {
            let tokens = crate::machine::total(provider, usage);
            self.meter.charge(0, tokens, microdollars);
            self.run.purse().charge(tokens, microdollars);
            self.filled.count(tokens, self.machine.history().len());
        }
        let number = self.machine.turn() + 1;
        let entry = Turn::of(turn, number, (provider, model.name()), calls);
        self.fact(Fact::Answered(Box::new(Answered {
            turn: entry,
            stop: turn.stop.clone(),
            faults: turn.faults.clone(),
            usage,
            microdollars,
        })));
        if let Some(usage) = usage {
            // The machine may be on its way to the next one.
            self.event_of(number, What::Usage { usage, microdollars, total: *self.machine.spent() });
        }
    }

    /// There is no turn: what had begun is stopped and thrown away, and nothing of it is in the history.
    async fn broken(&mut self, broken: Broken, coming: Coming) {
        let why = broken.error.to_string();
        for call in &coming.pushed {
            self.event(What::CallDiscarded { id: call.id.clone() });
        }
        self.event(What::Discarded { why: why.clone() });
        drop(coming.stream.cut(&format!("The answer broke off: {why}.")).await);
        // Time that ran out has ended the task already, and says so better.
        if !matches!(self.machine.next(), Next::CallModel { .. }) {
            return;
        }
        self.fact(Fact::Failed(fault(&broken.error, self.config.retry_pause)));
    }

    /// Counts time at work; a limit that is reached shows at once.
    pub(super) fn worked(&mut self, since: Instant) {
        let ms = millis(since.elapsed().saturating_sub(self.patience.settle()));
        if ms > 0 && self.config.limits.ms.is_some() {
            self.fact(Fact::Worked { ms });
        }
    }

    /// How much of the run's time is left.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let left = self.config.limits.ms?.saturating_sub(self.machine.spent().ms);
        Some(Duration::from_millis(left))
    }
}

/// What a failed request means for the loop.
fn fault(error: &ModelError, pause: Duration) -> ModelFault {
    let then = match error.kind() {
        ErrorKind::Cancelled => Then::Cancelled,
        ErrorKind::ContextOverflow => Then::TooLong,
        // Part of the answer had come, so its client did not try again: a little later, the whole once more.
        _ if error.may_be_tried_again() => {
            Then::Again { after_ms: millis(error.retry_after().unwrap_or(pause)) }
        }
        _ => Then::GiveUp,
    };
    ModelFault {
        kind: error.kind().as_str().to_owned(),
        message: error.to_string(),
        hint: error.hint().to_owned(),
        then,
    }
}

fn broken(kind: ErrorKind, message: &str) -> End {
    End::Broken(Broken { error: ModelError::new(kind, message), partial: None })
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
