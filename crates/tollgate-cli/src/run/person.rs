//! The person at the terminal answers a question of the model's own.

use std::fmt::Write as _;

use tollgate::BoxFuture;
use tollgate_agent::{Inquiry, Person};

use crate::{
    approver::{Edited, Terminal, edit_with},
    words::visible,
};

/// Asks where approvals are asked, one thing at a time.
pub(crate) struct AtTheTerminal(pub(crate) Terminal);

impl Person for AtTheTerminal {
    fn ask<'a>(&'a self, question: Inquiry<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let answered = self.0.with_or_interrupt(async |talk| {
                talk.say(&shown(&question));
                match edit_with(talk, "  : ", "", &[]).await {
                    Edited::Text(text) => Some(Some(meant(text.trim(), question.choices))),
                    Edited::Back | Edited::Stop | Edited::Gone => Some(None),
                    Edited::Interrupt => None,
                }
            });
            answered.await.flatten()
        })
    }
}

/// The question, as words of the model.
fn shown(question: &Inquiry<'_>) -> String {
    let who = question.agent.map_or_else(String::new, |agent| format!(" ({})", visible(agent)));
    let mut text = format!("\nthe model asks{who}:\n");
    for line in question.question.lines() {
        let _ = writeln!(text, "  {}", visible(line));
    }
    for (number, choice) in question.choices.iter().enumerate() {
        let _ = writeln!(text, "  {}  {}", number + 1, visible(choice));
    }
    text.push_str("  (Enter sends, Esc leaves it unanswered)\n");
    text
}

/// A number stands for the choice it is beside.
fn meant(text: &str, choices: &[String]) -> String {
    let chosen = text.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    chosen.cloned().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_choice_beside_it_and_anything_else_is_itself() {
        let choices = ["red".to_owned(), "green".to_owned()];
        let cases = [("2", "green"), ("0", "0"), ("3", "3"), ("blue", "blue"), ("", "")];
        for (text, expected) in cases {
            assert_eq!(meant(text, &choices), expected);
        }
    }
}
