//! The program as a gateway, `tollgate serve` with a server behind it: how much memory it holds.
//!
//! It is the release build beside this one (`cargo build --release -p tollgate-cli`).

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;

use super::load::call;
use crate::{
    run::program,
    table::{Measure, Row, wanted},
};

const MIB: u32 = 1024;
const CLIENTS: usize = 1_000;

/// An idle gateway, then the same with a thousand sessions, each on a connection that stays open.
pub(super) fn rows() -> Vec<Row> {
    if !wanted("mcp: memory") {
        return Vec::new();
    }
    let Some(program) = program() else {
        println!(
            "mcp: memory skipped: there is no release build of the program (cargo build --release -p tollgate-cli)"
        );
        return Vec::new();
    };
    raise_files();
    let gateway = Serving::start(&program);
    // One call, so that all it needs is there: the server behind it, the store.
    let mut client = gateway.connect();
    gateway.ask(
        &mut client,
        &[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "up__add")],
        &call(1, "up__add", true),
    );
    drop(client);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let idle = gateway.resident();
    let clients: Vec<TcpStream> = (0..CLIENTS).map(|_| gateway.session()).collect();
    let crowded = gateway.resident();
    assert_eq!(clients.len(), CLIENTS);
    vec![
        Row::ratio(
            "mcp: memory, idle gateway",
            "20 MiB, what is allowed",
            Measure::Kibibytes(20 * MIB),
            idle,
            Some(1.0),
        ),
        Row::ratio(
            "mcp: memory, 1,000 idle clients",
            "300 MiB, what is allowed",
            Measure::Kibibytes(300 * MIB),
            crowded,
            Some(1.0),
        ),
    ]
}

/// A thousand connections take a thousand files, here and there.
fn raise_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

struct Serving {
    process: std::process::Child,
    port: u16,
    _home: tempfile::TempDir,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Serving {
    #[expect(clippy::disallowed_methods, reason = "the program is what is measured")]
    fn start(program: &Path) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join(".config/tollgate");
        std::fs::create_dir_all(&folder).expect("a folder");
        let upstream = std::env::current_exe().expect("this program");
        let config = format!(
            "[mcp.servers.up]\ncommand = {:?}\nargs = [{:?}, \"rmcp-stdio\"]\ntrust = true\n",
            upstream.to_string_lossy(),
            super::SERVER
        );
        std::fs::write(folder.join("tollgate.toml"), config).expect("a file");
        let mut process = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut said = BufReader::new(process.stderr.take().expect("stderr")).lines();
        let port = said.find_map(|line| {
            let line = line.expect("words");
            line.split_once("at http://127.0.0.1:")?.1.split('/').next()?.parse().ok()
        });
        Self { process, port: port.expect("an address"), _home: home }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("a connection")
    }

    /// A client that introduced itself and then says nothing.
    fn session(&self) -> TcpStream {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
            "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
        let mut client = self.connect();
        self.ask(&mut client, &[], &hello.to_string());
        client
    }

    /// Posts one message and reads its whole answer.
    fn ask(&self, client: &mut TcpStream, headers: &[(&str, &str)], body: &str) {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{}\r\ncontent-type: application/json\r\naccept: application/json, \
             text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        client.write_all(request.as_bytes()).expect("a server that reads");
        let mut reader = BufReader::new(client);
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).expect("an answer") > 0, "it hung up");
            assert!(!line.starts_with("HTTP/") || line.starts_with("HTTP/1.1 200"), "{line}");
            if let Some(told) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = told.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("an answer");
        let answer: serde_json::Value = serde_json::from_slice(&answer).expect("JSON");
        assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
    }

    fn resident(&self) -> Measure {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        Measure::Kibibytes(line.trim().trim_end_matches("kB").trim().parse().expect("a number"))
    }
}
