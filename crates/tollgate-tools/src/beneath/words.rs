//! What is wrong with a path, for the model: refusals before a call runs, failures after.

use std::{io::ErrorKind, path::Path};

use tollgate::{
    Failure, Refusal,
    outcome::{RefusalCode, Violation},
};

use super::{
    hold::{Kind, Trouble},
    name::shown,
    walk::Astray,
};

/// The refusal of a path that leads to no place of ours.
pub(super) fn astray(astray: &Astray, pointer: &str) -> Refusal {
    match astray {
        Astray::Bad(bad) => Refusal::invalid_value(pointer, format!("{bad}"))
            .with_hint("Give a plain path inside the working folder."),
        Astray::Loop(_) => Refusal::invalid_value(pointer, "its links lead in a circle")
            .with_hint("Name the file itself, not the link."),
        Astray::Outside(_) | Astray::Mounted(_) => outside(format!("{}.", capital(&astray.to_string()))),
        Astray::Unreadable(path, errno) => Refusal::invalid_value(
            pointer,
            format!("{} cannot be followed: {}", shown(path.as_os_str()), std::io::Error::from(*errno)),
        )
        .with_hint("Choose a path whose folders can be entered."),
        Astray::Root(..) => {
            Refusal::new(RefusalCode::OutsideRoots, format!("{}.", capital(&astray.to_string())))
                .with_hint("Nothing can be touched until the root exists.")
        }
    }
}

/// The refusal of a place that cannot be worked on.
pub(super) fn refusal(text: &str, trouble: &Trouble, pointer: &str) -> Refusal {
    match trouble {
        Trouble::Linked(_) => outside(format!("{text}: {trouble}."))
            .with_hint("Copy the file and work on the copy, which has one name."),
        Trouble::Moved => changed(text, pointer),
        Trouble::Is(_) | Trouble::Io(_) => Refusal::invalid_value(pointer, format!("{text}: {trouble}"))
            .with_hint("List the folder to see what is there."),
    }
}

/// The refusal of a path that leads elsewhere than when the call was read.
pub(super) fn changed(text: &str, pointer: &str) -> Refusal {
    Refusal::invalid_value(pointer, format!("{text} leads elsewhere than a moment ago; nothing was done"))
        .with_hint("Look at the folder and propose the call again.")
}

/// The refusal of a folder where a file is needed, a pipe where anything else is, and so on.
pub(super) fn another(text: &str, kind: Kind, wanted: &[Kind], pointer: &str) -> Refusal {
    let wanted = wanted.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(" or ");
    let hint = match kind {
        Kind::Folder => "List it with `read` in mode `directory`, or name a file in it.",
        _ => "Choose another path; this one cannot be read or written as a file.",
    };
    let message = format!("{text} is {}, and {wanted} is needed", kind.words());
    Refusal::invalid_value(pointer, message).with_hint(hint)
}

fn outside(reason: String) -> Refusal {
    Refusal::new(RefusalCode::OutsideRoots, reason)
        .with_violations(Vec::<Violation>::new())
        .with_hint("Stay inside the working folder.")
}

/// The failure of a body at a path. Says what the disk said, in words, and what to do.
pub(crate) fn failure(path: &Path, trouble: Trouble) -> Failure {
    let path = shown(path.as_os_str());
    let error = match trouble {
        Trouble::Io(error) => error,
        Trouble::Moved => {
            return Failure::fatal(format!("{path}: {}; nothing was done.", Trouble::Moved))
                .with_hint("Look at the folder and propose the call again.");
        }
        trouble => {
            return Failure::fatal(format!("{path}: {trouble}."))
                .with_hint("Choose a path that is an ordinary file.");
        }
    };
    let (what, hint) = match error.kind() {
        ErrorKind::NotFound => ("there is no such file or folder", "List the folder to see what is there."),
        ErrorKind::PermissionDenied => {
            ("permission denied by the system", "Say which access is needed; it cannot be had from here.")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            ("there is no room left on the disk", "Nothing was changed. Make room first.")
        }
        ErrorKind::ReadOnlyFilesystem => ("the file system is read-only", "Write somewhere else."),
        ErrorKind::IsADirectory => ("it is a folder", "Name a file in it."),
        ErrorKind::NotADirectory => ("a part of the path is not a folder", "List the folder above it."),
        ErrorKind::FileTooLarge => ("the file would be too large", "Write less at a time."),
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) => (
            "this system has no openat2",
            "File tools need Linux 5.6 or newer, and a sandbox that allows it.",
        ),
        _ => return Failure::fatal(format!("{path}: {error}.")).caused_by(error),
    };
    Failure::fatal(format!("{path}: {what}.")).with_hint(hint).caused_by(error)
}

/// The failure of a path where nothing is, with names that are close to it.
pub(crate) fn not_found(path: &Path, near: &[String]) -> Failure {
    let failure = Failure::fatal(format!("{}: there is no such file.", shown(path.as_os_str())));
    if near.is_empty() {
        return failure.with_hint("List the folder to see what is there.");
    }
    failure.with_hint(format!("Close to it there is {}.", near.join(", ")))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
