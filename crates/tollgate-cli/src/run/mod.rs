//! `tollgate run`: a model works with tools, a person watches, answers, interrupts and resumes.

pub(crate) mod args;
pub(crate) mod settings;
mod instructions;
mod screen;
