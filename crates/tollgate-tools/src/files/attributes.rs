//! What a file has beside its content and mode: its owner, its access list, its labels. A new one gets them too.

use std::{ffi::CStr, fs::File};

use rustix::{
    fs::{Gid, Stat, Uid, XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr, fstat},
    io::Errno,
};

/// More than any file has.
const MOST: usize = 64 << 10;

/// What could not be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lost {
    /// Somebody else's file would become ours.
    Owner,
    /// An attribute of this name.
    Attribute(String),
}

/// Gives `new` the owner of `old`, or says that it would change.
pub(super) fn keep_owner(new: &File, old: &Stat) -> Result<(), Lost> {
    let own = fstat(new).map_err(|_| Lost::Owner)?;
    if (own.st_uid, own.st_gid) == (old.st_uid, old.st_gid) {
        return Ok(());
    }
    let group = Some(Gid::from_raw(old.st_gid));
    if fchown(new, Some(Uid::from_raw(old.st_uid)), group).is_ok() {
        return Ok(());
    }
    if own.st_uid != old.st_uid {
        return Err(Lost::Owner);
    }
    // A group we are not in stays behind: the file was ours before and is after.
    let _ = fchown(new, None, group);
    Ok(())
}

/// Gives `new` every attribute of `old` that is about the file and not about its content.
pub(super) fn keep_attributes(new: &File, old: &File) -> Result<(), Lost> {
    let mut names = Vec::with_capacity(MOST);
    match flistxattr(old, rustix::buffer::spare_capacity(&mut names)) {
        Ok(_) => {}
        // A file system without them.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        Err(_) => return Err(Lost::Attribute("any".to_owned())),
    }
    for name in names.split_inclusive(|byte| *byte == 0) {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        let shown = name.to_string_lossy();
        // Rights and seals of the old content end with it, as they do when a file is written to.
        if matches!(&*shown, "security.capability" | "security.ima" | "security.evm") {
            continue;
        }
        let mut value = Vec::with_capacity(MOST);
        let copied = fgetxattr(old, name, rustix::buffer::spare_capacity(&mut value))
            .and_then(|_| fsetxattr(new, name, &value, XattrFlags::empty()));
        // A label of the system's own is put on by the system.
        if copied.is_err() && !shown.starts_with("security.") && !shown.starts_with("trusted.") {
            return Err(Lost::Attribute(shown.into_owned()));
        }
    }
    Ok(())
}
