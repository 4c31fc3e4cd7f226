//! What each turn of a model took, noted in the store beside its calls.

use std::{collections::HashMap, sync::Arc, time::Instant};

use tollgate::tool::RunId;
use tollgate_agent::{AgentEvent, event::What};
use tollgate_store::{LazyStore, ModelTurn};

/// Notes what models took. Sub-agents have runs and models of their own.
pub(crate) struct Account {
    store: Option<LazyStore>,
    asked: HashMap<RunId, Asked>,
}

struct Asked {
    model: Arc<str>,
    since: Instant,
}

impl Account {
    /// Into this store; nowhere without one.
    pub(crate) fn new(store: Option<LazyStore>) -> Self {
        Self { store, asked: HashMap::new() }
    }

    pub(crate) fn see(&mut self, event: &AgentEvent) {
        match &event.what {
            What::Began { model, .. } => {
                self.asked.insert(event.run.clone(), Asked { model: model.clone(), since: Instant::now() });
            }
            What::TurnBegan => {
                if let Some(asked) = self.asked.get_mut(&event.run) {
                    asked.since = Instant::now();
                }
            }
            What::Usage { usage, microdollars, .. } => {
                // What cannot be written down is told at the end, with everything else.
                let (Some(Ok(store)), Some(asked)) =
                    (self.store.as_ref().map(LazyStore::get), self.asked.get(&event.run))
                else {
                    return;
                };
                let took = ModelTurn {
                    model: asked.model.to_string(),
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    microdollars: (*microdollars > 0).then_some(*microdollars),
                    duration_ms: u64::try_from(asked.since.elapsed().as_millis()).unwrap_or(u64::MAX),
                    ..ModelTurn::default()
                };
                store.model_turn(&event.run, event.turn, &took);
            }
            _ => {}
        }
    }
}
