//! Where the screen is: a terminal that can move its cursor, one that cannot, or no terminal at all.

use std::io::{IsTerminal as _, Write};

use rustix::termios::tcgetwinsize;

use crate::args::Environment;

/// What is written to, and how.
pub(crate) struct Terminal {
    out: Box<dyn Write + Send>,
    size: Box<dyn Fn() -> Option<(usize, usize)> + Send>,
    pub(crate) looks: Looks,
}

/// What the place that is written to can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Looks {
    pub(crate) colours: bool,
    /// The cursor can be moved, so rows can change.
    pub(crate) moves: bool,
    /// A person looks at it.
    pub(crate) is_terminal: bool,
}

/// Where a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// To whoever looks: the text on stdout, the rest where a person sees it.
    Usual,
    /// All of it on stdout.
    Stdout,
}

/// Where the model's own text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextTo {
    /// To the same terminal as all else, as a person wants to read it.
    Screen,
    /// To stdout, as it is: somebody else reads it.
    Stdout,
}

/// What is assumed where a window does not say how large it is.
const USUAL: (usize, usize) = (80, 24);

impl Terminal {
    /// The terminal a person looks at: stdout, or stderr where stdout goes elsewhere.
    pub(crate) fn open(stage: Stage, environment: &Environment) -> (Self, TextTo) {
        let is_terminal = std::io::stdout().is_terminal();
        if is_terminal || stage == Stage::Stdout {
            let looks = Looks::of(is_terminal, environment);
            let size = || window(tcgetwinsize(std::io::stdout()));
            let out = Box::new(std::io::stdout());
            return (Self { out, size: Box::new(size), looks }, TextTo::Screen);
        }
        let looks = Looks::of(std::io::stderr().is_terminal(), environment);
        let size = || window(tcgetwinsize(std::io::stderr()));
        (Self { out: Box::new(std::io::stderr()), size: Box::new(size), looks }, TextTo::Stdout)
    }

    #[cfg(test)]
    pub(crate) fn test(out: Box<dyn Write + Send>, size: (usize, usize), looks: Looks) -> Self {
        Self { out, size: Box::new(move || Some(size)), looks }
    }

    /// Columns and rows, as they are now.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.size)().unwrap_or(USUAL)
    }

    /// Writes all at once. Nobody there to read is nobody there to tell.
    pub(crate) fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl Looks {
    fn of(is_terminal: bool, environment: &Environment) -> Self {
        let dumb = environment.variable("TERM").is_none_or(|term| term == "dumb");
        let wanted = environment.variable("NO_COLOR").is_none();
        let moves = is_terminal && !dumb;
        Self { colours: moves && wanted, moves, is_terminal }
    }
}

fn window(size: rustix::io::Result<rustix::termios::Winsize>) -> Option<(usize, usize)> {
    let size = size.ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}
