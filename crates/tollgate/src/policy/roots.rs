//! Which of the paths a call names lie outside the roots, judged by their text alone.
//!
//! The core opens nothing: links are the file tools' affair, which open beneath the roots through directory
//! handles. What is certain from the text is refused here already, before anyone looks.

use std::path::{Component, Path, PathBuf};

use crate::tool::{Effects, Resource, Scope};

/// The first path the call touches that is outside every root.
pub(crate) fn outside_roots<'a>(effects: &'a Effects, scope: &Scope) -> Option<&'a Path> {
    effects.touches.iter().find_map(|resource| match resource {
        Resource::Path { path, .. } if !inside_roots(path, scope) => Some(path.as_path()),
        _ => None,
    })
}

/// True when the path lies below a root.
pub(crate) fn inside_roots(path: &Path, scope: &Scope) -> bool {
    lexical_path(scope.cwd(), path)
        .is_some_and(|path| scope.roots().iter().any(|root| path.starts_with(root)))
}

/// `path` seen from `cwd`, with `.` and `..` taken out; `None` when it climbs above the top.
pub fn lexical_path(cwd: &Path, path: &Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in cwd.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            part => clean.push(part),
        }
    }
    Some(clean)
}
