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

use crate::skipped::skipped;

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
        let server = Self::set_up()?;
        server.listen("-c listen_addresses=''").expect("it starts");
        Some(server)
    }

    /// A cluster that listens nowhere yet.
    fn set_up() -> Option<Self> {
        let Some(bin) = installed() else {
            skipped("no PostgreSQL (initdb) on this machine, so its half of the cases did not run");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("tollgate-pg").tempdir().expect("a folder").keep();
        let user = if is_root() { "postgres" } else { "" };
        let user = if user.is_empty() { whoami() } else { user.to_owned() };
        if is_root() {
            run(Command::new("chown").arg(&user).arg(&folder));
        }
        let server = Self { folder, user, bin };
        let data = server.data();
        server.end_with_this_process(&data);
        run(server.as_user("initdb").args(["-A", "trust", "-N", "-D"]).arg(&data));
        Some(server)
    }

    /// Answers questions from here on, or says in its own words why not.
    fn listen(&self, listen: &str) -> Result<(), String> {
        let log = self.folder.join("log");
        let options = format!("-k {} {listen} -c fsync=on -c max_connections=200", self.folder.display());
        let mut command = self.as_user("pg_ctl");
        command.args(["-w", "-o", &options, "-l"]).arg(&log).arg("-D").arg(self.data()).arg("start");
        let started = command.output().expect("it runs");
        if started.status.success() {
            return Ok(());
        }
        let why = std::fs::read_to_string(log).unwrap_or_default();
        Err(format!("{}{why}", String::from_utf8_lossy(&started.stderr)))
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
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

    /// A port that is free now may be somebody's a moment later, and a server cannot be handed an open one:
    /// where it was taken in between, the next is tried.
    #[allow(dead_code, reason = "the crash test shares this file and needs no such server")]
    fn listen_on_a_port(&self) -> u16 {
        let mut refused = String::new();
        for _ in 0..10 {
            let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
            let port = free.expect("a port of this machine").port();
            match self.listen(&format!("-c listen_addresses=127.0.0.1,localhost -p {port}")) {
                Ok(()) => return port,
                Err(why) => refused = why,
            }
        }
        panic!("ten ports, and none to listen on: {refused}")
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

/// A server that listens on a port of this machine, for what a socket has no use for: TLS.
#[allow(dead_code, reason = "the crash test shares this file and needs no such server")]
pub(crate) struct OnTcp {
    server: Server,
    port: u16,
    /// The certificate its own is signed by: itself.
    pub(crate) root: String,
}

#[allow(dead_code, reason = "the crash test shares this file and needs no such server")]
pub(crate) fn on_tcp() -> Option<OnTcp> {
    let server = Server::set_up()?;
    let port = server.listen_on_a_port();
    let root = server.data().join("server.crt").display().to_string();
    Some(OnTcp { server, port, root })
}

#[allow(dead_code, reason = "the crash test shares this file and needs no such server")]
impl OnTcp {
    pub(crate) fn url(&self, host: &str, query: &str) -> String {
        format!("postgresql://{}@{host}:{}/postgres?{query}", self.server.user, self.port)
    }

    /// From now on with a certificate for `localhost`. False where none can be made.
    pub(crate) fn with_tls(&self) -> bool {
        let data = self.server.data();
        let (key, crt) = (data.join("server.key"), data.join("server.crt"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
            .args([
                "-addext",
                "subjectAltName=DNS:localhost",
                "-addext",
                "basicConstraints=CA:FALSE",
                "-keyout",
            ])
            .arg(&key)
            .arg("-out")
            .arg(&crt)
            .stdin(Stdio::null())
            .output();
        if !made.is_ok_and(|made| made.status.success()) {
            return false;
        }
        if is_root() {
            run(Command::new("chown").arg(&self.server.user).arg(&key).arg(&crt));
        }
        run(Command::new("chmod").arg("600").arg(&key));
        self.psql("ALTER SYSTEM SET ssl = on");
        self.psql("SELECT pg_reload_conf()");
        self.wait_until_encrypted();
        true
    }

    /// A reload is asked for and comes about some time later.
    fn wait_until_encrypted(&self) {
        let port = self.port.to_string();
        let encrypted = || {
            let mut command = self.server.as_user("psql");
            command.env("PGSSLMODE", "require").args(["-q", "-h", "localhost", "-p", &port]);
            command.args(["-d", "postgres", "-c", "SELECT 1"]).output().expect("it runs").status.success()
        };
        let began = std::time::Instant::now();
        while !encrypted() {
            assert!(began.elapsed().as_secs() < 60, "TLS was switched on and never came");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// How many connections over the network are not encrypted.
    pub(crate) fn in_the_clear(&self) -> i64 {
        let sql = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                   WHERE client_port > 0 AND NOT ssl";
        self.psql(sql).trim().parse().expect("a number")
    }

    fn psql(&self, sql: &str) -> String {
        let mut command = self.server.as_user("psql");
        command.args(["-q", "-t", "-A", "-h"]).arg(&self.server.folder).args(["-p", &self.port.to_string()]);
        let output = command.args(["-d", "postgres", "-c", sql]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
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
