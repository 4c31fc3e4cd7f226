//! Servers that are scripts, started by a launcher that starts no process: each test says what the server answers.
#![allow(dead_code, reason = "each test file uses its part")]

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tollgate::{
    BoxFuture, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Workspace},
    launch::{Launcher, Process, Program, Started},
    policy::Rules,
};
use tollgate_mcp::{
    ServerConfig, Upstreams, Wanted, Wiring,
    bridge::PinStore,
    config::{Generation, ServerName},
};

/// What a server does with one message: lines to say, or its end.
#[derive(Debug, Clone)]
pub(crate) enum Does {
    Says(Vec<String>),
    Ends(i32),
}

/// A script: the message that came, and how many came before it on this connection.
pub(crate) type Script = Arc<dyn Fn(&Value) -> Does + Send + Sync>;

/// Starts scripts in the place of programs; counts how often.
#[derive(Clone)]
pub(crate) struct Scripts {
    script: Script,
    pub(crate) starts: Arc<AtomicU32>,
}

impl Scripts {
    pub(crate) fn new(script: impl Fn(&Value) -> Does + Send + Sync + 'static) -> Self {
        Self { script: Arc::new(script), starts: Arc::default() }
    }
}

struct Playing {
    ended: tokio::sync::watch::Receiver<Option<i32>>,
    task: tokio::task::JoinHandle<()>,
}

impl Process for Playing {
    fn id(&self) -> u32 {
        0
    }

    fn ended(&mut self) -> BoxFuture<'_, Option<i32>> {
        Box::pin(async { self.ended.wait_for(Option::is_some).await.ok().and_then(|code| *code) })
    }

    fn stop(&mut self) -> BoxFuture<'_, ()> {
        self.task.abort();
        Box::pin(async {})
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Launcher for Scripts {
    fn start(&self, _: Program) -> BoxFuture<'_, io::Result<Started>> {
        self.starts.fetch_add(1, Ordering::SeqCst);
        let script = self.script.clone();
        Box::pin(async move {
            let (stdin, their_stdin) = tokio::io::duplex(1 << 20);
            let (stdout, their_stdout) = tokio::io::duplex(1 << 20);
            let (stderr, _) = tokio::io::duplex(64);
            let (end, ended) = tokio::sync::watch::channel(None);
            let task = tokio::spawn(async move {
                let code = play(script, their_stdin, their_stdout).await;
                end.send_replace(Some(code));
            });
            Ok(Started {
                stdin: Box::new(stdin),
                stdout: Box::new(stdout),
                stderr: Box::new(stderr),
                process: Box::new(Playing { ended, task }),
            })
        })
    }
}

async fn play(script: Script, stdin: DuplexStream, mut stdout: DuplexStream) -> i32 {
    let mut lines = BufReader::new(stdin).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("we send JSON");
        match script(&message) {
            Does::Says(said) => {
                for line in said {
                    if stdout.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                        return 0;
                    }
                }
            }
            Does::Ends(code) => return code,
        }
    }
    0
}

/// An answer to a message.
pub(crate) fn answer(to: &Value, result: Value) -> Does {
    Does::Says(vec![json!({"jsonrpc": "2.0", "id": to["id"], "result": result}).to_string()])
}

pub(crate) fn refuse(to: &Value) -> Does {
    let error = json!({"code": -32601, "message": "no such method"});
    Does::Says(vec![json!({"jsonrpc": "2.0", "id": to["id"], "error": error}).to_string()])
}

/// One tool that looks something up.
pub(crate) fn lookup(description: &str) -> Value {
    json!({"name": "lookup", "description": description, "inputSchema": {"type": "object",
        "properties": {"q": {"type": "string"}}, "required": ["q"]}})
}

/// A legacy server with this list of tools, and `call` for its calls.
pub(crate) fn server(tools: Value, call: impl Fn(&Value) -> Does + Send + Sync + 'static) -> Scripts {
    Scripts::new(move |message| match message["method"].as_str() {
        Some("initialize") => answer(
            message,
            json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"},
            "capabilities": {"tools": {"listChanged": true}}}),
        ),
        Some("tools/list") => answer(message, json!({"tools": tools})),
        Some("tools/call") => call(message),
        Some(method) if method.starts_with("notifications/") => Does::Says(Vec::new()),
        _ => refuse(message),
    })
}

pub(crate) fn says(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(crate) fn config(name: &str) -> ServerConfig {
    let mut config = ServerConfig::stdio(ServerName::new(name).unwrap(), "scripted", []);
    config.generation = Generation::Auto;
    config
}

/// A gate over one scripted server, everything allowed.
pub(crate) struct World {
    pub(crate) upstreams: Upstreams,
    pub(crate) gate: Tollgate,
    pub(crate) base: Registry,
    pub(crate) aside: Vec<(String, String)>,
}

impl World {
    pub(crate) async fn of(config: ServerConfig, scripts: &Scripts) -> Self {
        Self::pinned(config, scripts, None).await
    }

    pub(crate) async fn pinned(config: ServerConfig, scripts: &Scripts, pins: Option<PinStore>) -> Self {
        let mut wiring = Wiring::new(Arc::new(scripts.clone()));
        wiring.pins = pins;
        Self::wired(config, wiring).await
    }

    pub(crate) async fn wired(config: ServerConfig, wiring: Wiring) -> Self {
        let upstreams = Upstreams::new([config], &wiring);
        upstreams.connect(Wanted::All).await;
        let registered = upstreams.register(Registry::new());
        let aside =
            registered.set_aside.iter().map(|aside| (aside.tool.clone(), aside.why.clone())).collect();
        let policy = Rules::new().allow("*").unwrap();
        let gate = Tollgate::builder(registered.registry).policy(policy).build();
        Self { upstreams, gate, base: Registry::new(), aside }
    }

    pub(crate) fn refresh(&self) {
        self.upstreams.apply(&self.gate, &self.base);
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> Settled {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let run = Run::new(format!("run-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let scope = Arc::new(Scope::new(run, Workspace::new("/work")));
        self.gate.call(&scope, Proposed::new("c1", tool, &args)).await
    }

    pub(crate) fn offered(&self) -> Vec<String> {
        self.gate.snapshot().reachable(None).map(|(label, _)| label.to_string()).collect()
    }
}
