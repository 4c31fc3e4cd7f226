//! Ten thousand tools: built, offered, found.

use std::{hint::black_box, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    Output, Registry,
    catalog::{Loaded, SearchIndex, Snapshot},
    policy::Rules,
    schema::Target,
    tool::{DynTool, ToolBuilder},
    wire::{CacheMark, Provider, tools_json},
};

use crate::table::{Row, best_of, wanted};

const TOOLS: usize = 10_000;

const VERBS: [&str; 8] = ["list", "get", "create", "update", "delete", "search", "archive", "export"];
const NOUNS: [&str; 10] =
    ["issue", "page", "room", "invoice", "customer", "branch", "message", "report", "ticket", "image"];

/// Whether a schema says that there are no further fields, or leaves it open.
#[derive(Clone, Copy)]
enum Further {
    Refused,
    Unsaid,
}

/// A schema of its own for each tool.
fn schema(at: usize, further: Further) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Which one."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100 + at, "description": "How many at most."},
            "labels": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id"],
    });
    if let Further::Refused = further {
        schema["additionalProperties"] = json!(false);
    }
    schema
}

fn tool(at: usize, further: Further) -> DynTool {
    let (verb, noun) = (VERBS[at % VERBS.len()], NOUNS[at / VERBS.len() % NOUNS.len()]);
    let description =
        format!("Does {verb} on one {noun} of workspace number {at}, and says what came of it.");
    ToolBuilder::new(&format!("{verb}_{noun}_{at}"), description, schema(at, further))
        .expect("a legal name")
        .run(|_, _| Box::pin(async { Ok(Output::text("")) }))
}

/// Many tools registered, against the bare compilation of their schemas. Both keep what they make.
fn registered(name: &str, count: usize, further: Further) -> Row {
    let schemas: Vec<Value> = (0..count).map(|at| schema(at, further)).collect();
    let compile = || {
        let compiled = schemas.iter().map(|schema| jsonschema::validator_for(schema).expect("a good schema"));
        compiled.collect::<Vec<_>>()
    };
    let tools = || (0..count).map(|at| tool(at, further)).collect::<Vec<_>>();
    let (floor, figure) = best_of(5, compile, tools, |tools| Registry::new().with_each(tools));
    Row::ratio(name, "bare compilation of their schemas, one thread", floor, figure, Some(1.3))
}

/// The same, given back again inside the clock, against schemas of which each is given back before the next: memory
/// is then used over and over by one side and never by the other. For the whole life of a registry; no limit.
fn registered_and_dropped() -> Row {
    let schemas: Vec<Value> = (0..TOOLS).map(|at| schema(at, Further::Refused)).collect();
    let compile = || {
        for schema in &schemas {
            black_box(jsonschema::validator_for(schema).expect("a good schema"));
        }
    };
    let tools = || (0..TOOLS).map(|at| tool(at, Further::Refused)).collect::<Vec<_>>();
    let build = |tools: Vec<DynTool>| drop(black_box(Registry::new().with_each(tools)));
    let (floor, figure) = best_of(5, compile, tools, build);
    Row::ratio("10,000 tools registered and dropped", "each schema compiled and dropped", floor, figure, None)
}

/// The rows about many tools.
pub(crate) fn rows() -> Vec<Row> {
    if !wanted("catalog") {
        return Vec::new();
    }
    let built = [
        registered("10,000 tools registered", TOOLS, Further::Refused),
        registered("10,000 tools registered and closed", TOOLS, Further::Unsaid),
        registered("20,000 tools registered and closed", 2 * TOOLS, Further::Unsaid),
        registered_and_dropped(),
    ];
    let tools = || (0..TOOLS).map(|at| tool(at, Further::Refused));
    let (registry, _) = Registry::new().with_each(tools());
    let rules = Rules::new();
    let target = Target { provider: Provider::Anthropic, strict: false };
    let snapshot = || Snapshot::take(&registry, &rules, &Loaded::default());
    let pinned = snapshot();
    let offer = pinned.wire(target, None);
    // Laid out in memory as the offer's own schemas are, so that both sides read alike.
    let plain: Value = serde_json::from_str(&offer.json).expect("JSON");
    let serialise = || drop(black_box(serde_json::to_string(&plain)));
    let emit = |()| drop(black_box(tools_json(Provider::Anthropic, &offer.tools, CacheMark::Last)));
    let emitted = best_of(10, serialise, || (), emit);
    let first = best_of(3, serialise, snapshot, |snapshot| drop(black_box(snapshot.wire(target, None))));
    let cached = best_of(
        50,
        || (),
        || (),
        |()| {
            for _ in 0..1_000 {
                black_box(pinned.wire(target, None));
            }
        },
    );

    let specs: Vec<_> = registry.specs().map(|spec| (spec.name(), spec)).collect();
    let index = best_of(5, || (), || (), |()| drop(black_box(SearchIndex::build(specs.iter().copied()))));
    let searcher = SearchIndex::build(specs.iter().copied());
    let query = best_of(
        50,
        || (),
        || (),
        |()| {
            black_box(searcher.search(black_box("export the invoice of a customer"), 5));
        },
    );
    let mut rows = Vec::from(built);
    rows.extend([
        Row::ratio("provider array emitted", "plain serialisation", emitted.0, emitted.1, Some(1.3)),
        Row::ratio(
            "provider array, projected for the first time",
            "plain serialisation",
            first.0,
            first.1,
            None,
        ),
        Row::ratio(
            "provider array from cache",
            "1 µs",
            Duration::from_micros(1),
            cached.1 / 1_000,
            Some(1.0),
        ),
        Row::ratio("search index built", "100 ms", Duration::from_millis(100), index.1, Some(1.0)),
        Row::ratio("search answered", "0.5 ms", Duration::from_micros(500), query.1, Some(1.0)),
    ]);
    rows
}
