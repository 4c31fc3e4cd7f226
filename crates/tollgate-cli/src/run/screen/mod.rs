//! What a person sees of a run.

pub(crate) mod style;
pub(crate) mod width;
pub(crate) mod markdown;
#[cfg(test)]
mod emulator;
