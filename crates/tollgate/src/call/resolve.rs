//! Phase 0: the name is a tool of the snapshot the model saw, exposed on this route and switched on.

use std::sync::Arc;

use super::{Call, Proposed, Refused};
use crate::{
    catalog::{Registered, Snapshot},
    event::What,
    json::shorten,
    outcome::Phase,
};

/// A call whose tool is known, in the snapshot it was found in.
pub struct Resolved<'s> {
    pub(super) tool: &'s Arc<Registered>,
}

/// How much of an unknown name goes into logs and results.
const LONGEST_SHOWN_NAME: usize = 128;

impl Call<Proposed> {
    /// Finds the tool. A turn that was cut or malformed ends here.
    pub fn resolve(self, snapshot: &Snapshot) -> Result<Call<Resolved<'_>>, Refused> {
        let Call { mut base, .. } = self;
        let found = match base.written.fault.take() {
            Some(fault) => Err(fault),
            None => snapshot.find(&base.written.name, base.scope().route.as_ref()),
        };
        match found {
            Ok(tool) => {
                base.steps().note_brief(|| What::Resolved);
                Ok(Call { base, state: Resolved { tool } })
            }
            Err(refusal) => {
                let name = shorten(&base.written.name, LONGEST_SHOWN_NAME).into();
                Err(base.refuse_text(name, Phase::Resolve, refusal))
            }
        }
    }
}
