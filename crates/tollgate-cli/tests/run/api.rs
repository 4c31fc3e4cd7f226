//! The stand-in for the three APIs, beside the test, and the program pointed at it.

use std::time::Duration;

use tokio::runtime::Runtime;
use tollgate_agent::{
    provider::Api,
    standin::{Say, StandIn},
};

use crate::{
    person::{Person, Seat},
    world::{Ran, World},
};

/// A stand-in that lives as long as its test.
pub(crate) struct Provider {
    pub(crate) standin: StandIn,
    _runtime: Runtime,
}

impl Provider {
    pub(crate) fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let standin = runtime.block_on(StandIn::start()).unwrap();
        Self { standin, _runtime: runtime }
    }

    /// One that will say this.
    pub(crate) fn saying(says: impl IntoIterator<Item = Say>) -> Self {
        let provider = Self::new();
        for say in says {
            provider.standin.say(say);
        }
        provider
    }

    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        vec![
            ("ANTHROPIC_BASE_URL", self.standin.url(Api::Anthropic)),
            ("ANTHROPIC_API_KEY", StandIn::key().to_owned()),
            ("OPENAI_BASE_URL", self.standin.url(Api::OpenAi)),
            ("OPENAI_API_KEY", StandIn::key().to_owned()),
            ("TERM", "xterm".to_owned()),
        ]
    }

    pub(crate) fn seat(&self) -> Seat<'static> {
        Seat { env: self.env(), whole: true, columns: 100, ..Seat::default() }
    }

    /// The program at a terminal.
    pub(crate) fn person(&self, world: &World, args: &[&str]) -> Person {
        Person::seated(world, &run(args), &self.seat())
    }

    /// The program without a terminal.
    pub(crate) fn run(&self, world: &World, args: &[&str]) -> Ran {
        self.run_with(world, &run(args), &[])
    }

    pub(crate) fn run_with(&self, world: &World, args: &[&str], env: &[(&str, &str)]) -> Ran {
        let mut command = world.command(args);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").envs(self.env()).envs(env.iter().copied());
        command.output().unwrap().into()
    }

    /// No request was refused, and every reply was used.
    pub(crate) fn is_content(&self) {
        assert!(self.standin.refused().is_empty(), "{:?}", self.standin.refused());
        assert_eq!(self.standin.left(), 0, "replies are left");
    }
}

fn run<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--model", "anthropic:stand-in"], args].concat()
}

/// So slow that a person sees every piece.
pub(crate) fn slowly(say: Say, pause_ms: u64) -> Say {
    use tollgate_agent::standin::Delivery;
    say.delivered(Delivery::slow(400, Duration::from_millis(pause_ms)))
}
