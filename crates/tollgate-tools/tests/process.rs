//! Real processes through the launcher: limits, deadlines, cancellation, and nothing left behind.
#![expect(clippy::expect_used, reason = "helpers of tests stop the test")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use tollgate::launch::{Launcher as _, Program};
use tollgate_tools::process::{Ended, Environment, HostLauncher, How, Keep, Launch, LaunchError, Wrapper};

fn environment() -> Environment {
    Environment::empty().with("PATH", "/usr/local/bin:/usr/bin:/bin")
}

fn shell(script: &str) -> Launch {
    Launch::new("sh", ["-c", script]).environment(environment()).within(Duration::from_secs(20))
}

async fn run(launch: Launch) -> Ended {
    launch.run(&CancellationToken::new()).await.expect("it starts")
}

fn said(ended: &Ended) -> (How, String, String) {
    (ended.how, ended.stdout.text(), ended.stderr.text())
}

/// True while a process with this number exists, a zombie included.
fn exists(process: &str) -> bool {
    std::path::Path::new("/proc").join(process.trim()).exists()
}

/// Waits until the file is there.
async fn there(file: &std::path::Path) {
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn gone(process: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(5);
    while exists(process) {
        if Instant::now() > until {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}

#[tokio::test]
async fn what_it_reads_says_and_complains_about_and_how_it_ends_are_told_apart() {
    let ended = run(shell("cat; echo oops >&2; exit 3").input("hello")).await;
    assert_eq!(said(&ended), (How::Code(3), "hello".to_owned(), "oops\n".to_owned()));
    let ended = run(shell("kill -SEGV $$")).await;
    assert_eq!(ended.how, How::Signal(11));
}

#[tokio::test]
async fn a_process_sees_the_environment_it_was_given_and_nothing_of_ours() {
    let launch =
        Launch::new("env", [""; 0]).environment(environment().with("GIVEN", "1").with("TOLLGATE_X", "2"));
    let ended = run(launch).await;
    assert_eq!(ended.stdout.text(), "GIVEN=1\nPATH=/usr/local/bin:/usr/bin:/bin\n");
}

#[tokio::test]
async fn a_process_has_no_terminal_and_leads_a_session_of_its_own() {
    let ended = run(shell("echo $$; ps -o sid= -p $$; (exec 3</dev/tty) 2>/dev/null && echo terminal")).await;
    let text = ended.stdout.text();
    let words: Vec<_> = text.split_whitespace().collect();
    assert_eq!((words.len(), words[0]), (2, words[1]), "{text}");
}

#[tokio::test]
async fn more_than_the_limit_is_read_counted_and_not_kept() {
    let launch = shell("head -c 20000000 /dev/zero; echo end").keep(Keep { head: 1000, tail: 4 });
    let ended = run(launch).await;
    assert_eq!((ended.how, ended.stdout.total()), (How::Code(0), 20_000_004));
    assert_eq!((ended.stdout.head.len(), &ended.stdout.tail[..]), (1000, &b"end\n"[..]));
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_fault() {
    let ended = run(shell("exec 0<&-; echo fine").input(vec![b'x'; 1 << 20])).await;
    assert_eq!(said(&ended), (How::Code(0), "fine\n".to_owned(), String::new()));
}

#[tokio::test]
async fn a_child_that_holds_the_pipe_is_not_waited_for_and_ends_with_the_process() {
    let began = Instant::now();
    let ended = run(shell("sleep 300 & echo $!")).await;
    assert_eq!(ended.how, How::Code(0));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(gone(&ended.stdout.text()).await, "the child in the background is still there");
}

#[tokio::test]
async fn a_child_with_a_session_of_its_own_does_not_keep_us_waiting() {
    let began = Instant::now();
    let ended = run(shell("setsid sleep 9 & sleep 0.1; echo over")).await;
    assert_eq!((ended.how, ended.stdout.text().as_str()), (How::Code(0), "over\n"));
    assert!(began.elapsed() < Duration::from_secs(8));
}

#[tokio::test]
async fn at_its_deadline_a_process_is_asked_to_end_and_its_last_words_are_kept() {
    let launch =
        shell("trap 'echo bye; exit 0' TERM; echo hi; sleep 300 & wait").within(Duration::from_millis(300));
    let ended = run(launch).await;
    assert_eq!(said(&ended), (How::Late(Duration::from_millis(300)), "hi\nbye\n".to_owned(), String::new()));
}

#[tokio::test]
async fn a_process_that_will_not_end_is_killed_with_its_children() {
    let launch =
        shell("trap '' TERM; echo $$; (trap '' TERM; sleep 300; sleep 300) & echo $!; sleep 300; sleep 300")
            .within(Duration::from_millis(300))
            .grace(Duration::from_millis(100));
    let ended = run(launch).await;
    assert_eq!(ended.how, How::Late(Duration::from_millis(300)));
    for process in ended.stdout.text().lines() {
        assert!(gone(process).await, "{process} is still there");
    }
}

#[tokio::test]
async fn a_cancelled_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let launch = shell("echo $$; touch begun; sleep 300").folder(folder.path());
    let token = CancellationToken::new();
    let cancel = async {
        there(&folder.path().join("begun")).await;
        token.cancel();
    };
    let (ended, ()) = tokio::join!(launch.run(&token), cancel);
    let ended = ended.unwrap();
    assert_eq!(ended.how, How::Cancelled);
    assert!(gone(&ended.stdout.text()).await);
}

#[tokio::test]
async fn a_process_nobody_waits_for_any_more_is_killed_and_leaves_no_zombie() {
    let folder = tempfile::tempdir().unwrap();
    let launch =
        shell("echo $$ > id.new; mv id.new id; trap '' TERM; sleep 300; sleep 300").folder(folder.path());
    let token = CancellationToken::new();
    let file = folder.path().join("id");
    tokio::select! {
        ended = launch.run(&token) => panic!("{ended:?}"),
        () = there(&file) => {}
    }
    let id = std::fs::read_to_string(file).unwrap();
    assert!(gone(&id).await, "{id} is still there");
}

#[test]
fn a_process_whose_runtime_is_gone_is_killed_and_leaves_no_zombie() {
    let folder = tempfile::tempdir().unwrap();
    let launch = shell("echo $$ > id.new; mv id.new id; sleep 300").folder(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.spawn(async move { launch.run(&CancellationToken::new()).await });
    let file = folder.path().join("id");
    runtime.block_on(there(&file));
    runtime.shutdown_background();
    let id = std::fs::read_to_string(file).unwrap();
    let until = Instant::now() + Duration::from_secs(5);
    while exists(&id) {
        assert!(Instant::now() < until, "{id} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn a_long_lived_process_is_talked_to_and_stopped() {
    let (mut running, mut pipes) = shell("cat").start().await.unwrap();
    pipes.stdin.as_mut().unwrap().write_all(b"ping\n").await.unwrap();
    let mut answer = [0; 5];
    pipes.stdout.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"ping\n");
    let id = running.id().to_string();
    assert!(running.stop().await.is_some());
    assert!(gone(&id).await);
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let token = CancellationToken::new();
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "x").unwrap();
    let launch = |program: &str| Launch::new(program, [""; 0]).environment(environment());
    let error = launch("no-such-program").run(&token).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no program `no-such-program`");
    let error = launch(text.to_str().unwrap()).run(&token).await.unwrap_err();
    assert!(matches!(error, LaunchError::NotExecutable(_)), "{error}");
    let error = launch("true").folder(folder.path().join("absent")).run(&token).await.unwrap_err();
    assert!(error.to_string().contains("cannot be used"), "{error}");
}

#[derive(Debug)]
struct Broken;

impl Wrapper for Broken {
    fn enter(&self) -> std::io::Result<()> {
        Err(std::io::Error::other("no such kernel"))
    }
}

#[derive(Debug)]
struct Around;

impl Wrapper for Around {
    fn words(&self, words: Vec<std::ffi::OsString>) -> std::io::Result<Vec<std::ffi::OsString>> {
        Ok(["/usr/bin/env".into(), "WRAPPED=1".into()].into_iter().chain(words).collect())
    }
}

#[tokio::test]
async fn a_wrapper_goes_around_the_command_and_nothing_starts_where_it_fails() {
    let ended = run(shell("echo $WRAPPED").wrapper(Arc::new(Around))).await;
    assert_eq!(ended.stdout.text(), "1\n");
    let error = shell("true").wrapper(Arc::new(Broken)).run(&CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "the sandbox could not be set up: no such kernel");
}

#[tokio::test]
async fn a_server_started_through_the_core_gets_the_same_environment_and_the_same_end() {
    let ours = [("PATH", "/usr/bin:/bin"), ("TOKEN", "t"), ("OPENAI_API_KEY", "sk"), ("OTHER", "o")];
    let launcher = HostLauncher::new(ours.map(|(name, value)| (name.into(), value.into())));
    let program = Program {
        command: ["sh", "-c", "env | sort; read line; echo $line; sleep 300"].map(Into::into).into(),
        names: vec!["TOKEN".to_owned(), "OPENAI_API_KEY".to_owned()],
        variables: vec![("GIVEN".into(), "g".into()), ("TOLLGATE_X".into(), "x".into())],
        ..Program::default()
    };
    let mut started = launcher.start(program).await.unwrap();
    started.stdin.write_all(b"over\n").await.unwrap();
    let mut said = String::new();
    while !said.contains("over") {
        let mut piece = [0; 1024];
        let length = started.stdout.read(&mut piece).await.unwrap();
        assert_ne!(length, 0, "{said}");
        said.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    assert!(said.contains("GIVEN=g\n") && said.contains("TOKEN=t\n"), "{said}");
    assert!(!said.contains("OPENAI") && !said.contains("TOLLGATE") && !said.contains("OTHER"), "{said}");
    let id = started.process.id().to_string();
    started.process.stop().await;
    assert!(gone(&id).await);
    assert!(launcher.start(Program::default()).await.is_err());
}
