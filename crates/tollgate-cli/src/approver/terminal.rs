//! The approver at the terminal: one question at a time, answered by single keys.

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::{Mutex, MutexGuard, Notify};
use tollgate::{
    BoxFuture,
    policy::{Answer, Approver, Confirmed, Grant, Lifetime, Question, Stance, Unfit, fits},
};

use super::{
    edit::{Edited, edit},
    keys::Key,
    show,
    tty::{Talk, Tty},
};
use crate::{run::Screen, words::visible};

/// Asks the person at the terminal.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Seat>);

/// A person's place, where one thing is asked at a time.
struct Seat {
    tty: Tty,
    // The screen has room for one question.
    turn: Mutex<()>,
    /// Somebody has something to ask, and whoever only overhears makes way.
    wanted: Notify,
    /// What else is shown on the same terminal, and makes room.
    screen: OnceLock<Screen>,
}

/// Where a part of the conversation leads.
enum Step<T> {
    Took(T),
    /// To where it came from.
    Back,
    /// To a no: Ctrl-D.
    Stop,
    /// To the end of what asks: Ctrl-C.
    Interrupt,
    /// The terminal is gone.
    Gone,
}

const KEYS: &str = "  y yes, once   a always...   n no   m no, with a word to the model   N never...\n> ";

const LIFETIMES: &str = "  s for this session   p in this project   u everywhere   e edit   Esc back\n> ";

impl Terminal {
    pub(crate) fn new(tty: Tty) -> Self {
        Self(Arc::new(Seat { tty, turn: Mutex::new(()), wanted: Notify::new(), screen: OnceLock::new() }))
    }

    /// Shares the terminal with what shows a run.
    pub(crate) fn beside(&self, screen: &Screen) {
        let _ = self.0.screen.set(screen.clone());
    }

    /// Has a conversation with the person, alone. `None` where the terminal cannot be listened to.
    pub(crate) async fn with<T>(&self, about: impl AsyncFnOnce(&mut Talk<'_>) -> T) -> Option<T> {
        let _turn = self.0.turn().await;
        let _aside = self.0.screen.get().map(Screen::aside);
        let mut talk = self.0.tty.listen().ok()?;
        Some(about(&mut talk).await)
    }

    /// The same, where Ctrl-C (`None`) interrupts what asks.
    pub(crate) async fn with_or_interrupt<T>(
        &self,
        about: impl AsyncFnOnce(&mut Talk<'_>) -> Option<T>,
    ) -> Option<T> {
        let _turn = self.0.turn().await;
        let _aside = self.0.screen.get().map(Screen::aside);
        let mut talk = self.0.tty.listen().ok()?;
        match about(&mut talk).await {
            Some(said) => Some(said),
            None => interrupt(talk).await,
        }
    }

    /// Hands on every key that is no answer to anything, until `heard` breaks or the terminal is gone. Whoever asks
    /// has the keys first.
    pub(crate) async fn overhear<T>(&self, mut heard: impl FnMut(Key) -> ControlFlow<T>) -> Option<T> {
        loop {
            let _turn = self.0.turn.lock().await;
            if !self.0.tty.is_ours() {
                return None;
            }
            let mut talk = self.0.tty.listen().ok()?;
            loop {
                let key = tokio::select! {
                    biased;
                    () = self.0.wanted.notified() => break,
                    key = talk.key() => key,
                };
                if key == Key::Gone {
                    return None;
                }
                if let ControlFlow::Break(last) = heard(key) {
                    return Some(last);
                }
            }
        }
    }
}

impl Seat {
    /// The terminal for oneself. One who overhears is told once this stands in the queue, so that it comes next.
    async fn turn(&self) -> MutexGuard<'_, ()> {
        let mut lock = std::pin::pin!(self.turn.lock());
        let tell = async {
            self.wanted.notify_one();
            std::future::pending::<std::convert::Infallible>().await
        };
        tokio::select! {
            biased;
            turn = &mut lock => turn,
            never = tell => match never {},
        }
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let _turn = self.0.turn().await;
            let _aside = self.0.screen.get().map(Screen::aside);
            let Ok(mut talk) = self.0.tty.listen() else { return Answer::Nobody };
            talk.say(&format!("\n{}", show::question(&question)));
            let Some(answer) = converse(&mut talk, &question).await else {
                talk.say("\n");
                return interrupt(talk).await;
            };
            talk.say(match &answer {
                Answer::Yes => "yes, once\n",
                Answer::Always(_) => "always\n",
                Answer::Never(_) => "never\n",
                Answer::No(_) => "no\n",
                Answer::Nobody => "\n",
            });
            answer
        })
    }
}

/// Ctrl-C is no answer. It becomes the signal it is elsewhere, and whoever hears that gives the question up: nobody
/// hears, and the program ends.
async fn interrupt<T>(talk: Talk<'_>) -> T {
    drop(talk);
    let _ = kill_process(getpid(), Signal::INT);
    std::future::pending().await
}

/// `None` where the person would rather interrupt.
async fn converse(talk: &mut Talk<'_>, question: &Question<'_>) -> Option<Answer> {
    loop {
        talk.say(KEYS);
        let step = loop {
            match talk.key().await {
                Key::Char('y') => return Some(Answer::Yes),
                Key::Char('n') | Key::Ctrl('d') => return Some(Answer::No(None)),
                Key::Ctrl('c') => return None,
                Key::Char('m') => break message(talk).await,
                Key::Char('a') => break reach(talk, question, Stance::Grant).await.map(Answer::Always),
                Key::Char('N') => break reach(talk, question, Stance::Deny).await.map(Answer::Never),
                Key::Gone => return Some(Answer::Nobody),
                // Any other key is no answer.
                _ => {}
            }
        };
        match step {
            Step::Took(answer) => return Some(answer),
            Step::Back => talk.say("\n"),
            Step::Stop => return Some(Answer::No(None)),
            Step::Interrupt => return None,
            Step::Gone => return Some(Answer::Nobody),
        }
    }
}

