//! The tools as the model is shown them, made once for as long as they stay the same.

use std::{collections::HashSet, sync::Arc};

use tollgate::{
    Proposed,
    catalog::{Snapshot, WireOffer},
    schema::Target,
    tool::Route,
    wire::{CacheMark, Provider, WireTool, tools_json},
};

use super::purpose;
use crate::model::ToolSearch;

/// The offer of one turn.
#[derive(Debug)]
pub(super) struct Offer {
    /// The provider's array, as text.
    pub(super) json: Arc<str>,
    wire: Arc<WireOffer>,
    /// The tools that were asked for a purpose, by their names on the wire.
    asked: HashSet<String>,
}

/// What the offer depends on beside the tools.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) provider: Provider,
    pub(super) search: ToolSearch,
    pub(super) strict: bool,
    pub(super) purpose: bool,
}

/// The latest offer. The same tools give the same bytes, and the same offer.
#[derive(Debug, Default)]
pub(super) struct Offers(Option<Arc<Offer>>);

impl Offers {
    pub(super) fn of(&mut self, snapshot: &Snapshot, shape: Shape, route: Option<&Route>) -> Arc<Offer> {
        let target = Target { provider: shape.provider, strict: shape.strict };
        let wire = snapshot.wire(target, route);
        if let Some(offer) = self.0.as_ref().filter(|offer| Arc::ptr_eq(&offer.wire, &wire)) {
            return offer.clone();
        }
        let offer = Arc::new(Offer::make(wire, shape));
        self.0 = Some(offer.clone());
        offer
    }
}

impl Offer {
    fn make(wire: Arc<WireOffer>, shape: Shape) -> Self {
        let ours = shape.search == ToolSearch::Ours;
        let mut asked = HashSet::new();
        // Deferred tools whose search is ours are not in the request until they are found.
        let shown = wire.tools.iter().filter(|tool| !(ours && tool.defer));
        let tools: Vec<WireTool> = shown
            .map(|tool| {
                let asking = if shape.purpose { purpose::asked_for(tool) } else { None };
                match asking {
                    Some(asking) => {
                        asked.insert(asking.name.clone());
                        asking
                    }
                    None => tool.clone(),
                }
            })
            .collect();
        let json = tools_json(shape.provider, &tools, CacheMark::Last).into();
        Self { json, wire, asked }
    }

    /// A call as the model wrote it, as it goes on the path.
    pub(super) fn inward(&self, call: &Proposed) -> Proposed {
        let call = call.clone();
        let call = if self.asked.contains(call.name.as_str()) { purpose::taken_off(call) } else { call };
        self.wire.inward(call)
    }
}
