//! The offered tools as one provider gets them: legal names, legal schemas, stable bytes, and the way back.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::snapshot::Snapshot;
use crate::{
    call::Proposed,
    schema::{Inverse, Target, project},
    tool::{Route, Visibility, WrittenName},
    wire::{CacheMark, Provider, WireNames, WireTool, tools_json},
};

/// What a provider is sent, made once per snapshot, target and route.
#[derive(Debug)]
#[non_exhaustive]
pub struct WireOffer {
    /// The provider's `tools` array, as text. The same tools give the same bytes.
    pub json: Arc<str>,
    /// The tools in it, in order.
    pub tools: Vec<WireTool>,
    /// Tools that cannot be told to this provider, each with the reason. The others are offered all the same.
    pub aside: Vec<Aside>,
    names: WireNames,
    inverses: HashMap<Arc<str>, Arc<Inverse>>,
}

/// A tool that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aside {
    /// The name it goes by.
    pub tool: Arc<str>,
    /// Why.
    pub reason: String,
}

impl WireOffer {
    fn make(snapshot: &Snapshot, target: Target, route: Option<&Route>) -> Self {
        // A provider with a tool search of its own gets every schema and keeps the deferred ones out of the
        // prompt itself; the others get what is loaded.
        let native = target.provider != Provider::OpenAiChat;
        let reachable: Vec<_> =
            if native { snapshot.reachable(route).collect() } else { snapshot.offered(route).collect() };
        let names = WireNames::new(target.provider, reachable.iter().map(|(label, _)| &***label));
        let (mut tools, mut aside, mut inverses) =
            (Vec::with_capacity(reachable.len()), Vec::new(), HashMap::new());
        for (label, spec) in reachable {
            let projection = match project(&spec.input_schema, target) {
                Ok(projection) => projection,
                Err(error) => {
                    aside.push(Aside { tool: label.clone(), reason: error.to_string() });
                    continue;
                }
            };
            if !projection.inverse.is_identity() {
                inverses.insert(label.clone(), Arc::new(projection.inverse));
            }
            tools.push(WireTool {
                name: names.wire(label).unwrap_or(label).to_owned(),
                description: spec.description.to_string(),
                schema: projection.schema,
                strict: projection.strict,
                defer: native && spec.visibility == Visibility::Deferred && !snapshot.is_loaded(label),
            });
        }
        let json = tools_json(target.provider, &tools, CacheMark::Last).into();
        Self { json, tools, aside, names, inverses }
    }

    /// A call as the provider sent it, under the tool's own name and with what its schema forced undone later.
    ///
    /// A name that was never given out stays as it is: an alias still resolves, anything else is answered.
    #[must_use]
    pub fn inward(&self, mut call: Proposed) -> Proposed {
        if let Some(label) = self.names.inner(&call.name) {
            let inverse = self.inverses.get(label).cloned();
            call.name = WrittenName::new(label);
            return call.projected(inverse);
        }
        call
    }
}

/// The offers of one snapshot, each made when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Offers(Mutex<Made>);

type Made = HashMap<(Target, Option<Route>), Arc<WireOffer>>;

impl Snapshot {
    /// The offered tools as a provider gets them. Made once; handed out from then on.
    pub fn wire(&self, target: Target, route: Option<&Route>) -> Arc<WireOffer> {
        let offers = || self.offers().0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (target, route.cloned());
        if let Some(offer) = offers().get(&key) {
            return offer.clone();
        }
        let offer = Arc::new(WireOffer::make(self, target, route));
        offers().entry(key).or_insert(offer).clone()
    }
}
