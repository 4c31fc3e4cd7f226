//! A conversation from its first message to its end, shown, interrupted and kept.

use std::io::{IsTerminal as _, Write as _};

use tokio_util::sync::CancellationToken;
use tollgate_agent::{Conversation, Handle, Interruption, Part, Stopped, events, machine::Step};

use super::{
    Setup,
    account::Account,
    args::Run,
    interact::{self, Leaves, Typed},
    outcome,
    screen::{Expand, Screen, Stage, Terminal, TextTo, width},
    sessions,
    show::{Show, Shown},
    watch,
};
use crate::{
    approver::Typing,
    args::Shared,
    exit::{Exit, Fault},
    stop::{Stops, Wish},
    words,
    world::World,
};

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) exit: Exit,
    /// The session, which is the run in the trace as well.
    pub(crate) session: String,
}

/// Goes through a conversation. Inside a runtime.
pub(crate) async fn run(
    setup: Setup,
    args: &Run,
    shared: &Shared,
    prompt: Option<String>,
    stage: Stage,
) -> Result<Ended, Fault> {
    let (terminal, text_to) = Terminal::open(stage, &setup.environment);
    let moves = terminal.looks.moves;
    let screen = (!shared.json && !args.print).then(|| Screen::new(terminal, text_to));
    if let (Some(place), Some(screen)) = (&setup.world.terminal, &screen) {
        place.beside(screen);
    }
    let typing = types(&setup, args, shared, prompt.is_some())?;
    let servers = setup.servers(args, shared).await?;
    let (teller, listener) = events();
    let agent = setup.agent(teller);
    let id = setup.id();
    let conversation = match &setup.taken_up {
        Some(_) => agent.resume(&id),
        None => agent.begin(id.clone()),
    };
    let conversation = conversation.map_err(|error| sessions::fault(&error))?;
    drop(agent);
    setup.world.recorder.watch(&setup.world.gate);
    let expand = if args.verbose { Expand::Whole } else { Expand::Short };
    let show = match (&screen, shared.json) {
        (Some(screen), _) => Show::Screen(screen.clone(), expand),
        (None, true) => Show::Json,
        (None, false) => Show::Quiet,
    };
    let account = Account::new(setup.world.recorder.store().cloned());
    let shown = show.start(listener, account, conversation.handle())?;
    let leaving = CancellationToken::new();
    let mut course = Course { setup, conversation, shown, screen, text_to, moves, leaving: leaving.clone() };
    course.opening(stage);
    let interrupts = tokio::spawn(interrupted(Stops::listen(), course.conversation.handle(), leaving));
    let stopped = course.go(prompt, typing).await;
    interrupts.abort();
    servers.upstreams.close().await;
    Ok(course.close(stopped, args))
}

/// Whether a person types messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    Yes,
    No,
}

fn types(setup: &Setup, args: &Run, shared: &Shared, has_prompt: bool) -> Result<Types, Fault> {
    let quiet = args.print || shared.json;
    let here = setup.world.terminal.is_some() && std::io::stdin().is_terminal() && !quiet;
    match (has_prompt, here, &setup.taken_up) {
        (false, true, _) => Ok(Types::Yes),
        (true, ..) | (false, false, Some(_)) => Ok(Types::No),
        (false, false, None) => {
            let hint = "give it as an argument, or `-` to read it from stdin.";
            Err(Fault::usage("there is no prompt, and no terminal to type one at", hint))
        }
    }
}

/// What is to be worked on.
enum Task {
    Say(String),
    /// What was broken off.
    GoOn,
}

/// A conversation under way.
struct Course {
    setup: Setup,
    conversation: Conversation,
    shown: Shown,
    screen: Option<Screen>,
    text_to: TextTo,
    moves: bool,
    /// Somebody wants the program to end: no more messages are taken.
    leaving: CancellationToken,
}

impl Course {
    /// What the person should know before anything happens.
    fn opening(&self, stage: Stage) {
        let setup = &self.setup;
        words::set_aside(&setup.world.loaded);
        setup.instructions.unread.iter().for_each(|unread| words::talk(&format!("note: {unread}")));
        let Some(screen) = self.screen.as_ref().filter(|_| stage == Stage::Usual) else { return };
        let how = if setup.taken_up.is_some() { "goes on with" } else { "is" };
        let folder = setup.world.scope.cwd().display();
        screen.note(&format!(
            "{} in {folder}; the session {how} {}",
            setup.model.name(),
            self.conversation.id()
        ));
        if setup.taken_up.is_some()
            && let Some(last) = self.conversation.machine().history().last_text()
        {
            let last = last.split_whitespace().collect::<Vec<_>>().join(" ");
            screen.note(&format!("it said last: {}", width::cut(&last, 300)));
        }
        if let Some(told) = setup.instructions.told(setup.world.scope.cwd()) {
            screen.note(&told);
        }
    }

    async fn go(&mut self, prompt: Option<String>, typing: Types) -> Option<Stopped> {
        let task = match prompt {
            Some(prompt) => Some(Task::Say(prompt)),
            None if self.is_open() => Some(Task::GoOn),
            None => None,
        };
        let (mut last, mut begun) = (None, String::new());
        if let Some(task) = task {
            let (stopped, typed) = self.work(task).await;
            (last, begun) = (Some(stopped), typed);
        }
        if typing == Types::Yes {
            last = self.typed(last, begun).await;
        }
        last
    }

    /// True where a task was broken off and can go on.
    fn is_open(&self) -> bool {
        self.setup.taken_up.is_some()
            && !matches!(self.conversation.machine().next(), Step::Done { reason } if reason.is_done())
    }

