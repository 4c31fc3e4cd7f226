//! Paths become handles beneath the declared roots: what is judged is what the path leads to, never its text.
//!
//! A call's path is looked up twice: when its effects are computed, so that policy sees the real path, and at the
//! call's own turn before permission, when the folder it leads to is held open. The body works on that handle and
//! on nothing else; a folder that was swapped meanwhile is noticed, and nothing happens.
//!
//! Links are followed by hand, one component at a time. From the root on everything is opened by `openat2` with no
//! link, no magic link and no other file system allowed.

mod name;
mod walk;
mod hold;
mod asked;
mod words;

pub use asked::Asked;
pub use hold::{Held, Kind, Opened, Trouble};
pub(crate) use hold::{READ, inside, kind_of, open_file, random_name};
pub use name::{BadPath, shown};
pub use walk::{Astray, Place, resolve};
pub(crate) use words::{failure, not_found};
