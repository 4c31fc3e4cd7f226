//! Commands through the whole path, with real processes: nothing hangs, nothing is left, everything is said.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop the test")]
#![expect(clippy::panic, reason = "a helper says why a call gave nothing")]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;

mod kept;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use skipped::skipped;
use tollgate::{
    Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    outcome::RefusalCode,
    policy::{Decision, Policy, Query, Verdict},
};
use tollgate_tools::{
    command::{Guard, Lasts, Shell},
    process::Environment,
    sandbox::{Level, Sandbox},
};

/// Says yes to everything: what is tested here comes after.
struct Yes;

impl Policy for Yes {
    fn forbids(&self, _: &Query<'_>) -> Option<Verdict> {
        None
    }

    fn decide(&self, _: &Query<'_>) -> Verdict {
        Verdict::by_default(Decision::Allow, "a test")
    }
}

struct World {
    folder: tempfile::TempDir,
    gate: Tollgate,
    scope: Arc<Scope>,
}

impl World {
    fn at(level: Level) -> Self {
        Self::of(Sandbox::at(level))
    }

    /// The best level this machine has.
    fn best() -> Self {
        Self::of(Sandbox::probed())
    }

    fn of(sandbox: Sandbox) -> Self {
        Self::guarded(sandbox, Guard::open())
    }

    fn guarded(sandbox: Sandbox, guard: Guard) -> Self {
        let folder = tempfile::Builder::new().prefix("tollgate-runs").tempdir_in("/var/tmp").unwrap();
        Self::inside(folder, sandbox, guard)
    }

    fn inside(folder: tempfile::TempDir, sandbox: Sandbox, guard: Guard) -> Self {
        let environment = Environment::empty().with("PATH", "/usr/bin:/bin");
        let shell = Shell::guarded(environment, None, sandbox, guard);
        let registry = shell.register(Registry::new(), None).unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = Workspace::with_roots(root.clone(), vec![root]);
        let scope = Scope::new(Run::new("run"), workspace);
        Self { gate: Tollgate::builder(registry).policy(Yes).build(), scope: Arc::new(scope), folder }
    }

    async fn call(&self, tool: &str, input: Value) -> Settled {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!("c{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.gate.call(&self.scope, Proposed::new(id, tool, &input)).await
    }

    async fn told(&self, tool: &str, input: Value) -> Value {
        let settled = self.call(tool, input).await;
        let output =
            settled.output().unwrap_or_else(|| panic!("{:?} {:?}", settled.refusal(), settled.failure()));
        output.structured().unwrap().clone()
    }

    /// What the model gets, as text: a long result is a preview.
    async fn preview(&self, input: Value) -> String {
        let settled = self.call("shell", input).await;
        serde_json::to_string(settled.output().unwrap()).unwrap()
    }

    async fn shell(&self, command: &str) -> Value {
        self.told("shell", json!({ "command": command })).await
    }
}

fn text(told: &Value, stream: &str) -> String {
    let stretches = told["output"].as_array().unwrap().iter().filter(|one| one["stream"] == stream);
    stretches.map(|one| one["text"].as_str().unwrap()).collect()
}

fn notes(told: &Value) -> String {
    told["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// True when a process with this word in its command line lives.
fn lives(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let own = entry.file_name().to_string_lossy().parse::<u32>().is_ok_and(|id| id != std::process::id());
        own && std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes()))
    })
}

/// A number of seconds nobody else sleeps.
fn long(world: &World) -> String {
    let name = world.folder.path().display().to_string();
    let sum: u32 = name.bytes().fold(11_u32, |sum, byte| sum.wrapping_mul(33).wrapping_add(u32::from(byte)));
    format!("{}", 100_000 + sum % 800_000)
}

