//! Phase 0: the name is a tool of the snapshot the model saw, exposed on this route and switched on.

use std::sync::Arc;

use super::{Call, Proposed, Refused, proposed::Written};
use crate::{
    catalog::{Registered, Snapshot},
    event::{Trail, What},
    json::shorten,
    outcome::Phase,
};

/// A call whose tool is known.
pub struct Resolved {
    pub(super) tool: Arc<Registered>,
    pub(super) written: Written,
}

/// How much of an unknown name goes into logs and results.
const LONGEST_SHOWN_NAME: usize = 128;

impl Call<Proposed> {
    /// Finds the tool. A turn that was cut or malformed ends here.
    pub fn resolve(mut self, snapshot: &Snapshot) -> Result<Call<Resolved>, Refused> {
        let found = match self.state.fault() {
            Some(fault) => Err(fault.clone()),
            None => snapshot.find(&self.state.name, self.base.scope.route.as_ref()),
        };
        match found {
            Ok(tool) => {
                self.begin_trail(&tool.label);
                self.base.trail.note_brief(|| What::Resolved);
                let tool = tool.clone();
                Ok(self.with(|proposed| Resolved { tool, written: proposed.into_written() }))
            }
            Err(refusal) => {
                let name: Arc<str> = shorten(&self.state.name, LONGEST_SHOWN_NAME).into();
                self.begin_trail(&name);
                Err(self.base.refuse_text(name, self.state.input, Phase::Resolve, refusal))
            }
        }
    }

    // The trail begins where the name is known, at the time the call was proposed; a rewritten call has one.
    fn begin_trail(&mut self, tool: &Arc<str>) {
        let base = &mut self.base;
        if let Some(events) = base.events.take() {
            base.trail = Trail::begin(events, base.scope.run.id(), &base.id, tool, base.began);
        }
    }
}
