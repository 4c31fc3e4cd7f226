//! The load of a real client: the SDK's own, over HTTP, as an agent program has it.
//!
//! What it does between two calls is part of what a person waits for, and the same before a gateway and before none.

use std::{
    sync::Once,
    time::{Duration, Instant},
};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, RoleClient,
    model::{CallToolRequestParams, ProtocolVersion},
    service::RunningService,
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, json};

use super::load::{Figures, TURN};

const MOST: usize = 64;

/// What the server at this port takes, one call in flight and 64.
pub(super) fn load(port: u16, tool: &'static str) -> Figures {
    static TLS: Once = Once::new();
    // The client wants one even where it speaks plain HTTP.
    TLS.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = connect(port).await;
        let mut times = calls(&client, tool).await;
        times.sort_unstable();
        let median = times[times.len() / 2];
        let began = Instant::now();
        let all = futures_util::future::join_all((0..MOST).map(|_| calls(&client, tool))).await;
        let count: usize = all.iter().map(Vec::len).sum();
        let each = began.elapsed() / u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        let _ = client.cancel().await;
        Figures { median, each }
    })
}

async fn connect(port: u16) -> RunningService<RoleClient, ()> {
    let config = StreamableHttpClientTransportConfig::with_uri(format!("http://127.0.0.1:{port}/mcp"))
        .max_concurrent_requests(MOST);
    let lifecycle = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    ().serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle)
        .await
        .expect("a server")
}

async fn calls(client: &RunningService<RoleClient, ()>, tool: &'static str) -> Vec<Duration> {
    let Value::Object(arguments) = json!({"a": 1, "b": 2}) else { unreachable!("an object") };
    let mut times = Vec::new();
    let began = Instant::now();
    while began.elapsed() < TURN {
        let at = Instant::now();
        let call = CallToolRequestParams::new(tool).with_arguments(arguments.clone());
        let answer = client.call_tool(call).await.expect("an answer");
        assert_ne!(answer.is_error, Some(true), "{answer:?}");
        times.push(at.elapsed());
    }
    times
}
