//! `tollgate run` as a person has it: how soon the model is asked, and how soon its first word is on screen.
//!
//! The program is the release build beside this one (`cargo build --release -p tollgate-cli`), on a pseudo-terminal, asked
//! to talk to a server of ours on loopback.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::table::{Row, wanted};

const ROUNDS: usize = 20;

/// What the issue allows.
const START: Duration = Duration::from_millis(30);
const FIRST_BYTE: Duration = Duration::from_millis(2);

pub(crate) fn rows() -> Vec<Row> {
    if !wanted("run: ") {
        return Vec::new();
    }
    let Some(program) = program() else {
        println!(
            "run: skipped: there is no release build of the program (cargo build --release -p tollgate-cli)"
        );
        return Vec::new();
    };
    let (mut version, mut start, mut floor, mut first) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        version.push(bare(&program));
        floor.push(copied());
        let (asked, shown) = one(&program);
        start.push(asked);
        first.push(shown);
    }
    let (version, start, floor, first) = (median(version), median(start), median(floor), median(first));
    vec![
        Row::ratio("run: start to first request", "`tollgate --version`", version, start, None),
        Row::ratio("run: start to first request", "30 ms, what is allowed", START, start, Some(1.0)),
        Row::ratio("run: first byte arrived to on screen", "socket to pty, bare", floor, first, None),
        Row::ratio(
            "run: first byte arrived to on screen",
            "2 ms, what is allowed",
            FIRST_BYTE,
            first,
            Some(1.0),
        ),
    ]
}

/// The release build of the program, where there is one.
pub(crate) fn program() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?.parent()?.join("tollgate");
    beside.is_file().then_some(beside)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "the program is what is measured")]
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

fn bare(program: &Path) -> Duration {
    let began = Instant::now();
    let _ = command(program).arg("--version").stdout(Stdio::null()).status();
    began.elapsed()
}

/// A pseudo-terminal: our end, and the other as a file.
fn terminal() -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("a terminal");
    unlockpt(&ours).expect("a terminal");
    let name = ptsname(&ours, Vec::new()).expect("its name").into_string().expect("text");
    (File::from(ours), File::options().read(true).write(true).open(name).expect("its other end"))
}

/// When the mark is seen at our end.
fn watch(mut ours: File) -> mpsc::Receiver<Instant> {
    let (tell, seen) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
        let mut told = false;
        while let Ok(length @ 1..) = ours.read(&mut bytes) {
            all.extend_from_slice(&bytes[..length]);
            if !told && all.windows(MARK.len()).any(|window| window == MARK.as_bytes()) {
                told = tell.send(Instant::now()).is_ok();
            }
        }
    });
    seen
}

const MARK: &str = "MARKED";

/// What nothing could be quicker than: a thread that copies what arrives to a terminal.
fn copied() -> Duration {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut from = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    let (mut to, _) = listener.accept().expect("a connection");
    to.set_nodelay(true).expect("no delay");
    let (ours, mut theirs) = terminal();
    let seen = watch(ours);
    let copy = std::thread::spawn(move || {
        let mut bytes = [0; 64];
        let length = from.read(&mut bytes).expect("bytes");
        theirs.write_all(&bytes[..length]).expect("written");
        theirs
    });
    std::thread::sleep(Duration::from_millis(2));
    let sent = Instant::now();
    to.write_all(MARK.as_bytes()).expect("sent");
    let shown = seen.recv_timeout(Duration::from_secs(5)).expect("shown") - sent;
    drop(copy.join());
    shown
}

/// One run: from its start to its request, and from a word's sending to its being on screen.
fn one(program: &Path) -> (Duration, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let home = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = terminal();
    let seen = watch(ours);
    let began = Instant::now();
    let mut child = command(program)
        .args(["run", "hello", "--model", "anthropic:bench"])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("TERM", "xterm")
        .env("ANTHROPIC_API_KEY", "none")
        .env("ANTHROPIC_BASE_URL", format!("http://{address}"))
        .stdin(Stdio::null())
        .stdout(theirs.try_clone().expect("the terminal"))
        .stderr(theirs)
        .spawn()
        .expect("the program");
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    request(&stream);
    let asked = began.elapsed();
    let mut say = |text: &str| stream.write_all(text.as_bytes()).expect("sent");
    say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
    say(BEGIN);
    std::thread::sleep(Duration::from_millis(30));
    let sent = Instant::now();
    say(DELTA);
    let shown = seen.recv_timeout(Duration::from_secs(5)).expect("shown") - sent;
    say(END);
    drop(stream);
    let _ = child.wait();
    (asked, shown)
}

/// Reads a request to its end.
fn request(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a line");
        if line.trim().is_empty() {
            break;
        }
        if let Some(given) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = given.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body");
}

const BEGIN: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\
    \"role\":\"assistant\",\"model\":\"bench\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\
    \"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n\
    event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\
    \"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n";
const DELTA: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
    \"delta\":{\"type\":\"text_delta\",\"text\":\"MARKED\"}}\n\n";
const END: &str = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n\
    event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\
    \"stop_sequence\":null},\"usage\":{\"output_tokens\":2}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
