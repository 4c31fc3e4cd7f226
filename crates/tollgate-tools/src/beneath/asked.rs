//! A path as a call names it, and what became of it: looked up for the effects, held from the check on.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use tollgate::{
    Effects, Failure, Refusal, Scope,
    tool::{Access, Resource},
};

use super::{
    hold::{Held, Kind},
    walk::{Astray, Place, resolve},
    words,
};

/// A path argument. It is part of the typed arguments, which every phase of one call shares.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "String")]
pub struct Asked {
    text: String,
    place: OnceLock<Result<Place, Astray>>,
    held: OnceLock<Arc<Held>>,
}

impl From<String> for Asked {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl Asked {
    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Adds the real path to the effects. A path that leads nowhere of ours is added as what it is: the roots or the
    /// check will say no.
    pub fn touched(&self, scope: &Scope, effects: Effects, access: Access) -> Effects {
        let path = match self.place(scope) {
            Ok(place) => place.path(),
            Err(Astray::Outside(path)) => path.clone(),
            Err(_) => scope.cwd().join(&self.text),
        };
        effects.touching(Resource::Path { path, access })
    }

    /// For the check: holds the folder of the place open, at the call's own turn and before anyone permits it.
    pub fn hold(&self, scope: &Scope, pointer: &str, wanted: &[Kind]) -> Result<(), Refusal> {
        let declared = self.place(scope).as_ref().map_err(|astray| words::astray(astray, pointer))?;
        let now = resolve(scope, &self.text).map_err(|astray| words::astray(&astray, pointer))?;
        if now.path() != declared.path() {
            return Err(words::changed(&self.text, pointer));
        }
        let held = Held::of(now).map_err(|trouble| words::refusal(&self.text, &trouble, pointer))?;
        let kind = held.kind().map_err(|trouble| words::refusal(&self.text, &trouble, pointer))?;
        if let Some(kind) = kind
            && !wanted.contains(&kind)
        {
            return Err(words::another(&self.text, kind, wanted, pointer));
        }
        if kind == Some(Kind::File) {
            held.lone().map_err(|trouble| words::refusal(&self.text, &trouble, pointer))?;
        }
        // Only one phase holds, and only once: what is already there is the same.
        let _ = self.held.set(Arc::new(held));
        Ok(())
    }

    /// For the body: the place that was held by the check.
    pub fn held(&self) -> Result<Arc<Held>, Failure> {
        self.held
            .get()
            .cloned()
            .ok_or_else(|| Failure::fatal("the path was not looked up before the call ran"))
    }

    fn place(&self, scope: &Scope) -> &Result<Place, Astray> {
        self.place.get_or_init(|| resolve(scope, &self.text))
    }
}