async fn soon_gone(word: &str) -> bool {
    for _ in 0..40 {
        if !lives(word) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test]
async fn both_streams_come_back_apart_and_a_code_that_is_not_zero_is_a_result() {
    let told = World::best().shell("echo out; sleep 0.1; echo err >&2; sleep 0.1; echo more; exit 3").await;
    assert_eq!((&told["status"], &told["exit_code"]), (&json!("ended"), &json!(3)));
    let expected = [("stdout", "out\n"), ("stderr", "err\n"), ("stdout", "more\n")];
    assert_eq!(
        told["output"],
        json!(expected.map(|(stream, text)| json!({ "stream": stream, "text": text })))
    );
}

#[tokio::test]
async fn there_is_no_terminal_no_input_and_no_environment_but_the_allowed() {
    let told = World::best().shell("cat; tty; env | sort | cut -d= -f1 | tr '\\n' ' '").await;
    assert!(text(&told, "stdout").starts_with("not a tty"), "{told}");
    assert!(!text(&told, "stdout").contains("CARGO"), "{told}");
    // A pipe would have programs like rg read that, and not the folder.
    assert_eq!(text(&World::best().shell("test -p /dev/stdin; echo $?").await, "stdout"), "1\n");
}

#[tokio::test]
async fn a_child_in_the_background_does_not_hold_the_call() {
    let world = World::best();
    let (began, number) = (Instant::now(), long(&world));
    let told = world.shell(&format!("sleep {number} & echo started")).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(text(&told, "stdout"), "started\n");
    assert!(notes(&told).contains("background"), "{told}");
    assert!(soon_gone(&number).await, "sleep {number} lives");
}

#[tokio::test]
async fn a_child_in_a_session_of_its_own_ends_where_the_sandbox_allows() {
    for level in [Level::L2, Level::L3] {
        if Sandbox::probed().found().level < level {
            skipped(format_args!("no {}: {:?}", level.name(), Sandbox::probed().found().missing));
            continue;
        }
        let world = World::at(level);
        let (began, number) = (Instant::now(), long(&world));
        world.shell(&format!("setsid sleep {number} & echo started")).await;
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(soon_gone(&number).await, "sleep {number} lives at {}", level.name());
    }
}

#[tokio::test]
async fn a_command_ends_its_own_and_leaves_its_neighbours_alone() {
    if Sandbox::probed().found().level < Level::L2 {
        skipped(format_args!("no L2: {:?}", Sandbox::probed().found().missing));
        return;
    }
    let world = World::at(Level::L2);
    let number = long(&world);
    let job = world.told("shell", json!({ "command": format!("sleep {number}"), "background": true })).await;
    world.shell("setsid true & true").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let read = world.told("jobs", json!({ "action": "read", "job": job["job"] })).await;
    assert_eq!(read["status"], "running");
    assert!(lives(&number));
    world.told("jobs", json!({ "action": "stop", "job": job["job"] })).await;
    assert!(soon_gone(&number).await);
}

#[tokio::test]
async fn every_command_is_held_however_many_ran_before_it_and_of_whatever_kind() {
    let world = World::at(Level::L2);
    if Sandbox::probed().found().level < Level::L2 {
        skipped("this machine has no L2");
        return;
    }
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let escape = format!("out=$(printf {}); echo x > \"$out/x\"", outside.path().display());
    for round in 0..4 {
        // Between the others one that is known to only read, and runs behind other walls.
        let listed = world.shell("ls").await;
        assert_eq!(text(&listed, "stdout"), if round == 0 { "" } else { "inside\n" });
        let status = text(&world.shell("own=$(printf /proc/self); cat \"$own/status\"").await, "stdout");
        let held = |line: &str| status.lines().any(|own| own.split_whitespace().eq(line.split(' ')));
        assert!(held("NoNewPrivs: 1") && held("Seccomp: 2"), "{status}");
        assert!(held("Seccomp_filters: 1"), "walls are not put on walls: {status}");
        let wrote = world.shell(&format!("echo {round} > inside && cat inside")).await;
        assert_eq!(text(&wrote, "stdout"), format!("{round}\n"), "{wrote}");
        let escaped = world.shell(&escape).await;
        assert_ne!(escaped["exit_code"], 0, "{escaped}");
        assert!(!outside.path().join("x").exists());
    }
}

#[tokio::test]
async fn a_flood_is_bounded_goes_on_as_a_job_and_can_be_stopped() {
    let world = World::best();
    let number = long(&world);
    let line = format!("yes {number}");
    let told = world.preview(json!({ "command": line, "timeout_ms": 300 })).await;
    assert!(told.contains("goes on as job 1"), "{told}");
    assert!(told.len() < 2_000_000);
    let listed = world.told("jobs", json!({ "action": "list" })).await;
    assert_eq!(listed["jobs"][0]["command"], line);
    let stopped = world.call("jobs", json!({ "action": "stop", "job": 1 })).await;
    let stopped = serde_json::to_string(stopped.output().unwrap()).unwrap();
    assert!(stopped.contains("told to end"), "{stopped}");
    assert!(soon_gone(&number).await);
}

#[tokio::test]
async fn a_child_that_ignores_the_request_to_end_is_killed() {
    let world = World::best();
    let number = long(&world);
    let line = format!("trap '' TERM; echo on; while :; do sleep {number}; done");
    world.told("shell", json!({ "command": line, "timeout_ms": 300 })).await;
    let began = Instant::now();
    let stopped = world.told("jobs", json!({ "action": "stop", "job": 1 })).await;
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(stopped["status"], "ended");
    assert!(soon_gone(&number).await);
}

#[tokio::test]
async fn a_gigabyte_passes_within_bounds() {
    let began = Instant::now();
    let before = resident();
    let told = World::best().preview(json!({ "command": "seq 111111111" })).await;
    assert!(told.contains("of 1000000008 bytes are left out"), "{told}");
    assert!(resident() < before + (64 << 10), "{before} KiB became {}", resident());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

/// The most memory this process ever had, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_job_can_be_read_and_waited_for() {
    let world = World::best();
    let told =
        world.told("shell", json!({ "command": "echo one; sleep 0.5; echo two", "background": true })).await;
    assert_eq!(told["status"], "running");
    let waited = world.told("jobs", json!({ "action": "wait", "job": 1 })).await;
    assert_eq!((&waited["status"], text(&waited, "stdout")), (&json!("ended"), "one\ntwo\n".to_owned()));
    let missing = world.call("jobs", json!({ "action": "read", "job": 9 })).await;
    assert_eq!(missing.refusal().unwrap().code, RefusalCode::InvalidValue);
}

#[tokio::test]
async fn a_cancelled_call_ends_its_processes_and_is_answered() {
    let world = World::best();
    let number = long(&world);
    let token = world.scope.run.token().clone();
    let (settled, ()) =
        tokio::join!(world.call("shell", json!({ "command": format!("sleep {number}; touch x") })), async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            token.cancel();
        });
    assert!(settled.output().is_none());
    assert!(soon_gone(&number).await);
}

