//! The client side as the public conformance suite runs it: given an address, it connects, lists and calls every tool.
//!
//! ```text
//! npx @modelcontextprotocol/conformance client --scenario tools_call --command target/debug/examples/conformance_client
//! ```
//! `docs/mcp.md` says which scenarios pass.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tollgate::{
    BoxFuture, Proposed, Registry, Scope, Tollgate,
    guard::{Run, Workspace},
    launch::{Launcher, Program, Started},
    policy::Rules,
};
use tollgate_mcp::{
    ServerConfig, Upstreams, Wanted, Wiring,
    bridge::Health,
    client::{Elicitation, ElicitationAnswer, Elicitor},
    config::{Endpoint, OAuth, ServerName},
};

/// The address that describes this client, for issuers that look there.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// Where a browser would come back to.
const REDIRECT: &str = "http://localhost:3000/callback";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().next_back().ok_or("an address is needed")?;
    let mut config = ServerConfig::http(ServerName::new("suite")?, url);
    config.timeouts.start = Duration::from_secs(20);
    if let Endpoint::Http { oauth, .. } = &mut config.endpoint {
        *oauth = given();
    }
    let mut wiring = Wiring::new(Arc::new(Nothing));
    wiring.elicitor = Arc::new(Defaults);
    wiring.roots = vec![PathBuf::from("/")];
    let upstreams = Upstreams::new([config], &wiring);
    upstreams.connect(Wanted::All).await;
    if upstreams.status()[0].health != Health::Ready
        && upstreams.status()[0].health.reason().is_some_and(|why| why.contains("login"))
    {
        log_in(&upstreams).await?;
        upstreams.connect(Wanted::All).await;
    }
    let status = &upstreams.status()[0];
    if status.health != Health::Ready {
        return Err(format!("not connected: {:?}", status.health).into());
    }
    let gate = Tollgate::builder(upstreams.register(Registry::new()).registry)
        .policy(Rules::new().allow("*")?)
        .build();
    let scope = Arc::new(Scope::new(Run::new("conformance"), Workspace::new("/")));
    let snapshot = gate.snapshot();
    let each = snapshot
        .reachable(None)
        .map(|(label, spec)| (label.to_string(), example_of(&json!(spec.input_schema))));
    let calls = wanted_calls().unwrap_or_else(|| each.collect());
    for (at, (label, args)) in calls.iter().enumerate() {
        let mut settled = gate.call(&scope, Proposed::new(format!("call-{at}"), label, args)).await;
        // A right that is asked for during a call is got by another login.
        if settled
            .failure()
            .is_some_and(|failure| failure.hint.as_deref().is_some_and(|hint| hint.contains("log in")))
        {
            log_in(&upstreams).await?;
            settled = gate.call(&scope, Proposed::new(format!("again-{at}"), label, args)).await;
        }
        println!("{label}: {settled:?}");
    }
    upstreams.close().await;
    Ok(())
}

/// What the suite tells its clients.
fn context() -> Value {
    #[expect(clippy::disallowed_methods, reason = "the suite speaks to its clients this way")]
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&context).unwrap_or_default()
}

/// The calls the suite wants to see, where it names them.
fn wanted_calls() -> Option<Vec<(String, Value)>> {
    let context = context();
    let calls = context.get("toolCalls")?.as_array()?.iter();
    let call = |call: &Value| {
        Some((format!("suite__{}", call.get("name")?.as_str()?), call.get("arguments")?.clone()))
    };
    Some(calls.filter_map(call).collect())
}

/// What the suite says was set up at the issuer beforehand.
fn given() -> Option<OAuth> {
    let context = context();
    let client_id = context.get("client_id").and_then(Value::as_str).unwrap_or(DOCUMENT).to_owned();
    Some(OAuth {
        client_id: Some(client_id),
        client_secret: context.get("client_secret").and_then(Value::as_str).map(str::to_owned),
        scopes: Vec::new(),
    })
}

/// Does what a person does in a browser: goes to the address, and comes back with what it sends back.
async fn log_in(upstreams: &Upstreams) -> Result<(), Box<dyn std::error::Error>> {
    let login = upstreams.login("suite").ok_or("no login")?;
    let authorization = login.begin(REDIRECT).await?;
    let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
    let sent = browser.get(&authorization.url).send().await?;
    let back = sent
        .headers()
        .get("location")
        .and_then(|value| value.to_str().ok())
        .ok_or("the issuer sent nobody back")?;
    let query = back.split_once('?').map_or("", |(_, query)| query).to_owned();
    Ok(login.finish(authorization, &query).await?)
}

/// Arguments that fit a schema of the suite's.
fn example_of(schema: &Value) -> Value {
    let mut args = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let value = match property.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => example_of(property),
            _ => json!("example"),
        };
        args.insert(name.clone(), value);
    }
    Value::Object(args)
}

/// Answers every question with the defaults it names.
struct Defaults;

impl Elicitor for Defaults {
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, ElicitationAnswer> {
        let schema = question.schema.unwrap_or_default();
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let content: Map<_, _> = properties
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
            .collect();
        Box::pin(async { ElicitationAnswer::Accept(Some(Value::Object(content))) })
    }
}

/// Starts no program: the suite's servers are behind HTTP.
struct Nothing;

impl Launcher for Nothing {
    fn start(&self, _: Program) -> BoxFuture<'_, io::Result<Started>> {
        Box::pin(async { Err(io::Error::other("no programs here")) })
    }
}
