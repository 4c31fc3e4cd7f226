//! Servers behind streamable HTTP: both generations, sessions that end, streams that break off, logins.

mod support;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, Method, Response},
};
use serde_json::{Value, json};
use support::{Does, Scripts, World, lookup, says};
use tollgate::outcome::Status;
use tollgate_mcp::{
    ServerConfig, Wiring,
    bridge::Health,
    config::{Generation, ServerName},
};

/// What came in: method, path with query, headers, body.
struct Asked {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Value,
    text: String,
}

impl Asked {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn rpc(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }
}

/// Serves on a free port of this machine; the address.
async fn serve(answer: impl Fn(Asked) -> Response<Body> + Send + Sync + 'static) -> String {
    let answer = Arc::new(answer);
    let router = Router::new().fallback(move |request: Request| {
        let answer = answer.clone();
        async move {
            let (parts, body) = request.into_parts();
            let bytes: Bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let path = parts.uri.path_and_query().unwrap().to_string();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            answer(Asked { method: parts.method, path, headers: parts.headers, body, text })
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn json_answer(asked: &Asked, result: Value) -> Response<Body> {
    let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}).to_string();
    Response::builder().header("content-type", "application/json").body(body.into()).unwrap()
}

fn status(code: u16) -> Response<Body> {
    Response::builder().status(code).body(Body::empty()).unwrap()
}

fn stream(text: String) -> Response<Body> {
    Response::builder().header("content-type", "text/event-stream").body(text.into()).unwrap()
}

fn initialized(asked: &Asked, session: &str) -> Response<Body> {
    let mut response =
        json_answer(asked, json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}));
    response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    response
}

fn refused(asked: &Asked) -> Response<Body> {
    let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": -32601, "message": "no"}})
        .to_string();
    Response::builder().status(400).header("content-type", "application/json").body(body.into()).unwrap()
}

fn at(url: &str, generation: Generation) -> ServerConfig {
    let mut config = ServerConfig::http(ServerName::new("web").unwrap(), format!("{url}/mcp"));
    config.generation = generation;
    config.timeouts.start = Duration::from_secs(5);
    config
}

async fn world(config: ServerConfig) -> World {
    World::wired(config, Wiring::new(Arc::new(Scripts::new(|_| Does::Ends(0))))).await
}

#[tokio::test]
async fn a_stateless_server_is_called_with_the_headers_it_is_routed_by() {
    let url = serve(|asked| {
        assert_eq!(asked.header("mcp-method"), asked.rpc(), "{}", asked.body);
        match asked.rpc() {
            "server/discover" => json_answer(
                &asked,
                json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}),
            ),
            "tools/list" => {
                assert_eq!(asked.header("mcp-protocol-version"), "2026-07-28");
                let mut tool = lookup("x");
                tool["inputSchema"]["properties"]["q"]["x-mcp-header"] = json!("Query");
                json_answer(&asked, json!({"tools": [tool]}))
            }
            _ => {
                assert_eq!((asked.header("mcp-name"), asked.header("mcp-param-query")), ("lookup", "a"));
                let answer = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": says("fine")});
                stream(format!(": hello\n\ndata: {answer}\n\n"))
            }
        }
    })
    .await;
    let world = world(at(&url, Generation::Auto)).await;
    let settled = world.call("web__lookup", json!({"q": "a"})).await;
    assert_eq!(settled.status(), Status::Ok, "{settled:?} {:?}", world.upstreams.status());
    assert_eq!(world.upstreams.status()[0].version.as_deref(), Some("2026-07-28"));
}

