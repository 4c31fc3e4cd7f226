//! One question and its answer: what the person sees, which keys answer, and how far an answer reaches.

use tollgate::{
    BoxFuture,
    policy::{Answer, Approver, Confirmed, Grant, Lifetime, Question, Stance, Unfit, fits},
};

use super::{Terminal, interrupt};
use crate::{
    approver::{
        edit::{Edited, edit},
        keys::Key,
        show,
        tty::Talk,
    },
    run::Screen,
    words::visible,
};

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
