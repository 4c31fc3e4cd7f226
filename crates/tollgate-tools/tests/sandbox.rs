//! Escapes tried with real processes at each level, as this user and, where this is root, as nobody, against a table of
//! what is to be expected.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "somebody else's processes, and looks from outside, are not started by us"
)]

#[path = "../../tollgate/tests/skipped/mod.rs"]
mod skipped;

use std::{
    io::Write as _,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use skipped::skipped;
use tokio_util::sync::CancellationToken;
use tollgate_tools::{
    process::{Environment, Launch},
    sandbox::{Confined, Level, Sandbox},
};

const TABLE: &str = include_str!("data/escapes.json");

/// A machine in small: a root, something outside it, somebody else's process, and sockets that listen.
struct World {
    folder: tempfile::TempDir,
    victim: Child,
    nonce: String,
    tcp: TcpListener,
    _udp: UdpSocket,
    _sockets: [UnixListener; 2],
    _open: std::fs::File,
}

impl World {
    fn new() -> Self {
        // Not below /tmp: at L3 that is a folder of the bubble's own, and nothing could be reached there anyway.
        let folder = tempfile::Builder::new().prefix("tollgate-escape").tempdir_in("/var/tmp").unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["root/.git/hooks", "out"] {
            std::fs::create_dir_all(path(name)).unwrap();
        }
        for (name, text) in
            [("root/kept", "kept"), ("root/.git/config", "[core]\n"), ("out/file", "secret\n")]
        {
            std::fs::write(path(name), text).unwrap();
        }
        let nonce = format!("tollgate{}{}", std::process::id(), folder.path().to_string_lossy().len());
        let nonce =
            format!("{nonce}{}", folder.path().file_name().unwrap().to_string_lossy().replace('.', ""));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind(tcp.local_addr().unwrap()).unwrap();
        let named = UnixListener::bind(path("out/sock")).unwrap();
        let address = SocketAddr::from_abstract_name(nonce.as_bytes()).unwrap();
        let sockets = [named, UnixListener::bind_addr(&address).unwrap()];
        let open = std::fs::File::open(path("out/file")).unwrap();
        let mut victim = Command::new("sleep");
        victim.arg("600").env("HIDDEN_IN_VICTIM", "x").stdin(Stdio::null());
        Self {
            victim: victim.spawn().unwrap(),
            nonce,
            tcp,
            _udp: udp,
            _sockets: sockets,
            _open: open,
            folder,
        }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let number: u32 =
            self.nonce.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
                % 100_000;
        vec![
            ("ROOT", path("root")),
            ("OUT", path("out")),
            ("VICTIM", self.victim.id().to_string()),
            ("PORT", self.tcp.local_addr().unwrap().port().to_string()),
            ("NONCE", self.nonce.clone()),
            ("NONCE_NUMBER", number.to_string()),
        ]
    }

    /// Runs the attempt inside, then looks from outside. True when it got out.
    fn escapes(&self, case: &Value, sandbox: &Sandbox) -> (bool, String) {
        let open = sandbox.clone().with_network();
        let sandbox = if case["network"] == true { &open } else { sandbox };
        let root = self.folder.path().join("root");
        let confined = if case["confined"] == "reading" { Confined::Reading } else { Confined::Writing };
        let line = match case["python"].as_str() {
            Some(program) => format!("python3 -c {}", quoted(program)),
            None => case["try"].as_str().unwrap().to_owned(),
        };
        let line = format!("{}{line}", sandbox.limits());
        let mut environment = Environment::empty().with("PATH", "/usr/bin:/bin");
        for (name, value) in self.variables() {
            environment = environment.with(name, value);
        }
        let mut launch = Launch::new("bash", ["--noprofile", "--norc", "-c", &line]);
        launch = launch.folder(&root).environment(environment).within(Duration::from_secs(20));
        if let Some(wrapper) = sandbox.wrapper(&[root], confined).unwrap() {
            launch = launch.wrapper(wrapper);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(launch.run(&CancellationToken::new())).unwrap();
        let said = format!("{}{}", ended.stdout.text(), ended.stderr.text());
        let out = case["escaped"].as_str().is_some_and(|check| {
            let mut look = Command::new("bash");
            look.args(["-c", check]).envs(self.variables()).stdout(Stdio::null()).stderr(Stdio::null());
            // What was told to end may take a moment on a busy machine; a survivor is still there after it.
            let looks = if check.starts_with("pgrep") { 20 } else { 1 };
            (0..looks).all(|again| {
                std::thread::sleep(Duration::from_millis(if again == 0 { 0 } else { 100 }));
                look.status().unwrap().success()
            })
        });
        (out || ended.stdout.text().contains("ESCAPED"), said)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        // What a level that does not hold it left behind.
        let left = "for id in $(pgrep -f \"^sleep [78]$NONCE_NUMBER\"); do kill -KILL $id; done; rm -f \"/dev/shm/$NONCE\"";
        let _ = Command::new("bash").args(["-c", left]).envs(self.variables()).status();
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn try_all(level: Level) {
    let found = Sandbox::probed().found().level;
    if found < level {
        skipped(format_args!(
            "this machine has no {} for this user: {:?}",
            level.name(),
            Sandbox::probed().found().missing
        ));
        return;
    }
    let sandbox = Sandbox::at(level);
    let cases: Vec<Value> = serde_json::from_str(TABLE).unwrap();
    let python = std::path::Path::new("/usr/bin/python3").exists();
    let mut wrong = Vec::new();
    for case in &cases {
        if case["python"].is_string() && !python {
            skipped(format_args!("{} needs python3", case["name"]));
            continue;
        }
        let expected = case[level.name()].as_str().unwrap();
        let (escaped, said) = World::new().escapes(case, &sandbox);
        let is = if escaped { "open" } else { "held" };
        if expected != "any" && expected != is {
            wrong.push(format!("{}: expected {expected}, is {is}: {said}", case["name"]));
        }
    }
    std::io::stdout().flush().unwrap();
    assert!(wrong.is_empty(), "{} of {}:\n{}", level.name(), cases.len(), wrong.join("\n"));
}

#[test]
fn what_l1_does_not_hold_is_known() {
    try_all(Level::L1);
}

#[test]
fn l2_holds_what_the_table_says() {
    try_all(Level::L2);
}

#[test]
fn l3_holds_what_the_table_says() {
    try_all(Level::L3);
}

#[test]
fn all_levels_hold_the_same_for_a_user_who_is_not_root() {
    if !rustix_is_root() {
        // Then the other tests are this one.
        return;
    }
    let own = std::env::current_exe().unwrap();
    // Where nobody may not look into our folder, a copy is run.
    let copy = tempfile::Builder::new().prefix("tollgate-nobody").tempdir_in("/var/tmp").unwrap();
    let program: PathBuf = copy.path().join("tests");
    std::fs::copy(own, &program).unwrap();
    Command::new("chmod").args(["-R", "a+rX"]).arg(copy.path()).status().unwrap();
    for level in
        ["what_l1_does_not_hold_is_known", "l2_holds_what_the_table_says", "l3_holds_what_the_table_says"]
    {
        let mut run = Command::new("setpriv");
        run.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(&program);
        run.args(["--exact", level, "--nocapture"]).current_dir("/var/tmp").env("HOME", "/nonexistent");
        match run.output() {
            Ok(output) => {
                let said = format!(
                    "{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
                assert!(output.status.success(), "as nobody, {level}:\n{said}");
                said.lines()
                    .filter_map(|line| line.strip_prefix("skipped: "))
                    .for_each(|line| skipped(format_args!("as nobody: {line}")));
            }
            Err(error) => skipped(format_args!("setpriv cannot be run: {error}")),
        }
    }
}

fn rustix_is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

#[test]
fn a_level_that_is_required_and_not_there_refuses() {
    let sandbox = Sandbox::at(Level::L1).required(Level::L2);
    let refusal = sandbox.allowed().unwrap_err();
    assert_eq!(refusal.code, tollgate::outcome::RefusalCode::SandboxUnavailable);
    assert!(refusal.hint.is_some());
}

/// Run by the test below, with a terminal.
#[test]
fn a_terminal_is_out_of_reach_at_this_level() {
    let Ok(level) = std::env::var("TOLLGATE_TEST_TERMINAL") else { return };
    assert!(
        Command::new("bash").args(["-c", "exec 3<>/dev/tty"]).status().unwrap().success(),
        "there is one"
    );
    let sandbox = Sandbox::at(Level::parse(&level).unwrap());
    let line = "for t in /dev/tty /dev/pts/[0-9]* /proc/$PPID/fd/0; do (exec 3<>$t && test -t 3) && echo ESCAPED; done";
    let (escaped, said) = World::new().escapes(&serde_json::json!({ "try": line }), &sandbox);
    assert!(!escaped, "{said}");
}

#[test]
fn no_level_lets_a_command_open_the_terminal_a_person_answers_at() {
    let own = std::env::current_exe().unwrap();
    for level in [Level::L2, Level::L3] {
        if Sandbox::probed().found().level < level {
            skipped(format_args!("no {}: {:?}", level.name(), Sandbox::probed().found().missing));
            continue;
        }
        let line = format!("'{}' --exact a_terminal_is_out_of_reach_at_this_level", own.display());
        let mut run = Command::new("script");
        run.args(["-qec", &line, "/dev/null"])
            .env("TOLLGATE_TEST_TERMINAL", level.name())
            .stdin(Stdio::null());
        match run.output() {
            Ok(ran) => {
                let said = String::from_utf8_lossy(&ran.stdout);
                assert!(ran.status.success() && said.contains("1 passed"), "{}: {said}", level.name());
            }
            Err(error) => skipped(format_args!("script cannot be run: {error}")),
        }
    }
}
