//! Phase 0: the name is a tool of the snapshot the model saw, exposed on this route and switched on.

use std::sync::Arc;

use super::{Call, Proposed, Refused, proposed::Written};
use crate::{
    catalog::{Registered, Snapshot},
    event::What,
    json::shorten,
    outcome::Phase,
};

/// A call whose tool is known, in the snapshot it was found in.
pub struct Resolved<'s> {
    pub(super) tool: &'s Arc<Registered>,
    pub(super) written: Written,
}

/// How much of an unknown name goes into logs and results.
const LONGEST_SHOWN_NAME: usize = 128;

impl Call<Proposed> {
    /// Finds the tool. A turn that was cut or malformed ends here.
    pub fn resolve(mut self, snapshot: &Snapshot) -> Result<Call<Resolved<'_>>, Refused> {
        let found = match self.state.fault() {
            Some(fault) => Err(fault.clone()),
            None => snapshot.find(&self.state.name, self.base.scope().route.as_ref()),
        };
        match found {
            Ok(tool) => {
                self.base.steps().note_brief(|| What::Resolved);
                Ok(self.with(|proposed| Resolved { tool, written: proposed.into_written() }))
            }
            Err(refusal) => {
                let name = shorten(&self.state.name, LONGEST_SHOWN_NAME).into();
                Err(self.base.refuse_text(name, self.state.input, Phase::Resolve, refusal))
            }
        }
    }
}
