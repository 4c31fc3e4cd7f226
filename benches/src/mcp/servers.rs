//! What is measured: a bare server, a bare forwarder, and the gateway with all that it does.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
    routing::post,
    serve::ListenerExt as _,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
    transport::{
        io::stdio_pipes,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::{mpsc, oneshot},
};
use tollgate::{
    Effects, Output, Registry, Scope, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    outcome::FolderResults,
    policy::Rules,
    tool::ToolBuilder,
};
use tollgate_mcp::{
    Upstreams, Wanted, Wiring,
    gateway::{
        Asking, Gateway, Identity, Settings,
        http::{Auth, HttpSettings},
    },
};
use tollgate_store::{LazyStore, Place};
use tollgate_tools::process::HostLauncher;

/// Is the server that was asked for, until whoever asked is gone.
pub(crate) fn serve(kind: &str) {
    match kind {
        "gateway-stdio" => return gateway_stdio(),
        "plain" => return plain(),
        "plain-slow" => {
            std::thread::sleep(super::connect::SLOW);
            return plain();
        }
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match kind {
            "rmcp-stdio" => {
                let running = Bare.serve(stdio_pipes()).await.expect("a client");
                let _ = running.waiting().await;
            }
            "rmcp-http" => {
                let config = StreamableHttpServerConfig::default()
                    .with_legacy_session_mode(false)
                    .with_json_response(true);
                let service =
                    StreamableHttpService::new(|| Ok(Bare), Arc::new(LocalSessionManager::default()), config);
                listen(Router::new().route_service("/mcp", service)).await;
            }
            "forwarder-http" => forwarder().await,
            "gateway-http" | "gateway-http-writing" => gateway_http().await,
            kind => unreachable!("no server {kind}"),
        }
    });
}

/// A server that costs next to nothing to start: lines in, lines out, on one thread.
fn plain() {
    use std::io::{BufRead as _, Write as _};
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.expect("a client")).expect("a message");
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "plain", "version": "1"}}),
            Some("tools/list") => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
            _ => Value::Null,
        };
        let answer = match (&message["id"], result) {
            (Value::Null, _) => continue,
            (id, Value::Null) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not known here"}})
            }
            (id, result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("a client");
    }
}

/// A server with one tool and nothing else.
#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
        let Value::Object(schema) = schema else { unreachable!("an object") };
        let reads = ToolAnnotations::from_raw(None, Some(true), Some(false), Some(true), Some(false));
        let writes = ToolAnnotations::from_raw(None, Some(false), Some(false), Some(false), Some(false));
        let mut add = Tool::new("add", "Adds.", schema.clone());
        add.annotations = Some(reads);
        let mut put = Tool::new("put", "Puts.", schema);
        put.annotations = Some(writes);
        Ok(ListToolsResult::with_all_items(vec![add, put]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let number =
            |key: &str| request.arguments.as_ref().and_then(|all| all.get(key)?.as_i64()).unwrap_or(0);
        let sum = number("a") + number("b");
        Ok(CallToolResult::success(vec![ContentBlock::text(sum.to_string())]).into())
    }
}

async fn listen(router: Router) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("no delay"));
    axum::serve(listener, router).await.expect("serving");
}

/// HTTP in, pipes out, the id rewritten, nothing else.
struct Forwarder {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Vec<u8>>>>,
    next: AtomicU64,
}

async fn forwarder() {
    let mut child = tokio::process::Command::from(upstream()).spawn().expect("a server");
    let (mut input, output) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
    let (lines, mut to_write) = mpsc::unbounded_channel::<Vec<u8>>();
    let forwarder = Arc::new(Forwarder { lines, waiting: Mutex::default(), next: AtomicU64::new(1) });
    tokio::spawn(async move {
        while let Some(mut line) = to_write.recv().await {
            while let Ok(more) = to_write.try_recv() {
                line.extend_from_slice(&more);
            }
            input.write_all(&line).await.expect("a server that reads");
        }
    });
    let answers = forwarder.clone();
    tokio::spawn(async move {
        let mut lines = BufReader::with_capacity(1 << 16, output).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            #[derive(serde::Deserialize)]
            struct Answered {
                id: u64,
            }
            let Ok(Answered { id }) = serde_json::from_str(&line) else { continue };
            let waiting = answers.waiting.lock().expect("a lock").remove(&id);
            waiting.map(|waiting| waiting.send(line.into_bytes()));
        }
    });
    listen(Router::new().route("/mcp", post(forward)).with_state(forwarder)).await;
}