async fn message(talk: &mut Talk<'_>) -> Step<Answer> {
    talk.say("no, and to the model (Enter sends, Esc goes back)\n");
    match edit(talk, "  : ", "").await {
        Edited::Text(text) if text.trim().is_empty() => Step::Took(Answer::No(None)),
        Edited::Text(text) => Step::Took(Answer::No(Some(text.trim().to_owned()))),
        Edited::Back => Step::Back,
        Edited::Stop => Step::Stop,
        Edited::Interrupt => Step::Interrupt,
        Edited::Gone => Step::Gone,
    }
}

/// How far the answer reaches: one of the ways offered, or what the person writes.
async fn reach(talk: &mut Talk<'_>, question: &Question<'_>, stance: Stance) -> Step<Grant> {
    let reaches = question.reaches();
    loop {
        talk.say(&format!("\n{}, how far?\n{}", word(stance), show::reaches(&reaches)));
        if reaches.is_empty() {
            talk.say("  nothing wider than one call is offered here\n");
        }
        talk.say("  1-9 that one   e write the rule yourself   Esc back\n> ");
        let step = loop {
            let chosen = match talk.key().await {
                Key::Char(digit @ '1'..='9') => {
                    let number = digit.to_digit(10).map_or(0, |digit| digit as usize);
                    reaches.get(number - 1).map(|reach| reach.rules.clone())
                }
                Key::Char('e') => {
                    let first = reaches.first().map(|reach| reach.rules.clone());
                    let rules = first.unwrap_or_else(|| vec![question.tool.id.to_string()]);
                    break rewrite(talk, question, stance, rules).await;
                }
                Key::Escape => return Step::Back,
                Key::Ctrl('d') => return Step::Stop,
                Key::Ctrl('c') => return Step::Interrupt,
                Key::Gone => return Step::Gone,
                _ => None,
            };
            if let Some(rules) = chosen {
                break Step::Took(rules);
            }
        };
        let step = match step {
            Step::Took(rules) => confirm(talk, question, stance, rules).await,
            Step::Back => Step::Back,
            Step::Stop => Step::Stop,
            Step::Interrupt => Step::Interrupt,
            Step::Gone => Step::Gone,
        };
        if !matches!(step, Step::Back) {
            return step;
        }
    }
}

/// The rules as they will be written, and for how long.
async fn confirm(
    talk: &mut Talk<'_>,
    question: &Question<'_>,
    stance: Stance,
    mut rules: Vec<String>,
) -> Step<Grant> {
    loop {
        let written: String = rules.iter().map(|rule| format!("       {}\n", visible(rule))).collect();
        talk.say(&format!("\n{} this:\n{written}{LIFETIMES}", word(stance)));
        let lifetime = match talk.key().await {
            Key::Char('s') => Lifetime::Session,
            Key::Char('p') => Lifetime::Project,
            Key::Char('u') => Lifetime::User,
            Key::Char('e') => match rewrite(talk, question, stance, rules.clone()).await {
                Step::Took(written) => {
                    rules = written;
                    continue;
                }
                Step::Back => continue,
                Step::Stop => return Step::Stop,
                Step::Interrupt => return Step::Interrupt,
                Step::Gone => return Step::Gone,
            },
            Key::Escape => return Step::Back,
            Key::Ctrl('d') => return Step::Stop,
            Key::Ctrl('c') => return Step::Interrupt,
            Key::Gone => return Step::Gone,
            _ => continue,
        };
        talk.say(&format!("{}: ", show::lifetime(lifetime)));
        return Step::Took(Grant { rules, lifetime });
    }
}

/// Lets the person change each rule until it means the call; one that is very wide is asked about once more.
async fn rewrite(
    talk: &mut Talk<'_>,
    question: &Question<'_>,
    stance: Stance,
    mut rules: Vec<String>,
) -> Step<Vec<String>> {
    talk.say("\n");
    for rule in &mut rules {
        loop {
            match edit(talk, "  rule: ", rule).await {
                Edited::Text(text) => text.trim().clone_into(rule),
                Edited::Back => return Step::Back,
                Edited::Stop => return Step::Stop,
                Edited::Interrupt => return Step::Interrupt,
                Edited::Gone => return Step::Gone,
            }
            match fits(stance, rule, &question.query(), Confirmed::No) {
                Ok(()) => break,
                Err(Unfit::Wide(why)) => {
                    talk.say(&format!("  {}. Take it all the same? y\n> ", visible(&why)));
                    match talk.key().await {
                        Key::Char('y') => break,
                        Key::Ctrl('d') => return Step::Stop,
                        Key::Ctrl('c') => return Step::Interrupt,
                        Key::Gone => return Step::Gone,
                        _ => talk.say("\n"),
                    }
                }
                Err(why) => talk.say(&format!("  {}\n", visible(&why.to_string()))),
            }
        }
    }
    Step::Took(rules)
}

fn word(stance: Stance) -> &'static str {
    if stance.widens() { "always" } else { "never" }
}

impl<T> Step<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Step<U> {
        match self {
            Self::Took(taken) => Step::Took(change(taken)),
            Self::Back => Step::Back,
            Self::Stop => Step::Stop,
            Self::Interrupt => Step::Interrupt,
            Self::Gone => Step::Gone,
        }
    }
}
