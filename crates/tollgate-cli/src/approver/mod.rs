//! Who is asked: answers given elsewhere first, then the person at the terminal, or what to do without one.

use std::{sync::Arc, time::Duration};

use tollgate::{
    BoxFuture,
    policy::{Answer, Approver, Desk, NotGranted, Pending, Question},
};

use crate::{args::OnAsk, words};

mod tty;
mod keys;
mod edit;
mod diff;
pub(crate) mod show;
mod terminal;
mod field;
mod form;
mod folder;
mod desks;

pub(crate) use desks::Desks;
pub(crate) use edit::{Edited, Typing, edit_with};
pub(crate) use folder::{FolderDesk, id_of};
pub(crate) use form::{Declined, Forms};
pub(crate) use keys::Key;
pub(crate) use terminal::Terminal;
use tty::Tty;

/// How long a parked question can be answered, and its answer used.
const LIFE: Duration = Duration::from_secs(24 * 60 * 60);

/// The approver of this program.
pub(crate) struct Asking {
    desk: Option<Arc<dyn Desk>>,
    then: Then,
}

/// What happens to a question nobody has answered yet.
enum Then {
    Terminal(Terminal),
    Deny,
    Fail,
    Park,
}

impl Asking {
    /// The terminal where a person sits at one and nothing else was said; else what `--on-ask` says.
    pub(crate) fn new(on_ask: Option<OnAsk>, desk: Option<Arc<dyn Desk>>) -> Self {
        let then = match on_ask {
            None => terminal().map_or(Then::Deny, |tty| Then::Terminal(Terminal::new(tty))),
            Some(OnAsk::Deny) => Then::Deny,
            Some(OnAsk::Fail) => Then::Fail,
            Some(OnAsk::Park) => Then::Park,
        };
        Self { desk, then }
    }

    /// The terminal where a person sits.
    pub(crate) fn terminal(&self) -> Option<&Terminal> {
        match &self.then {
            Then::Terminal(terminal) => Some(terminal),
            _ => None,
        }
    }

    /// True when a person is there.
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.then, Then::Terminal(_))
    }

    /// An answer somebody gave to exactly this call. A desk that fails has none.
    async fn given(&self, question: &Question<'_>) -> Option<Answer> {
        let desk = self.desk.as_ref()?;
        match desk.take(&question.digest).await {
            Ok(reply) => reply.map(|reply| reply.about(&question.query())),
            Err(error) => {
                words::talk(&format!("note: {}", words::visible(&error.to_string())));
                None
            }
        }
    }

    async fn park(&self, question: &Question<'_>) {
        let Some(desk) = &self.desk else {
            words::talk("note: the question could not be parked: nothing says where; set TOLLGATE_HOME.");
            return;
        };
        let pending = Pending::of(question, id_of(&question.digest), LIFE);
        words::talk(&match desk.park(&pending).await {
            Ok(id) => {
                format!(
                    "note: parked as {id}; `tollgate approvals answer {id} yes`, then give the same call again."
                )
            }
            Err(error) => {
                format!("note: the question could not be parked: {}", words::visible(&error.to_string()))
            }
        });
    }
}

/// The terminal of a person who looks at what we say.
fn terminal() -> Option<Tty> {
    use std::io::IsTerminal as _;
    std::io::stderr().is_terminal().then(Tty::open).flatten()
}

impl Approver for Asking {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            if let Some(answer) = self.given(&question).await {
                return answer;
            }
            match &self.then {
                Then::Terminal(terminal) => return terminal.ask(question).await,
                Then::Deny => {}
                // Nothing else of the run is begun.
                Then::Fail => question.scope.run.token().cancel(),
                Then::Park => self.park(&question).await,
            }
            Answer::Nobody
        })
    }

    fn not_kept(&self, why: &NotGranted) {
        words::talk(&format!("note: of your answer: {}", words::visible(&why.to_string())));
    }
}