    /// Works on a task until it is over, and takes what is typed meanwhile; what was not sent is given back.
    async fn work(&mut self, task: Task) -> (Stopped, String) {
        let handle = self.conversation.handle();
        let place = self.setup.world.terminal.clone().filter(|_| std::io::stdin().is_terminal());
        let mut typing = Typing::default();
        let stopped = {
            let conversation = &mut self.conversation;
            let mut worked = std::pin::pin!(async move {
                match task {
                    Task::Say(text) => conversation.say(vec![Part::text(text)]).await,
                    Task::GoOn => conversation.go_on().await,
                }
            });
            let heard = async {
                match (&place, &self.screen) {
                    (Some(place), Some(screen)) => {
                        interact::meanwhile(place, screen, &handle, &mut typing).await
                    }
                    _ => None,
                }
            };
            let ended = tokio::select! {
                biased;
                stopped = &mut worked => Ok(stopped),
                leaves = heard => Err(leaves),
            };
            match ended {
                Ok(stopped) => stopped,
                // The terminal is as it was: bodies that will not even be stopped do not keep the person.
                Err(Some(Leaves)) => std::process::exit(Exit::Interrupted as i32),
                Err(None) => worked.await,
            }
        };
        self.shown.task().await;
        if let Some(screen) = &self.screen {
            screen.typing("");
        }
        (stopped, typing.text())
    }

    /// Messages until the person leaves.
    async fn typed(&mut self, mut last: Option<Stopped>, mut begun: String) -> Option<Stopped> {
        let mut earlier: Vec<String> = Vec::new();
        let (Some(place), Some(screen)) = (self.setup.world.terminal.clone(), self.screen.clone()) else {
            return last;
        };
        if let Some(stopped) = &last {
            self.why(stopped);
        } else {
            screen.note("say what is to be done; /help shows the commands, /quit leaves");
        }
        loop {
            let begun_with = std::mem::take(&mut begun);
            match interact::read(&place, &begun_with, &earlier, self.moves, &self.leaving).await {
                None | Some(Typed::Quit) => return last,
                Some(Typed::Nothing) => {}
                Some(Typed::Help) => screen.lines(interact::HELP),
                Some(Typed::Cost) => screen.lines(&watch::total(self.conversation.machine().spent())),
                Some(Typed::Tools) => screen.lines(&self.tools()),
                Some(Typed::Unknown(command)) => {
                    screen.note(&format!("{command} is no command; /help shows them all"));
                }
                Some(Typed::Message(text)) => {
                    earlier.push(text.clone());
                    let (stopped, typed) = self.work(Task::Say(text)).await;
                    begun = typed;
                    self.why(&stopped);
                    last = Some(stopped);
                }
            }
        }
    }

    /// Says why a task is over where the model did not end it itself.
    fn why(&self, stopped: &Stopped) {
        if let (Some(told), Some(screen)) = (outcome::told(&stopped.reason, None), &self.screen) {
            screen.lines(&told);
        }
    }

    fn tools(&self) -> String {
        let names = self.conversation.tools().into_iter().map(|name| format!("  {name}"));
        names.collect::<Vec<_>>().join("\n")
    }

    /// Writes down what is left, and says how it ended.
    fn close(self, stopped: Option<Stopped>, args: &Run) -> Ended {
        let Self { setup, conversation, shown, screen, text_to, leaving, .. } = self;
        let id = conversation.id().clone();
        // The last teller is gone with it, and the screen ends.
        drop(conversation);
        shown.finish();
        let World { recorder, scope, .. } = &setup.world;
        recorder.ended(
            &id,
            scope.run.traced_under(),
            stopped.as_ref().map(|stopped| stopped.reason.as_str()),
        );
        recorder.close();
        let session = id.to_string();
        let told_to_leave = leaving.is_cancelled().then_some(Exit::Interrupted);
        let Some(stopped) = stopped else {
            return Ended { exit: told_to_leave.unwrap_or(Exit::Done), session };
        };
        let mut kept = setup.sessions.as_ref().filter(|_| !setup.is_void(&stopped));
        if let (None, Some(sessions)) = (kept, &setup.sessions) {
            kept = sessions.remove(&id).is_err().then_some(sessions);
        }
        let kept = kept.map(|_| session.as_str());
        if args.print
            && let Some(text) = stopped.text.as_deref().filter(|_| stopped.reason.is_done())
        {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush());
        }
        if let Some(told) = outcome::told(&stopped.reason, kept) {
            // On the screen where there is one, so that it comes after everything else.
            match &screen {
                Some(screen) if text_to == TextTo::Screen => screen.lines(&told),
                _ => words::talk(&told),
            }
        } else if let Some(screen) = &screen {
            screen.note(&watch::total(&stopped.spent));
        }
        Ended { exit: told_to_leave.unwrap_or_else(|| outcome::exit(&stopped.reason)), session }
    }
}

/// Ctrl-C: gently, then everything, then this program. Told to end, it does the same and takes no more messages.
async fn interrupted(mut stops: Stops, handle: Handle, leaving: CancellationToken) {
    let mut everything = 0;
    loop {
        if stops.next().await == Wish::Leave {
            leaving.cancel();
        }
        everything = if handle.interrupt() == Interruption::Everything { everything + 1 } else { 0 };
        if everything > 1 {
            // Bodies that will not even be stopped do not keep the person.
            std::process::exit(Exit::Interrupted as i32);
        }
    }
}
