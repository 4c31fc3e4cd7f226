//! How the program ends: a closed list of exit codes, and faults that say what to do.

use std::{
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use tollgate::{
    Settled,
    outcome::{Outcome, RefusalCode},
};

use crate::{args::OnAsk, words};

/// Why the program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was asked for is done.
    Done = 0,
    /// The tool failed, or this program did.
    Failed = 1,
    /// The command line, the environment or a file it names is wrong.
    Usage = 2,
    /// The call was stopped before it ran.
    Refused = 3,
    /// The call needs a person.
    NeedsPerson = 4,
    /// A person stopped it.
    Interrupted = 130,
}

/// Why a command could not do its work. Always with a way on.
#[derive(Debug)]
pub(crate) struct Fault {
    exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Exit {
    /// The code of a settled call. Whoever said `--on-ask deny` has answered for the person.
    pub(crate) fn of(settled: &Settled, on_ask: Option<OnAsk>) -> Self {
        match &settled.outcome {
            Outcome::Ok(_) => Self::Done,
            Outcome::Failed(_) => Self::Failed,
            Outcome::Refused(refusal) => match refusal.code {
                RefusalCode::ApprovalRequired if on_ask == Some(OnAsk::Deny) => Self::Refused,
                RefusalCode::ApprovalRequired | RefusalCode::RequiresInteraction => Self::NeedsPerson,
                _ => Self::Refused,
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Fault {
    /// The person can put it right on the command line or in a file it names.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), hint: hint.into() }
    }

    /// What came in is not what it was said to be.
    pub(crate) fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, message: message.into(), hint: hint.into() }
    }

    /// The machine did not do its part.
    pub(crate) fn machine(doing: &str, error: &std::io::Error) -> Self {
        Self {
            exit: Exit::Failed,
            message: format!("{doing} failed: {error}"),
            hint: "`tollgate doctor` says what is set up.".to_owned(),
        }
    }

    /// Says it on stderr.
    pub(crate) fn tell(&self) -> Exit {
        words::talk(&format!("error: {}", self.message));
        words::talk(&format!("hint: {}", self.hint));
        self.exit
    }
}

/// What the last panic said.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A tool that panics is an answer, not news for the terminal: panics are kept, and told only where they end
/// this program.
pub(crate) fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
    }));
}

/// The words for a panic of our own.
pub(crate) fn own_fault() -> Exit {
    let panic = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    words::talk(&format!("tollgate: internal error: {}", panic.replace('\n', " ")));
    words::talk("hint: this is a fault of tollgate; please report it with the command you gave.");
    Exit::Failed
}
