//! What a person types between tasks: a message, a command of ours, or the end.

use std::ops::ControlFlow;

use tokio_util::sync::CancellationToken;
use tollgate_agent::{Handle, Interruption, Part};

use super::screen::Screen;
use crate::approver::{Edited, Key, Terminal, Typing, edit_with};

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    Message(String),
    Help,
    Cost,
    Tools,
    /// A command nobody knows.
    Unknown(String),
    Nothing,
    Quit,
}

pub(crate) const HELP: &str = "\
  /help   this
  /cost   what the session has cost
  /tools  what the model may call
  /quit   leave; Ctrl-D too
A line that begins with // is sent with one slash. What is pasted is one message, however many lines it has.";

/// Terminals that know it mark what is pasted.
const PASTE_ON: &str = "\x1b[?2004h";
const PASTE_OFF: &str = "\x1b[?2004l";

/// Lets the person type a line. `None` where the terminal is gone, or the program is to leave.
pub(crate) async fn read(
    terminal: &Terminal,
    begun: &str,
    earlier: &[String],
    marks_pastes: bool,
    leaving: &CancellationToken,
) -> Option<Typed> {
    let typed = terminal.with(async |talk| {
        if marks_pastes {
            talk.say(PASTE_ON);
        }
        let edited = tokio::select! {
            edited = edit_with(talk, "> ", begun, earlier) => edited,
            () = leaving.cancelled() => Edited::Gone,
        };
        if marks_pastes {
            talk.say(PASTE_OFF);
        }
        edited
    });
    match typed.await? {
        Edited::Text(text) => Some(meaning(&text)),
        Edited::Back => Some(Typed::Nothing),
        Edited::Stop | Edited::Interrupt => Some(Typed::Quit),
        Edited::Gone => None,
    }
}

/// The person would rather leave than wait any longer.
pub(crate) struct Leaves;

/// Takes what is typed while a task runs: a line is said to the model, Ctrl-C interrupts. Ends only when the person
/// leaves, at the third Ctrl-C, or with the terminal.
pub(crate) async fn meanwhile(
    terminal: &Terminal,
    screen: &Screen,
    handle: &Handle,
    typing: &mut Typing,
) -> Option<Leaves> {
    let mut everything = 0;
    let heard = |key: Key| {
        if key == Key::Ctrl('c') {
            everything = if handle.interrupt() == Interruption::Everything { everything + 1 } else { 0 };
            return if everything > 1 { ControlFlow::Break(Leaves) } else { ControlFlow::Continue(()) };
        }
        if let Some(line) = typing.press(key) {
            screen.lines(&format!("> {line}"));
            handle.say(vec![Part::text(line)]);
        }
        screen.typing(&typing.text());
        ControlFlow::Continue(())
    };
    terminal.overhear(heard).await
}

fn meaning(text: &str) -> Typed {
    let text = text.trim();
    match text {
        "" => Typed::Nothing,
        "/help" | "/?" => Typed::Help,
        "/cost" => Typed::Cost,
        "/tools" => Typed::Tools,
        "/quit" | "/exit" | "/q" => Typed::Quit,
        _ => match text.strip_prefix('/') {
            Some(rest) if rest.starts_with('/') => Typed::Message(rest.to_owned()),
            // A path is no command.
            Some(rest) if !rest.contains(['/', ' ', '\n']) => Typed::Unknown(text.to_owned()),
            _ => Typed::Message(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_is_a_command_and_a_path_is_not() {
        let cases = [
            (" /help ", Typed::Help),
            ("/quit", Typed::Quit),
            ("/hlep", Typed::Unknown("/hlep".to_owned())),
            ("//help", Typed::Message("/help".to_owned())),
            ("/etc/hosts is wrong", Typed::Message("/etc/hosts is wrong".to_owned())),
            ("fix it\nplease", Typed::Message("fix it\nplease".to_owned())),
            ("  ", Typed::Nothing),
        ];
        for (text, expected) in cases {
            assert_eq!(meaning(text), expected, "{text}");
        }
    }
}
