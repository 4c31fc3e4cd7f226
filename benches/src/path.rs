//! The whole path of one call against its floor: look-up, JSON, schema, one boxed async call.

use std::{collections::HashMap, future::Future, hint::black_box, pin::Pin, sync::Arc};

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Registry, Scope, Tollgate, Tool, ToolSpec,
    guard::{Run, Spawner, Workspace},
    policy::Rules,
    tool::ToolBuilder,
};

use crate::table::{Row, best_of, wanted};

pub(crate) const CALLS: u32 = 500;
pub(crate) const INPUT: &str = r#"{"a":12,"b":30}"#;

/// Two integers in, a sum out.
struct Add {
    name: String,
}

#[derive(Deserialize)]
struct AddArgs {
    a: i64,
    b: i64,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": false,
    })
}

impl Tool for Add {
    type Args = AddArgs;

    fn spec(&self) -> ToolSpec {
        let mut spec = ToolSpec::new(&self.name, "Adds two numbers.", schema()).expect("a legal name");
        spec.inline = true;
        spec.output_schema = Some(json!({"type": "integer"}));
        spec
    }

    fn effects(&self, _: &Scope, _: &AddArgs) -> Effects {
        Effects::reading()
    }

    async fn check(&self, _: &Scope, args: &AddArgs) -> Result<(), tollgate::Refusal> {
        if args.a < 0 { Err(tollgate::Refusal::invalid_value("/a", "must not be negative")) } else { Ok(()) }
    }

    async fn run(&self, _: &Cx, args: &AddArgs) -> Result<Output, Failure> {
        Ok(Output::json(args.a + args.b))
    }
}

/// What nobody can leave out.
type Boxed<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

trait Bare: Send + Sync {
    fn run<'a>(&'a self, args: &'a Value) -> Boxed<'a>;
}

struct BareAdd;

impl Bare for BareAdd {
    fn run<'a>(&'a self, args: &'a Value) -> Boxed<'a> {
        Box::pin(
            async move { Value::from(args["a"].as_i64().unwrap_or(0) + args["b"].as_i64().unwrap_or(0)) },
        )
    }
}

pub(crate) struct Floor {
    tools: HashMap<String, (jsonschema::Validator, Box<dyn Bare>)>,
}

impl Floor {
    pub(crate) fn new() -> Self {
        let validator = jsonschema::validator_for(&schema()).expect("a good schema");
        Self { tools: HashMap::from([("add".to_owned(), (validator, Box::new(BareAdd) as Box<dyn Bare>))]) }
    }

    pub(crate) async fn call(&self, name: &str, input: &str) -> Value {
        let (validator, tool) = &self.tools[name];
        let args: Value = serde_json::from_str(input).expect("JSON");
        assert!(validator.is_valid(&args));
        tool.run(&args).await
    }
}

pub(crate) fn gate(tools: usize, inline: Option<Arc<dyn Spawner>>) -> Tollgate {
    let mut registry = Registry::new().with(Add { name: "add".into() }).expect("registers");
    for at in 1..tools {
        let other = ToolBuilder::new(&format!("tool_{at}"), "Another.", schema())
            .expect("a legal name")
            .run(|_, _| Box::pin(async { Ok(Output::text("")) }));
        registry = registry.with(other).expect("registers");
    }
    let rules = Rules::new().allow("add").expect("a rule");
    Tollgate::builder(registry).policy(rules).spawner(inline).build()
}

pub(crate) fn scope() -> Arc<Scope> {
    Arc::new(Scope::new(Run::new("bench"), Workspace::new("/tmp")))
}

/// The rows about one call.
pub(crate) fn rows(runtime: &tokio::runtime::Runtime) -> Vec<Row> {
    let floor = Floor::new();
    let bare = || {
        runtime.block_on(async {
            for _ in 0..CALLS {
                black_box(floor.call(black_box("add"), black_box(INPUT)).await);
            }
        });
    };
    let mut rows = Vec::new();
    for (name, tools, observed, limit) in [
        ("whole path, one observer", 1, true, Some(2.0)),
        ("whole path, nobody observes", 1, false, None),
        ("whole path, one observer, 1,000 tools", 1_000, true, Some(2.0)),
        ("whole path, one observer, 10,000 tools", 10_000, true, Some(2.0)),
    ] {
        if !wanted(name) {
            continue;
        }
        let gate = gate(tools, None);
        let scope = scope();
        let observer = observed.then(|| {
            let seen = gate.observe(100_000);
            std::thread::spawn(move || {
                let mut count = 0u64;
                seen.for_each(|event| count += u64::from(black_box(event).call.is_some()));
                count
            })
        });
        // Each proposal is made where it is used, as from the wire, and counts as part of the path.
        let walk = |()| {
            runtime.block_on(async {
                for _ in 0..CALLS {
                    let call = Proposed::new(black_box("call_1"), black_box("add"), black_box(INPUT));
                    let _ = black_box(gate.call(&scope, call).await);
                }
            });
        };
        let (floor, path) = best_of(1_000, bare, || (), walk);
        rows.push(Row::ratio(
            name,
            "look-up + JSON + schema + boxed call",
            floor / CALLS,
            path / CALLS,
            limit,
        ));
        drop(gate);
        if let Some(observer) = observer {
            let _ = observer.join();
        }
    }
    rows
}
