//! `tollgate run`: a model works with tools, a person watches, answers, interrupts and resumes.

use crate::{
    args::Shared,
    exit::{Exit, Fault},
    input,
};

mod account;
pub(crate) mod args;
pub(crate) mod settings;
pub(crate) mod model;
mod instructions;
mod system;
mod sessions;
mod setup;
mod task;
mod interact;
mod person;
mod show;
mod watch;
mod outcome;
mod screen;

pub(crate) use screen::{Screen, width};
pub(crate) use setup::{Setup, shown_desk};
pub(crate) use task::Ended;

use args::Run;
use screen::Stage;

/// No message is longer.
const LONGEST: usize = 4 << 20;

pub(crate) fn run(args: &Run, shared: &Shared) -> Result<Exit, Fault> {
    if args.list {
        return sessions::list(shared);
    }
    let prompt = prompt(args)?;
    on_a_runtime(|| Setup::new(args, shared), args, shared, prompt, Stage::Usual).map(|ended| ended.exit)
}

/// A run that is shown whole on stdout and leaves no session.
pub(crate) fn demonstrate(args: &Run, shared: &Shared) -> Result<Ended, Fault> {
    let setup = || {
        let mut setup = Setup::new(args, shared)?;
        setup.sessions = None;
        Ok(setup)
    };
    on_a_runtime(setup, args, shared, prompt(args)?, Stage::Stdout)
}

fn on_a_runtime(
    setup: impl FnOnce() -> Result<Setup, Fault>,
    args: &Run,
    shared: &Shared,
    prompt: Option<String>,
    stage: Stage,
) -> Result<Ended, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Fault::machine("starting", &error))?;
    let ended = runtime.block_on(async { task::run(setup()?, args, shared, prompt, stage).await });
    // A body that will not stop does not keep the program: its call is answered.
    runtime.shutdown_background();
    ended
}

/// What was given to be said; `None` where the person types, or a session simply goes on.
fn prompt(args: &Run) -> Result<Option<String>, Fault> {
    let text = match args.prompt.as_deref() {
        Some("-") => {
            let bytes = input::read(None, LONGEST)?;
            String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                Fault::usage(format!("stdin is not UTF-8 text, at byte {at}"), "write the prompt as UTF-8.")
            })?
        }
        Some(text) => text.to_owned(),
        None => return Ok(None),
    };
    if text.trim().is_empty() {
        return Err(Fault::usage("the prompt is empty", "say what the model is to do."));
    }
    Ok(Some(text))
}
