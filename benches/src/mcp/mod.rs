//! The gateway against its floors: a bare server of the same SDK over pipes, a direct call and a bare forwarder over HTTP.
//!
//! Servers are processes of this program, told apart by its first words; the load comes from this one.

mod servers;
mod load;

use std::time::Duration;

use load::{Child, Figures};

use crate::table::{Row, wanted};

pub(crate) use servers::serve;

/// How the program is told to be a server.
pub(crate) const SERVER: &str = "mcp-server";

const ROUNDS: usize = 3;

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    if wanted("mcp: pipes") {
        rows.extend(pipes());
    }
    if wanted("mcp: http") {
        rows.extend(http());
    }
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
fn http() -> Vec<Row> {
    let kinds = ["rmcp-http", "forwarder-http", "gateway-http", "gateway-http-writing"];
    let children = kinds.map(Child::http);
    let mut best = kinds.map(|_| Figures::worst());
    for _ in 0..ROUNDS {
        for (child, best) in children.iter().zip(&mut best) {
            best.better(&child.load());
        }
    }
    let [direct, forwarder, ours, writing] = best;
    vec![
        Row::ratio(
            "mcp: http, bare forwarder, 1 in flight, median",
            "direct",
            direct.median,
            forwarder.median,
            None,
        ),
        Row::ratio(
            "mcp: http, gateway, 1 in flight, median",
            "direct",
            direct.median,
            ours.median,
            Some(1.2),
        ),
        Row::ratio(
            "mcp: http, gateway, 1 in flight, median",
            "bare forwarder",
            forwarder.median,
            ours.median,
            None,
        ),
        Row::ratio(
            "mcp: http, bare forwarder, 64 in flight, per call",
            "direct",
            direct.each,
            forwarder.each,
            None,
        ),
        Row::ratio(
            "mcp: http, gateway, 64 in flight, per call",
            "direct",
            direct.each,
            ours.each,
            Some(1.0 / 0.85),
        ),
        Row::ratio(
            "mcp: http, gateway, 64 in flight, per call",
            "bare forwarder",
            forwarder.each,
            ours.each,
            None,
        ),
        Row::ratio(
            "mcp: http, gateway, durable writes, 64 in flight",
            "direct",
            direct.each,
            writing.each,
            None,
        ),
    ]
}
