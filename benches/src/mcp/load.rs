//! The load: calls over pipes and over HTTP, and how long they take.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::SERVER;

const LONG: Duration = Duration::from_secs(3);

/// How long a server over HTTP has its turn, with one call in flight and again with 64.
pub(super) const TURN: Duration = Duration::from_millis(400);

/// A server, until this is dropped.
pub(super) struct Child {
    process: std::process::Child,
    pub(super) port: u16,
    pub(super) tool: &'static str,
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark starts what it measures")]
pub(super) fn start(kind: &str) -> std::process::Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args([SERVER, kind])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a server")
}

/// One call of a tool that adds.
pub(super) fn call(id: u64, tool: &str, stateless: bool) -> String {
    let mut params = json!({"name": tool, "arguments": {"a": id, "b": 2}});
    if stateless {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// How long one call takes over pipes, with so many in flight.
pub(super) fn pipe(kind: &str, in_flight: u64) -> Duration {
    let mut process = start(kind);
    let (mut input, output) = (process.stdin.take().expect("stdin"), process.stdout.take().expect("stdout"));
    let mut output = BufReader::with_capacity(1 << 16, output);
    begin(&mut input, &mut output);
    let (mut sent, mut answered, mut out) = (0_u64, 0_u64, String::new());
    // Written once and patched: the load must not be what is measured.
    let template = call(0, "add", false);
    let (before, after) = template.split_once("\"id\":0").expect("an id");
    let push = |out: &mut String, id: u64| {
        use std::fmt::Write as _;
        let _ = writeln!(out, "{before}\"id\":{id}{after}");
    };
    for _ in 0..in_flight {
        sent += 1;
        push(&mut out, sent);
    }
    input.write_all(out.as_bytes()).expect("a server that reads");
    let began = Instant::now();
    let mut bytes = vec![0_u8; 1 << 16];
    while began.elapsed() < LONG {
        let read = output.read(&mut bytes).expect("answers");
        assert!(read > 0, "{kind} ended");
        let lines = memchr::memchr_iter(b'\n', &bytes[..read]).count() as u64;
        answered += lines;
        out.clear();
        for _ in 0..lines {
            sent += 1;
            push(&mut out, sent);
        }
        input.write_all(out.as_bytes()).expect("a server that reads");
    }
    let took = began.elapsed();
    drop(input);
    let _ = process.kill();
    let _ = process.wait();
    took / u32::try_from(answered.max(1)).unwrap_or(u32::MAX)
}

fn begin(input: &mut ChildStdin, output: &mut BufReader<ChildStdout>) {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}});
    writeln!(input, "{hello}").expect("a server that reads");
    let mut line = String::new();
    output.read_line(&mut line).expect("an answer");
    writeln!(input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .expect("a server that reads");
}

/// What a server behind HTTP takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures {
    pub(super) median: Duration,
    pub(super) each: Duration,
}

impl Child {
    /// A server that says which port it listens on.
    pub(super) fn http(kind: &'static str) -> Self {
        let mut process = start(kind);
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("stdout")).read_line(&mut line).expect("a port");
        let tool = match kind {
            "gateway-http" => "up__add",
            "gateway-http-writing" => "up__put",
            _ => "add",
        };
        Self { process, port: line.trim().parse().expect("a port"), tool }
    }

    pub(super) fn load(&self) -> Figures {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut times = calls(self.port, self.tool, TURN).await;
            times.sort_unstable();
            let median = times[times.len() / 2];
            let began = Instant::now();
            let all =
                futures_util::future::join_all((0..64).map(|_| calls(self.port, self.tool, TURN))).await;
            let count: usize = all.iter().map(Vec::len).sum();
            let each = began.elapsed() / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
            Figures { median, each }
        })
    }
}

/// Calls one after the other on one connection; how long each took.
async fn calls(port: u16, tool: &str, long: Duration) -> Vec<Duration> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a connection");
    stream.set_nodelay(true).expect("no delay");
    let body = call(1, tool, true);
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (mut times, mut buffer) = (Vec::new(), Vec::with_capacity(4096));
    let began = Instant::now();
    while began.elapsed() < long {
        let at = Instant::now();
        stream.write_all(request.as_bytes()).await.expect("a server that reads");
        answer(&mut stream, &mut buffer).await;
        times.push(at.elapsed());
    }
    times
}

/// Reads one whole answer, of a known length or in chunks.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) {
    buffer.clear();
    loop {
        let read = stream.read_buf(buffer).await.expect("an answer");
        assert!(read > 0, "the server hung up: {}", String::from_utf8_lossy(buffer));
        let Some(head) = find(buffer, b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&buffer[..head]).to_ascii_lowercase();
        assert!(text.starts_with("http/1.1 200"), "{}", String::from_utf8_lossy(buffer));
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let whole = match length {
            Some(length) => buffer.len() >= head + 4 + length,
            None => buffer.ends_with(b"0\r\n\r\n"),
        };
        if whole {
            return;
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