#[tokio::test]
async fn a_session_the_server_has_forgotten_is_begun_again_once_and_the_call_goes_through() {
    let (begun, called) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (begins, calls) = (begun.clone(), called.clone());
    let url = serve(move |asked| match (asked.method.as_str(), asked.rpc()) {
        ("GET" | "DELETE", _) => status(405),
        (_, "server/discover") => refused(&asked),
        (_, "initialize") => {
            let number = begins.fetch_add(1, Ordering::SeqCst);
            initialized(&asked, &format!("session-{number}"))
        }
        (_, "tools/list") => json_answer(&asked, json!({"tools": [lookup("x")]})),
        (_, "tools/call") if asked.header("mcp-session-id") == "session-0" => status(404),
        (_, "tools/call") => {
            calls.fetch_add(1, Ordering::SeqCst);
            json_answer(&asked, says("fine"))
        }
        _ => status(202),
    })
    .await;
    let world = world(at(&url, Generation::Auto)).await;
    let settled = world.call("web__lookup", json!({"q": "a"})).await;
    assert_eq!(settled.status(), Status::Ok, "{settled:?}");
    assert_eq!((begun.load(Ordering::SeqCst), called.load(Ordering::SeqCst)), (2, 1));
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_taken_up_where_it_was() {
    let resumed = Arc::new(Mutex::new(String::new()));
    let seen = resumed.clone();
    let url = serve(move |asked| match (asked.method.as_str(), asked.rpc()) {
        ("GET", _) if asked.header("last-event-id").is_empty() => status(405),
        ("GET", _) => {
            asked.header("last-event-id").clone_into(&mut seen.lock().unwrap());
            stream(format!("id: 8\ndata: {}\n\n", json!({"jsonrpc": "2.0", "id": 3, "result": says("late")})))
        }
        (_, "initialize") => initialized(&asked, "s"),
        (_, "tools/list") => json_answer(&asked, json!({"tools": [lookup("x")]})),
        (_, "tools/call") => {
            assert_eq!(asked.body["id"], 3);
            stream("id: 7\nretry: 10\ndata:\n\n".to_owned())
        }
        _ => status(202),
    })
    .await;
    let world = world(at(&url, Generation::Legacy)).await;
    let settled = world.call("web__lookup", json!({"q": "a"})).await;
    assert_eq!(settled.status(), Status::Ok, "{settled:?}");
    assert_eq!(*resumed.lock().unwrap(), "7");
}

#[tokio::test]
async fn what_an_http_server_does_wrong_is_one_honest_answer() {
    for (bad, expected) in [
        (500, Status::Unknown),
        (503, Status::RetryableError),
        (429, Status::RetryableError),
        (400, Status::FatalError),
        (202, Status::Unknown),
    ] {
        let url = serve(move |asked| match asked.rpc() {
            "initialize" => initialized(&asked, "s"),
            "tools/list" => json_answer(&asked, json!({"tools": [lookup("x")]})),
            "tools/call" => status(bad),
            _ => status(202),
        })
        .await;
        let world = world(at(&url, Generation::Legacy)).await;
        let settled = world.call("web__lookup", json!({"q": "a"})).await;
        assert_eq!(settled.status(), expected, "{bad}: {settled:?}");
    }
    let nobody = world(at("http://127.0.0.1:9", Generation::Auto)).await;
    let Health::Down { reason, .. } = &nobody.upstreams.status()[0].health else { panic!("it is down") };
    assert!(reason.contains("could not be reached"), "{reason}");
}

#[tokio::test]
async fn a_person_logs_in_once_and_the_token_is_kept_bound_to_its_issuer_and_renewed() {
    let address: Arc<Mutex<String>> = Arc::default();
    let own = address.clone();
    let tokens = Arc::new(AtomicU32::new(0));
    let issued = tokens.clone();
    let url = serve(move |asked| {
        let base = own.lock().unwrap().clone();
        let text = |value: Value| Response::builder().header("content-type", "application/json").body(value.to_string().into()).unwrap();
        match asked.path.split('?').next().unwrap() {
            "/meta" => text(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["mcp"]})),
            "/.well-known/oauth-authorization-server" => text(json!({"issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]})),
            "/register" => text(json!({"client_id": "us"})),
            "/token" => {
                assert!(asked.text.contains("client_id=us") && asked.text.contains("resource="), "{}", asked.text);
                let number = issued.fetch_add(1, Ordering::SeqCst) + 1;
                assert_eq!(asked.text.contains("grant_type=refresh_token"), number > 1, "{}", asked.text);
                text(json!({"access_token": format!("token-{number}"), "refresh_token": "again", "token_type": "bearer", "expires_in": 3600}))
            }
            "/mcp" => {
                // The first token is not good for calls: it must be renewed.
                let token = asked.header("authorization");
                let good = token == "Bearer token-2" || (token == "Bearer token-1" && asked.rpc() != "tools/call");
                match asked.rpc() {
                    _ if !good => {
                        let challenge = format!("Bearer resource_metadata=\"{base}/meta\"");
                        Response::builder().status(401).header("www-authenticate", challenge).body(Body::empty()).unwrap()
                    }
                    "initialize" => initialized(&asked, "s"),
                    "tools/list" => json_answer(&asked, json!({"tools": [lookup("x")]})),
                    "tools/call" => json_answer(&asked, says("fine")),
                    _ => status(202),
                }
            }
            _ => status(404),
        }
    })
    .await;
    address.lock().unwrap().clone_from(&url);
    let folder = tempfile::tempdir().unwrap();
    let wiring = || {
        let mut wiring = Wiring::new(Arc::new(Scripts::new(|_| Does::Ends(0))));
        wiring.logins = Some(folder.path().join("logins"));
        wiring
    };
    let before = World::wired(at(&url, Generation::Legacy), wiring()).await;
    let reason = before.upstreams.status()[0].health.reason().unwrap().to_owned();
    assert!(reason.contains("login"), "{reason}");

    let login = before.upstreams.login("web").unwrap();
    let authorization = login.begin("http://127.0.0.1:1/callback").await.unwrap();
    let sent = reqwest::Url::parse(&authorization.url).unwrap();
    let part = |name: &str| sent.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    assert_eq!((part("scope").as_str(), part("code_challenge_method").as_str()), ("mcp", "S256"));
    let state = part("state");
    let wrong = login.begin("http://127.0.0.1:1/callback").await.unwrap();
    assert!(login.finish(wrong, "code=c&state=other").await.is_err(), "an answer to another login is none");
    let foreign = login.begin("http://127.0.0.1:1/callback").await.unwrap();
    let foreign_state = reqwest::Url::parse(&foreign.url)
        .unwrap()
        .query_pairs()
        .find(|(key, _)| key == "state")
        .unwrap()
        .1
        .into_owned();
    assert!(
        login.finish(foreign, &format!("code=c&state={foreign_state}&iss=https://evil")).await.is_err(),
        "of another issuer"
    );
    login.finish(authorization, &format!("code=c&state={state}")).await.unwrap();

    let after = World::wired(at(&url, Generation::Legacy), wiring()).await;
    let settled = after.call("web__lookup", json!({"q": "a"})).await;
    assert_eq!(settled.status(), Status::Ok, "{settled:?} {:?}", after.upstreams.status());
    assert_eq!(tokens.load(Ordering::SeqCst), 2);
    let file = folder.path().join("logins/web.json");
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(std::fs::read_to_string(&file).unwrap().contains("token-2"));

    // Another address under the same name gets nothing of it.
    let elsewhere = serve(|asked| {
        assert_eq!(asked.header("authorization"), "");
        status(401)
    })
    .await;
    let other = World::wired(at(&elsewhere, Generation::Legacy), wiring()).await;
    assert!(other.upstreams.status()[0].health.reason().is_some());
}
