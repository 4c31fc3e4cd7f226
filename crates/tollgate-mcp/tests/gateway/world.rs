//! A gateway on a gate of scripted tools, and clients for both transports.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_util::sync::CancellationToken;
use tollgate::{
    Effects, Output, Registry, Scope, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    outcome::FolderResults,
    policy::Rules,
    tool::{ResultLimit, Route, ToolBuilder},
};
use tollgate_mcp::gateway::{
    Asking, Gateway, Identity, Settings,
    http::{Auth, HttpSettings},
};

/// What bodies were run with, in order.
pub(crate) type Ran = Arc<Mutex<Vec<String>>>;

/// A gateway, its runtime, and what its tools did.
pub(crate) struct World {
    pub(crate) gateway: Gateway,
    pub(crate) runtime: Runtime,
    pub(crate) ran: Ran,
    _results: tempfile::TempDir,
}

/// The usual tools: one that is free to run, one that asks, one that is denied for some arguments, one that says much,
/// one that waits.
pub(crate) fn usual(ran: &Ran) -> Registry {
    let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let tool = |name: &str, effects: Effects| {
        let ran = ran.clone();
        let label = name.to_owned();
        ToolBuilder::new(name, format!("The tool {name}."), text.clone()).unwrap().always(effects).run(
            move |_, args| {
                ran.lock().unwrap().push(format!("{label} {}", args["text"].as_str().unwrap_or_default()));
                let said = format!("said: {}", args["text"].as_str().unwrap_or_default());
                Box::pin(async move { Ok(Output::text(said)) })
            },
        )
    };
    let long =
        ToolBuilder::new("long", "Says much.", json!({"type": "object"})).unwrap().always(Effects::reading());
    let long = long.spec(|spec| spec.max_result = ResultLimit::Chars(500)).run(|_, _| {
        Box::pin(async {
            Ok(Output::text((0..500).map(|line| format!("line {line}\n")).collect::<String>()))
        })
    });
    let sum = json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
    let add = ToolBuilder::new(
        "add",
        "Adds.",
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}),
    )
    .unwrap()
    .always(Effects::reading())
    .spec(|spec| spec.output_schema = Some(sum))
    .run(|_, args| {
        let sum = args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0);
        Box::pin(async move { Ok(Output::json(json!({"sum": sum}))) })
    });
    let told = ran.clone();
    let waits = ToolBuilder::new("waits", "Waits until it is stopped.", json!({"type": "object"}))
        .unwrap()
        .always(Effects::reading())
        .run(move |cx, _| {
            let told = told.clone();
            Box::pin(async move {
                cx.progress(0.25, "waiting");
                told.lock().unwrap().push("waits began".into());
                cx.cancelled().await;
                told.lock().unwrap().push("waits stopped".into());
                Ok(Output::text("stopped"))
            })
        });
    let registry = Registry::new()
        .with(tool("echo", Effects::reading()))
        .and_then(|all| all.with(tool("change", Effects::writing())))
        .and_then(|all| all.with(tool("destroy", Effects::writing().destructive())))
        .and_then(|all| all.with(long))
        .and_then(|all| all.with(add))
        .and_then(|all| all.with(waits))
        .unwrap();
    registry.with_route(Route::new("reading"), vec!["echo".into(), "long".into()])
}

pub(crate) fn rules() -> Rules {
    let rules =
        Rules::new().allow("echo").and_then(|rules| rules.allow("long")).and_then(|rules| rules.allow("add"));
    let rules = rules.and_then(|rules| rules.allow("waits")).and_then(|rules| rules.ask("change")).unwrap();
    rules.deny("echo(text=secret*)").and_then(|rules| rules.deny("destroy(text=*)")).unwrap()
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(usual, rules(), Asking::new().by_elicitation(), Settings::default())
    }

    pub(crate) fn with(
        tools: impl FnOnce(&Ran) -> Registry,
        rules: Rules,
        asking: Asking,
        settings: Settings,
    ) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let ran = Ran::default();
        let results = tempfile::tempdir().unwrap();
        let gateway = {
            let _inside = runtime.enter();
            let spawner = Arc::new(TokioSpawner::current().unwrap());
            let gate = Tollgate::builder(tools(&ran))
                .policy(rules)
                .approver(asking.clone())
                .results(FolderResults::new(results.path(), spawner))
                .build();
            let scope = Scope::new(Run::new("unused"), Workspace::new("/work"));
            Gateway::new(gate, scope, asking, settings)
        };
        Self { gateway, runtime, ran, _results: results }
    }

    pub(crate) fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }

    /// A client at two pipes.
    pub(crate) fn pipe(&self) -> PipeClient {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (gateway, handle) = (self.gateway.clone(), self.runtime.handle().clone());
        let thread = std::thread::spawn(move || {
            let input = theirs.try_clone().unwrap();
            gateway.stdio(Identity::new("piped", None), input, theirs, &handle).unwrap();
        });
        ours.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        PipeClient { lines: BufReader::new(ours.try_clone().unwrap()), ours, thread: Some(thread) }
    }

    /// The gateway at an address of this machine.
    pub(crate) fn serve(&self, settings: HttpSettings) -> Address {
        let over = CancellationToken::new();
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (gateway, stop) = (self.gateway.clone(), over.clone());
        self.runtime.spawn(async move { gateway.http(listener, settings, stop).await });
        Address { address, over }
    }

    pub(crate) fn open(&self) -> Address {
        self.serve(HttpSettings::new(Auth::Open(Identity::new("web", None))))
    }
}

/// Where a gateway listens, until this is dropped.
pub(crate) struct Address {
    pub(crate) address: SocketAddr,
    pub(crate) over: CancellationToken,
}

impl Address {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

pub(crate) struct PipeClient {
    ours: UnixStream,
    lines: BufReader<UnixStream>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl PipeClient {
    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.ours.write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// The next message, whatever it is.
    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The answer to this request.
    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.next();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// Begins a session in which the client can do this.
    pub(crate) fn begin(&mut self, capabilities: Value) -> Value {
        let hello = request(
            0,
            "initialize",
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"}}),
        );
        let answer = self.ask(&hello);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Closes our end and waits for the other.
    pub(crate) fn close(mut self) {
        self.ours.shutdown(std::net::Shutdown::Write).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

pub(crate) fn request(id: u32, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn call(id: u32, tool: &str, arguments: Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// The same request as the stateless revision has it.
pub(crate) fn stateless(mut request: Value, capabilities: Value) -> Value {
    request["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    request
}

/// The text of a call's answer.
pub(crate) fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"))
}
