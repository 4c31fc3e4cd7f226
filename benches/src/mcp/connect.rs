//! Fifty servers, one of them slow: all are there when the slow one is.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tollgate_mcp::{ServerConfig, Upstreams, Wanted, Wiring, bridge::Health, config::ServerName};
use tollgate_tools::process::HostLauncher;

use crate::table::{Row, wanted};

const ROUNDS: usize = 3;
const SERVERS: usize = 50;

/// How long the slow one takes before it says its first word: as those do that an interpreter runs.
pub(super) const SLOW: Duration = Duration::from_millis(1_500);

pub(super) fn rows() -> Vec<Row> {
    let name = "mcp: connect, 50 servers, one of them slow";
    if !wanted(name) {
        return Vec::new();
    }
    let (mut alone, mut all) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        alone = alone.min(connected(1));
        all = all.min(connected(SERVERS));
    }
    vec![Row::ratio(name, "the slow one alone", alone, all, Some(1.2))]
}

/// How long until so many servers are connected and listed, the slow one among them.
fn connected(count: usize) -> Duration {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
        let configs = (0..count).map(|number| {
            let name = ServerName::new(&format!("up{number}")).expect("a name");
            let kind = if number == 0 { "plain-slow" } else { "plain" };
            ServerConfig::stdio(name, program.clone(), [super::SERVER.to_owned(), kind.to_owned()])
        });
        let launcher = HostLauncher::new(std::env::vars_os());
        let upstreams = Upstreams::new(configs, Wiring::new(Arc::new(launcher)));
        let began = Instant::now();
        upstreams.connect(Wanted::All).await;
        let took = began.elapsed();
        let ready = upstreams.status().iter().filter(|status| status.health == Health::Ready).count();
        assert_eq!(ready, count, "{:?}", upstreams.status());
        upstreams.close().await;
        took
    })
}