async fn forward(State(forwarder): State<Arc<Forwarder>>, body: Bytes) -> impl IntoResponse {
    #[derive(serde::Deserialize, serde::Serialize)]
    struct Message<'a> {
        jsonrpc: &'a str,
        #[serde(borrow)]
        id: &'a RawValue,
        method: &'a str,
        #[serde(borrow)]
        params: &'a RawValue,
    }
    #[derive(serde::Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: &'a RawValue,
    }
    let Ok(message) = serde_json::from_slice::<Message<'_>>(&body) else {
        return (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], Vec::new());
    };
    let id = forwarder.next.fetch_add(1, Ordering::Relaxed);
    let own = RawValue::from_string(id.to_string()).expect("a number");
    let mut line = serde_json::to_vec(&Message { id: &own, ..message }).expect("a message");
    line.push(b'\n');
    let (send, answer) = oneshot::channel();
    forwarder.waiting.lock().expect("a lock").insert(id, send);
    let _ = forwarder.lines.send(line);
    let answer = answer.await.expect("an answer");
    // The client's own id again.
    let Answer { result } = serde_json::from_slice(&answer).expect("a result");
    let body = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, message.id, result).into_bytes();
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body)
}

#[expect(clippy::disallowed_methods, reason = "the forwarder starts what is behind it, as the gateway does")]
fn upstream() -> std::process::Command {
    use std::process::{Command, Stdio};
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([super::SERVER, "rmcp-stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn gateway(registry: Registry, rules: Rules, folder: &std::path::Path) -> (Gateway, tollgate_store::Watch) {
    let store = LazyStore::new(Place::folder(folder));
    let spawner = Arc::new(TokioSpawner::current().expect("a runtime"));
    let asking = Asking::new().by_elicitation();
    let gate = Tollgate::builder(registry)
        .policy(rules)
        .approver(asking.clone())
        .ledger(store.clone())
        .results(FolderResults::new(folder.join("results"), spawner))
        .build();
    let watch = store.watch(&gate);
    let scope = Scope::new(Run::new("bench"), Workspace::new("/"));
    (Gateway::new(gate, scope, asking, Settings::default()), watch)
}

async fn gateway_http() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = tollgate_mcp::config::ServerName::new("up").expect("a name");
    let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    let mut config =
        tollgate_mcp::ServerConfig::stdio(name, program, [super::SERVER.to_owned(), "rmcp-stdio".to_owned()]);
    config.trust = true;
    let upstreams = Upstreams::new([config], Wiring::new(Arc::new(HostLauncher::new(std::env::vars_os()))));
    upstreams.connect(Wanted::All).await;
    let registry = upstreams.register(Registry::new()).registry;
    let rules = Rules::new().allow("@up/put").expect("a rule");
    let (gateway, _watch) = gateway(registry, rules, folder.path());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address").port());
    let settings = HttpSettings::new(Auth::Open(Identity::new("bench", None)));
    let over = tokio_util::sync::CancellationToken::new();
    gateway.http(listener, settings, over).await.expect("serving");
    upstreams.close().await;
}

fn gateway_stdio() {
    use std::os::fd::AsFd as _;
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
    let add = ToolBuilder::new("add", "Adds.", schema).expect("a name").always(Effects::reading());
    let add = add.spec(|spec| spec.inline = true).run(|_, args| {
        let sum = args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0);
        Box::pin(async move { Ok(Output::text(sum.to_string())) })
    });
    let (gateway, _watch) = {
        let _inside = runtime.enter();
        let registry = Registry::new().with(add).expect("a tool");
        gateway(registry, Rules::new().allow("add").expect("a rule"), folder.path())
    };
    let own =
        |end: std::os::fd::BorrowedFd<'_>| std::fs::File::from(end.try_clone_to_owned().expect("an end"));
    let (input, output) = (own(std::io::stdin().as_fd()), own(std::io::stdout().as_fd()));
    gateway.stdio(Identity::new("bench", None), input, output, runtime.handle()).expect("a client");
}
