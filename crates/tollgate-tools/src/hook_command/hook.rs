//! A command as a hook of the path: asked in its phases, failing as its kind says.

use std::{ffi::OsString, path::Path, sync::Arc, time::Duration};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tollgate::{
    Effects, ToolSpec,
    hook::{After, Before, Hook, HookKind, HookedCall},
    outcome::Outcome,
};

use super::{
    CommandHookConfig, On,
    answer::{Answered, Said, understand},
    cache::{Cache, Key},
    question::Question,
};
use crate::process::{Environment, Keep, Launch, Wrapper};

/// A hook that is a command.
#[derive(Debug)]
pub struct CommandHook {
    config: CommandHookConfig,
    environment: Environment,
    wrapper: Option<Arc<dyn Wrapper>>,
    cache: Cache,
}

/// How a hook took a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// It answered as a hook does, whatever it decided.
    Answers,
    /// It did not; what it guards would be blocked.
    Fails(String),
}

/// No answer is longer than this.
const LONGEST_ANSWER: usize = 1 << 20;

/// How long a hook that ran out of time may take to end before it is killed.
const GRACE: Duration = Duration::from_millis(500);

impl CommandHook {
    /// A hook as configured. `variables` is our own environment; the hook gets the allow list of it and what its
    /// config names.
    pub fn new(config: CommandHookConfig, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment = Environment::of(variables, &config.env);
        Self { config, environment, wrapper: None, cache: Cache::default() }
    }

    /// What is put around its process.
    #[must_use]
    pub fn wrapped(mut self, wrapper: Arc<dyn Wrapper>) -> Self {
        self.wrapper = Some(wrapper);
        self
    }

    /// As configured.
    pub fn config(&self) -> &CommandHookConfig {
        &self.config
    }

    /// Asks it about a call that will never be, once for each phase it is asked in.
    pub async fn probe(&self, folder: &Path) -> Probed {
        let (args, effects) = (json!({}), Effects::worst());
        for on in &self.config.on {
            let phase = if *on == On::Before { "before" } else { "after" };
            let question = Question::probe(phase, &args, &effects, folder);
            if let Err(why) = self.ask(&question, *on, folder).await {
                return Probed::Fails(why);
            }
        }
        Probed::Answers
    }

    async fn ask(&self, question: &Question<'_>, on: On, folder: &Path) -> Result<Answered, String> {
        let input = question.bytes().map_err(|error| format!("it could not be asked: {error}"))?;
        let mut launch = Launch::new(&self.config.program, &self.config.args)
            .folder(folder)
            .environment(self.environment.clone())
            .input(input)
            .keep(Keep { head: LONGEST_ANSWER, tail: 0 })
            .within(self.config.timeout)
            .grace(GRACE);
        if let Some(wrapper) = &self.wrapper {
            launch = launch.wrapper(wrapper.clone());
        }
        // A cancelled call drops this future, and the process with it.
        let ended = launch.run(&CancellationToken::new()).await.map_err(|error| error.to_string())?;
        understand(&ended, on, self.config.answers)
    }

    /// Asks, or uses an answer that may still be used.
    async fn say(&self, call: &HookedCall<'_>, outcome: Option<&Outcome>) -> Result<Said, String> {
        let on = if outcome.is_some() { On::After } else { On::Before };
        let key = Key::of(Question::about(call, outcome));
        if let Some(said) = key.and_then(|key| self.cache.get(key)) {
            return Ok(said);
        }
        let answered = self.ask(&Question::about(call, outcome), on, call.scope.cwd()).await?;
        if let Some(key) = key {
            self.cache.put(key, answered.said.clone(), answered.cache.unwrap_or(self.config.cache));
        }
        Ok(answered.said)
    }

    fn is_asked(&self, on: On) -> bool {
        self.config.on.contains(&on)
    }
}

impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn kind(&self) -> HookKind {
        self.config.kind
    }

    fn matches(&self, tool: &ToolSpec) -> bool {
        self.config.tools.iter().any(|pattern| pattern.covers(tool))
    }

    // The process has a deadline of its own, with better words; this one is for our own faults.
    fn timeout(&self) -> Duration {
        self.config.timeout + GRACE + Duration::from_secs(5)
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        if !self.is_asked(On::Before) {
            return Before::Pass;
        }
        match self.say(call, None).await {
            Ok(Said::Before(before)) => before,
            Ok(Said::After(_)) => Before::Failed("it answered for another phase".to_owned()),
            Err(why) => Before::Failed(why),
        }
    }

    async fn after(&self, call: &HookedCall<'_>, outcome: &Outcome) -> After {
        if !self.is_asked(On::After) {
            return After::Keep;
        }
        match self.say(call, Some(outcome)).await {
            Ok(Said::After(after)) => after,
            Ok(Said::Before(_)) => After::Failed("it answered for another phase".to_owned()),
            Err(why) => After::Failed(why),
        }
    }
}
