//! How the program is linked: the addresses that are filled in at its start are packed, where the C library of the machine it
//! is built on can read that. It saves most of a megabyte, in the file and in the memory of every start.

#![expect(clippy::disallowed_methods, reason = "a build script asks the machine it runs on")]

use std::{env, process::Command};

/// The first glibc that reads packed addresses.
const READS_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let here = env::var("HOST").ok() == env::var("TARGET").ok();
    let glibc = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if here && glibc && version().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The C library of this machine, as `glibc 2.36`.
fn version() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let (major, minor) = str::from_utf8(&told).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