#[tokio::test]
async fn where_nobody_comes_back_a_command_that_takes_too_long_is_ended_and_that_is_said() {
    let mut world = World::best();
    let environment = Environment::empty().with("PATH", "/usr/bin:/bin");
    let shell = Shell::lasting(environment, None, Sandbox::probed(), Guard::open(), Lasts::Call);
    world.gate = Tollgate::builder(shell.register(Registry::new(), None).unwrap()).policy(Yes).build();
    let number = long(&world);
    let told = world
        .told("shell", json!({ "command": format!("echo on; sleep {number}"), "timeout_ms": 300 }))
        .await;
    assert_eq!((&told["status"], told.get("job")), (&json!("ended"), None), "{told}");
    assert!(notes(&told).contains("not over after 300 ms") && text(&told, "stdout") == "on\n", "{told}");
    assert!(soon_gone(&number).await);
    let job = world.call("shell", json!({ "command": "true", "background": true })).await;
    assert_eq!(job.refusal().unwrap().code, RefusalCode::InvalidValue);
}

#[tokio::test]
async fn a_job_of_a_program_that_ends_with_the_turn_says_so() {
    let environment = Environment::empty().with("PATH", "/usr/bin:/bin");
    let shell = Shell::lasting(environment, None, Sandbox::probed(), Guard::open(), Lasts::Turn);
    let world = World::best();
    let gate = Tollgate::builder(shell.register(Registry::new(), None).unwrap()).policy(Yes).build();
    let call = |id: &str, tool: &str, input: Value| gate.call(&world.scope, Proposed::new(id, tool, &input));
    let ways = [json!({ "background": true }), json!({ "timeout_ms": 1 })];
    for (at, mut input) in ways.into_iter().enumerate() {
        input["command"] = "sleep 0.3; echo late".into();
        let settled = call(&format!("a{at}"), "shell", input).await;
        let told = settled.output().unwrap().structured().unwrap().clone();
        assert!(notes(&told).contains("in this same turn alone"), "{told}");
        let wait = json!({ "action": "wait", "job": told["job"] });
        let waited = call(&format!("b{at}"), "jobs", wait).await;
        assert_eq!(text(waited.output().unwrap().structured().unwrap(), "stdout"), "late\n");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_and_odd_arguments_are_answered() {
    let world = World::best();
    let told = world.shell("printf 'a\\377b'").await;
    assert_eq!(text(&told, "stdout"), "a\u{fffd}b");
    assert!(notes(&told).contains("UTF-8"));
    let refused = |settled: Settled| settled.refusal().map(|refusal| refusal.code);
    let nul = world.call("shell", json!({ "command": "echo a\u{0}b" })).await;
    assert_eq!(refused(nul), Some(RefusalCode::InvalidValue));
    let absent = world.call("shell", json!({ "command": "ls", "cwd": "absent" })).await;
    assert_eq!(refused(absent), Some(RefusalCode::InvalidValue));
    let outside = world.call("shell", json!({ "command": "ls", "cwd": "/" })).await;
    assert_eq!(refused(outside), Some(RefusalCode::OutsideRoots));
    let empty = world.call("shell", json!({ "command": "" })).await;
    assert_eq!(refused(empty), Some(RefusalCode::InvalidArguments));
    let short = world.call("shell", json!({ "cmd": "ls" })).await;
    let meant = short.refusal().unwrap().violations.iter().find_map(|one| one.did_you_mean.clone());
    assert_eq!(meant.as_deref(), Some("command"), "the missing field, and not `cwd`");
    let unparsed = world.shell("echo 'open").await;
    assert_ne!(unparsed["exit_code"], 0);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_given_as_they_were() {
    let world = World::best();
    let told = world.shell("printf 'a\\377b'; echo text >&2").await;
    let stretch = told["output"].as_array().unwrap().iter().find(|one| one["stream"] == "stdout").unwrap();
    assert_eq!(stretch["base64"], "Yf9i");
    assert!(told.get("job").is_none(), "everything is here: {told}");
    // Too long to be given twice: the job that is over has them.
    let long = world.shell("head -c 20000 /dev/zero | tr '\\0' '\\377'").await;
    assert!(notes(&long).contains("base64"), "{}", notes(&long));
    let read = json!({ "action": "read", "job": long["job"], "encoding": "base64", "offset": 19_998 });
    let raw = world.told("jobs", read).await;
    assert_eq!((&raw["base64"], &raw["total_bytes"]), (&json!("//8="), &json!(20_000)));
    let odd = world.call("jobs", json!({ "action": "read", "job": long["job"], "offset": 3 })).await;
    assert_eq!(odd.refusal().unwrap().code, RefusalCode::InvalidValue);
}

#[tokio::test]
async fn what_keeps_a_place_free_is_no_file_of_the_project() {
    if Sandbox::probed().found().level < Level::L3 {
        skipped(format_args!("no L3: {:?}", Sandbox::probed().found().missing));
        return;
    }
    let world = World::at(Level::L3);
    world.shell("git init -q .; echo x > real").await;
    let told = world.shell("git add -A && git status --porcelain").await;
    assert_eq!(text(&told, "stdout"), "A  real\n", "{told}");
    assert!(!world.folder.path().join(".mcp.json").exists(), "it is gone with the command");
}

#[tokio::test]
async fn what_the_sandbox_held_is_said_and_a_read_cannot_write() {
    if Sandbox::probed().found().level == Level::L1 {
        skipped(format_args!("this machine has no sandbox: {:?}", Sandbox::probed().found().missing));
        return;
    }
    let world = World::best();
    let told = world.shell("touch ./inside; python3 -c \"open('/usr/outside','w')\"").await;
    assert!(notes(&told).contains("blocked by the sandbox: "), "{told}");
    assert!(world.folder.path().join("inside").exists());
    // git is known to only read, and so has nowhere to write even if a setting of the repository had it try.
    let line = "git init -q . && git config core.fsmonitor 'touch fsmonitor-ran; false'";
    let made = world.shell(&format!("{line} || true")).await;
    world.shell("git status").await;
    assert!(!world.folder.path().join("fsmonitor-ran").exists(), "{made}");
}

#[tokio::test]
async fn a_required_level_that_is_not_there_refuses_before_anything_starts() {
    let world = World::of(Sandbox::at(Level::L1).required(Level::L3));
    let settled = world.call("shell", json!({ "command": "touch x" })).await;
    assert_eq!(settled.refusal().unwrap().code, RefusalCode::SandboxUnavailable);
    assert!(!Path::new(world.folder.path()).join("x").exists());
}
