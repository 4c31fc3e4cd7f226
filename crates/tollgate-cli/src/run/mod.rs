//! `tollgate run`: a model works with tools, a person watches, answers, interrupts and resumes.
mod screen;
