//! How the program is linked: so that it is there sooner and takes less memory, where the tools of the machine it is built
//! on can do that. Nothing it does depends on it.
//!
//! - The addresses that are filled in at its start are packed, where the C library reads that. It saves most of a megabyte,
//!   in the file and in the memory of every start.
//! - What unwinds a panic is in the program, and no library to be found and loaded first.
//! - The functions a start runs (`start.txt`) lie together: they are a ninth of the code, and each page of it that is
//!   touched brings its neighbours into memory.

#![expect(clippy::disallowed_methods, reason = "a build script asks the machine it runs on")]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The first glibc that reads packed addresses.
const READS_PACKED: (u32, u32) = (2, 36);

/// The unwinder of the C compiler, as a part of the program.
const UNWINDER: &str = "static:-bundle=gcc_eh";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=start.txt");
    let here = env::var("HOST").ok() == env::var("TARGET").ok();
    let glibc = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if !here || !glibc {
        return Ok(());
    }
    if version().is_some_and(|version| version >= READS_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // What is built to be tried out is to be built soon.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
        released(&folder)?;
    }
    Ok(())
}

fn released(folder: &Path) -> io::Result<()> {
    if links(folder, &["-l", UNWINDER])? {
        println!("cargo::rustc-link-lib={UNWINDER}");
    }
    let order = folder.join("start.ld");
    fs::write(&order, together(&fs::read_to_string("start.txt")?))?;
    let Some(order) = order.to_str() else { return Ok(()) };
    if links(folder, &["-C", "link-arg=-T", "-C", &format!("link-arg={order}")])? {
        println!("cargo::rustc-link-arg-bins=-T");
        println!("cargo::rustc-link-arg-bins={order}");
    }
    Ok(())
}

/// What tells a linker to put these functions before all others. A name it does not find is passed over.
fn together(names: &str) -> String {
    let names = names.lines().filter(|line| !line.starts_with('#'));
    let lines: String = names.map(|name| format!("    *(.text.{name} .text.unlikely.{name})\n")).collect();
    format!("SECTIONS\n{{\n  .text.start :\n  {{\n{lines}  }}\n}}\nINSERT BEFORE .text;\n")
}

/// True where the smallest program there is can be linked like this, by what the real one is linked by.
fn links(folder: &Path, how: &[&str]) -> io::Result<bool> {
    let source = folder.join("trial.rs");
    fs::write(&source, "fn main() {}\n")?;
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.arg(&source).arg("-o").arg(folder.join("trial")).args(how);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        compiler.args(["-C", &format!("linker={linker}")]);
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compiler.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    compiler.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(compiler.status().is_ok_and(|status| status.success()))
}

/// The C library of this machine, as `glibc 2.36`.
fn version() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let (major, minor) = str::from_utf8(&told).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
