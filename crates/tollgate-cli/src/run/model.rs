//! Which model is asked, where, and for how much.

use std::{path::Path, sync::Arc};

use tollgate_agent::{
    cassette::{Places, Recorder},
    model::{Model, ModelError},
    price::{ModelRow, Models},
    provider::{Settings as Providers, Streaming},
};

use super::settings::Settings;
use crate::{args::Environment, exit::Fault};

/// The keys that are looked for, with the model that is asked where one is set and nothing else is said.
pub(crate) const KEYS: [(&str, &str, Option<&str>); 4] = [
    ("ANTHROPIC_API_KEY", "anthropic:", Some("anthropic:claude-sonnet-4-5")),
    ("ANTHROPIC_AUTH_TOKEN", "anthropic:", Some("anthropic:claude-sonnet-4-5")),
    ("OPENAI_API_KEY", "openai: and chat:", Some("openai:gpt-5")),
    ("CHAT_API_KEY", "any model with an address (chat:NAME@URL)", None),
];

/// How models are reached and what they cost.
pub(crate) struct Reach {
    providers: Providers,
    models: Models,
    /// What differs from machine to machine, and what is never written down.
    places: Places,
}

impl Reach {
    /// What the environment and the files say.
    pub(crate) fn new(
        environment: &Environment,
        settings: &Settings,
        working: &Path,
        streaming: Streaming,
        retries: u32,
    ) -> Result<Self, Fault> {
        let variable =
            |name: &str| environment.variable(name).and_then(|value| value.to_str()).map(str::to_owned);
        let mut providers = Providers::from_env(variable);
        providers.streaming = streaming;
        providers.retries.attempts = retries.saturating_add(1);
        // What is given for this one command goes before what is written down.
        providers.anthropic.base_url = providers.anthropic.base_url.take().or(settings.anthropic_url.clone());
        providers.openai.base_url = providers.openai.base_url.take().or(settings.openai_url.clone());
        if let (None, Some(version)) =
            (environment.variable("ANTHROPIC_VERSION"), &settings.anthropic_version)
        {
            providers.anthropic_version.clone_from(version);
        }
        let rows = settings.prices.iter().map(|(model, price)| ModelRow {
            model: model.clone(),
            input: Some(price.input),
            output: Some(price.output),
            cache_read: price.cache_read,
            cache_write: price.cache_write,
            ..ModelRow::default()
        });
        let models = Models::builtin().with(rows).map_err(|bad| {
            Fault::usage(
                bad.to_string(),
                "a price stands under [run.prices.\"provider:model\"] of tollgate.toml.",
            )
        })?;
        let places = Places::new().with("cwd", &working.display().to_string());
        let places = match &environment.home {
            Some(home) => places.with("home", &home.display().to_string()),
            None => places,
        };
        let places = providers.secrets().fold(places, |places, key| places.without(key.reveal()));
        Ok(Self { providers, models, places })
    }

    /// The model of this name.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        tollgate_agent::open(name, self.providers.clone(), &self.models, self.places.clone())
            .map_err(|error| fault(&error))
    }

    /// The same model, and what it says written down where that was asked for.
    pub(crate) fn recorded(
        &self,
        model: Arc<dyn Model>,
        file: Option<&Path>,
    ) -> Result<Arc<dyn Model>, Fault> {
        let Some(file) = file else { return Ok(model) };
        Ok(Arc::new(Recorder::new(model, file, self.places.clone()).map_err(|error| fault(&error))?))
    }

    /// Refuses a model whose cost nobody knows: a limit in dollars would never be reached.
    pub(crate) fn must_be_priced(&self, name: &str) -> Result<(), Fault> {
        if self.models.find(name).is_some_and(|row| row.input.is_some() && row.output.is_some()) {
            return Ok(());
        }
        Err(Fault::usage(
            format!("a limit in dollars cannot be kept: nothing says what {name} costs"),
            format!("write [run.prices.\"{name}\"] into tollgate.toml, or limit --max-tokens instead."),
        ))
    }

    /// What turns cost, in millionths of a dollar.
    pub(crate) fn price(&self) -> tollgate_agent::Price {
        let models = self.models.clone();
        Arc::new(move |model, usage| {
            let cost = models.cost(model.priced_as(), model.provider(), usage);
            cost.map_or(0, |money| money.nanos().div_ceil(1_000))
        })
    }
}

/// The model that is meant, from the nearest that says so.
pub(crate) fn chosen(said: &[Option<&str>], environment: &Environment) -> Result<String, Fault> {
    if let Some(name) = said.iter().flatten().next() {
        return Ok((*name).to_owned());
    }
    let set = |(key, _, usual): &(&str, &str, Option<&'static str>)| {
        environment.variable(key).and(*usual).map(str::to_owned)
    };
    KEYS.iter().find_map(set).ok_or_else(|| {
        let hint = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --model, as `chat:qwen3@http://localhost:11434/v1`; \
                    `tollgate demo` needs neither.";
        Fault::usage("no model is chosen, and no key is set that would tell which", hint)
    })
}

/// A fault of the model's name, address, key or file.
pub(crate) fn fault(error: &ModelError) -> Fault {
    Fault::usage(error.to_string(), error.hint())
}
