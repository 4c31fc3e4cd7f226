//! A PostgreSQL of the tests' own: a fresh cluster on a socket, as an unprivileged user, ended with the tests.

use std::{
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// A URL to a schema nobody else uses; `None` where PostgreSQL is not installed.
pub(crate) fn fresh_url() -> Option<String> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = SERVER.get_or_init(Server::start).as_ref()?;
    let schema = format!("s{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let socket = server.folder.display().to_string().replace('/', "%2F");
    let url = format!("postgresql://{}@{socket}/postgres", server.user);
    server.psql(&format!("CREATE SCHEMA {schema}"));
    Some(format!("{url}?options=-csearch_path%3D{schema}"))
}

struct Server {
    folder: PathBuf,
    user: String,
    bin: PathBuf,
}

impl Server {
    fn start() -> Option<Self> {
        let Some(bin) = installed() else {
            eprintln!(
                "skipped: no PostgreSQL (initdb) on this machine, so its half of the cases did not run"
            );
            return None;
        };
        let folder = tempfile::Builder::new().prefix("tollgate-pg").tempdir().expect("a folder").keep();
        let user = if is_root() { "postgres" } else { "" };
        let user = if user.is_empty() { whoami() } else { user.to_owned() };
        if is_root() {
            run(Command::new("chown").arg(&user).arg(&folder));
        }
        let server = Self { folder, user, bin };
        let data = server.folder.join("data");
        run(server.as_user("initdb").args(["-A", "trust", "-N", "-D"]).arg(&data));
        let options = format!(
            "-k {} -c listen_addresses='' -c fsync=on -c max_connections=200",
            server.folder.display()
        );
        run(server
            .as_user("pg_ctl")
            .args(["-w", "-o", &options, "-l"])
            .arg(server.folder.join("log"))
            .arg("-D")
            .arg(&data)
            .arg("start"));
        server.end_with_this_process(&data);
        Some(server)
    }

    #[expect(clippy::zombie_processes, reason = "it outlives this process, which is what it is for")]
    /// A small watcher outlives this process for a moment, stops the server and removes its folder.
    fn end_with_this_process(&self, data: &Path) {
        let script = format!(
            "while [ -d /proc/{} ]; do sleep 0.2; done; {} -m immediate -D {} stop; rm -rf {}",
            std::process::id(),
            self.bin.join("pg_ctl").display(),
            data.display(),
            self.folder.display(),
        );
        let mut watcher = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", &self.user, "--", "sh", "-c", &script]);
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", &script]);
            command
        };
        let watcher =
            watcher.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        watcher.spawn().expect("a watcher");
    }

    fn psql(&self, sql: &str) {
        run(self.as_user("psql").args(["-q", "-h"]).arg(&self.folder).args(["-d", "postgres", "-c", sql]));
    }

    fn as_user(&self, program: &str) -> Command {
        let path = self.bin.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", &self.user, "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok().into_iter().flatten().flatten();
    let known = versions.map(|version| version.path().join("bin"));
    let on_path = std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>();
    known.chain(on_path).find(|bin| bin.join("initdb").exists() && bin.join("psql").exists())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn whoami() -> String {
    let output = Command::new("id").arg("-un").output().expect("id runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn run(command: &mut Command) {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
