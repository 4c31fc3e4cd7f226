//! The gateway against its floors: a bare server of the same SDK over pipes, a direct call and a bare forwarder over HTTP.
//!
//! Servers are processes of this program, told apart by its first words; the load comes from this one.

mod servers;
mod load;
mod client;
mod connect;
mod program;

use std::time::Duration;

use load::{Child, Figures};

use crate::table::{Row, wanted};

pub(crate) use servers::serve;

/// How the program is told to be a server.
pub(crate) const SERVER: &str = "mcp-server";

const ROUNDS: usize = 3;

/// How often each server over HTTP has its turn.
const TURNS: usize = 15;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    if wanted("mcp: pipes") {
        rows.extend(pipes());
    }
    if wanted("mcp: http, SDK client") {
        let limits = Limits { alone: Some(1.2), crowd: Some(1.0 / 0.85) };
        rows.extend(http("SDK client", |child| client::load(child.port, child.tool), &limits));
    }
    if wanted("mcp: http, socket") {
        rows.extend(http("socket", Child::load, &Limits::default()));
    }
    rows.extend(connect::rows());
    rows.extend(program::rows());
    rows
}

/// Our own tool over pipes, policy, validation and audit on, 64 in flight.
fn pipes() -> Vec<Row> {
    let (mut bare, mut ours) = (Duration::MAX, Duration::MAX);
    let (mut bare_alone, mut ours_alone) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        bare = bare.min(load::pipe("rmcp-stdio", 64));
        ours = ours.min(load::pipe("gateway-stdio", 64));
        bare_alone = bare_alone.min(load::pipe("rmcp-stdio", 1));
        ours_alone = ours_alone.min(load::pipe("gateway-stdio", 1));
    }
    vec![
        Row::ratio(
            "mcp: pipes, own tool, 64 in flight, per call",
            "rmcp on stdio_pipes",
            bare,
            ours,
            Some(1.0),
        ),
        Row::ratio(
            "mcp: pipes, own tool, 1 in flight, per call",
            "rmcp on stdio_pipes",
            bare_alone,
            ours_alone,
            None,
        ),
    ]
}

/// HTTP in, a server behind pipes: against the same server behind HTTP itself, and against a bare forwarder.
///
/// `load` is the client that calls them all.
fn http(client: &str, load: impl Fn(&Child) -> Figures, limits: &Limits) -> Vec<Row> {
    let kinds = ["rmcp-http", "forwarder-http", "gateway-http", "gateway-http-writing"];
    let children = kinds.map(Child::http);
    // Short turns, one after the other: whatever else the machine does then meets them all.
    let rounds: Vec<[Figures; 4]> = (0..TURNS).map(|_| children.each_ref().map(&load)).collect();
    let [direct, forwarder, ours, writing] = [0, 1, 2, 3].map(|kind| against_first(&rounds, kind));
    let row = |what: &str, floor: (&str, Duration), figure: Duration, limit: Option<f64>| {
        Row::ratio(&format!("mcp: http, {client}, {what}"), floor.0, floor.1, figure, limit)
    };
    let (alone, forwarded) = (("direct", direct.median), ("bare forwarder", forwarder.median));
    let (crowd, forwarded_crowd) = (("direct", direct.each), ("bare forwarder", forwarder.each));
    vec![
        row("forwarder, 1 in flight", alone, forwarder.median, None),
        row("gateway, 1 in flight", alone, ours.median, limits.alone),
        row("gateway, 1 in flight", forwarded, ours.median, None),
        row("gateway, 1 in flight, durable writes", alone, writing.median, None),
        row("forwarder, 64 in flight", crowd, forwarder.each, None),
        row("gateway, 64 in flight", crowd, ours.each, limits.crowd),
        row("gateway, 64 in flight", forwarded_crowd, ours.each, None),
        row("gateway, 64 in flight, durable writes", crowd, writing.each, None),
    ]
}

/// The figures of a kind: what the first kind usually takes, times how this one usually compares to it in the same round.
fn against_first(rounds: &[[Figures; 4]], kind: usize) -> Figures {
    let usual = |figure: fn(&Figures) -> Duration| {
        let mut first: Vec<Duration> = rounds.iter().map(|round| figure(&round[0])).collect();
        let mut ratios: Vec<f64> = rounds
            .iter()
            .map(|round| figure(&round[kind]).as_secs_f64() / figure(&round[0]).as_secs_f64())
            .collect();
        first.sort_unstable();
        ratios.sort_unstable_by(f64::total_cmp);
        first[first.len() / 2].mul_f64(ratios[ratios.len() / 2])
    };
    Figures { median: usual(|figures| figures.median), each: usual(|figures| figures.each) }
}

/// How much longer a call may take through the gateway: the median of one at a time, and each of 64 at once.
#[derive(Default)]
struct Limits {
    alone: Option<f64>,
    crowd: Option<f64>,
}
