//! `tools export`: the provider's `tools` array, the bytes it would be sent.

use tollgate::schema::Target;

use super::Catalogue;
use crate::{
    exit::{Exit, Fault},
    words,
};

pub(super) fn run(catalogue: &Catalogue, target: Target) -> Result<Exit, Fault> {
    let offer = catalogue.snapshot.wire(target, catalogue.route.as_ref());
    for aside in &offer.aside {
        let reason = words::visible(&aside.reason);
        words::talk(&format!(
            "note: set aside for {}: {}: {reason}",
            target.provider,
            words::visible(&aside.tool)
        ));
    }
    words::data(&offer.json)?;
    Ok(Exit::Done)
}
