//! A function with `#[tool]` above it is a tool: its schema, its defaults, and its way through the gate.

#![cfg(feature = "macros")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as loudly as tests")]

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    Cx, Effects, Failure, Json, Opinion, Output, Proposed, Refusal, Registry, Scope, Settled, Tollgate, Tool,
    ToolSpec,
    event::What,
    guard::{RetryPolicy, Run, Workspace},
    outcome::{RefusalCode, Status},
    policy::Rules,
    tool,
    tool::{
        Concurrency, Interrupt, OnFatal, Origin, ResultLimit, ToolBuilder, ToolName, Visibility, input_schema,
    },
};

/// Adds two numbers.
///
/// Overflow is the caller's affair:
///     it wraps.
#[tool]
async fn add(
    /// The first number.
    a: i64,
    /// The second one, 0 when left out.
    b: Option<i64>,
) -> i64 {
    a.wrapping_add(b.unwrap_or(0))
}

fn gate(tool: impl Tool) -> Tollgate {
    let rules = Rules::new().allow("*").unwrap();
    Tollgate::builder(Registry::new().with(tool).unwrap()).policy(rules).build()
}

fn scope() -> Arc<Scope> {
    Arc::new(Scope::new(Run::new("test"), Workspace::new("/work")))
}

async fn call(tool: impl Tool, input: Value) -> Settled {
    let name = tool.spec().name().to_owned();
    gate(tool).call(&scope(), Proposed::new("c1", name, &input)).await
}

async fn answer(tool: impl Tool, input: Value) -> Value {
    let settled = call(tool, input).await;
    let output = settled.output().unwrap_or_else(|| panic!("{:?}", settled.outcome));
    output.structured().cloned().unwrap()
}

async fn refusal(tool: impl Tool, input: Value) -> Refusal {
    let settled = call(tool, input).await;
    settled.refusal().unwrap_or_else(|| panic!("{:?}", settled.outcome)).clone()
}

/// The class dispatch saw, which is the effects' own.
async fn class(tool: impl Tool, input: Value) -> Concurrency {
    let name = tool.spec().name().to_owned();
    let gate = gate(tool);
    let mut events = gate.observe(16);
    let _ = gate.call(&scope(), Proposed::new("c1", name, &input)).await;
    let mut class = None;
    events.drain(|event| {
        if let What::Validated { concurrency } = event.what {
            class = Some(*concurrency);
        }
    });
    class.unwrap()
}

#[tokio::test]
async fn a_function_with_the_attribute_is_a_tool() {
    assert_eq!(answer(add, json!({"a": 2, "b": 3})).await, json!(5));
}

#[test]
fn a_doc_comment_becomes_the_description() {
    assert_eq!(
        &*add.spec().description,
        "Adds two numbers.\n\nOverflow is the caller's affair:\n    it wraps."
    );
}

#[test]
fn the_schema_holds_the_parameters_and_nothing_else() {
    let expected = json!({
        "type": "object",
        "properties": {
            "a": {"description": "The first number.", "type": "integer"},
            "b": {"description": "The second one, 0 when left out.", "type": ["integer", "null"]},
        },
        "additionalProperties": false,
        "required": ["a"],
    });
    assert_eq!(add.spec().input_schema, expected);
}

#[tokio::test]
async fn an_option_may_be_left_out_or_null() {
    assert_eq!(answer(add, json!({"a": 2})).await, json!(2));
    assert_eq!(answer(add, json!({"a": 2, "b": null})).await, json!(2));
}

#[tokio::test]
async fn what_is_no_parameter_is_refused() {
    assert_eq!(refusal(add, json!({"a": 1, "c": 2})).await.code, RefusalCode::InvalidArguments);
}

/// How a list is ordered.
#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Ascending,
    Descending,
}

#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
struct Paging {
    /// How many at most.
    limit: u32,
}

#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
struct Folder {
    name: String,
    inside: Vec<Folder>,
}

/// Lists.
#[tool]
async fn list(
    #[serde(default)] deep: bool,
    #[schemars(range(min = 1, max = 9))] width: u8,
    order: Order,
    #[serde(rename = "type")] kind: Option<String>,
    #[serde(flatten)] paging: Paging,
) -> Json<Vec<String>> {
    let order = match order {
        Order::Ascending => "up",
        Order::Descending => "down",
    };
    Json(vec![format!("{deep} {width} {order} {kind:?} {}", paging.limit)])
}

#[test]
fn attributes_of_a_parameter_reach_its_field_and_types_stand_inline() {
    let expected = json!({
        "type": "object",
        "properties": {
            "deep": {"type": "boolean", "default": false},
            "width": {"type": "integer", "minimum": 1, "maximum": 9},
            "order": {"description": "How a list is ordered.", "type": "string", "enum": ["ascending", "descending"]},
            "type": {"type": ["string", "null"]},
            "limit": {"description": "How many at most.", "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32},
        },
        "required": ["width", "order", "limit"],
    });
    assert_eq!(list.spec().input_schema, expected);
}

#[tokio::test]
async fn flattened_parameters_arrive_and_unknown_ones_are_still_refused() {
    let input = json!({"width": 2, "order": "descending", "type": "x", "limit": 5});
    assert_eq!(answer(list, input).await, json!(["false 2 down Some(\"x\") 5"]));
    let input = json!({"width": 2, "order": "descending", "limit": 5, "kind": "x"});
    assert_eq!(refusal(list, input).await.code, RefusalCode::InvalidArguments);
}

/// Walks.
#[tool]
async fn walk(folder: Folder) -> String {
    format!("{} holds {}", folder.name, folder.inside.len())
}

#[tokio::test]
async fn a_recursive_type_is_an_argument_like_any_other() {
    let input = json!({"folder": {"name": "a", "inside": [{"name": "b", "inside": []}]}});
    assert_eq!(call(walk, input).await.output(), Some(&Output::text("a holds 1")));
}

/// Does nothing.
#[tool]
async fn ping() {}

#[tokio::test]
async fn a_tool_without_parameters_takes_an_empty_object() {
    assert_eq!(call(ping, json!({})).await.output(), Some(&Output::text("done")));
    assert_eq!(refusal(ping, json!({"a": 1})).await.code, RefusalCode::InvalidArguments);
}

/// Says where it runs. Its parameters have the tool's own name and a keyword's.
#[tool]
async fn place(mut place: String, here: &Cx, r#type: u32) -> String {
    place.push('!');
    format!("{place} {} {} {}", r#type, here.call_id(), here.cwd().display())
}

#[tokio::test]
async fn the_context_is_no_argument_and_may_stand_anywhere() {
    let settled = call(place, json!({"place": "a", "type": 7})).await;
    assert_eq!(settled.output(), Some(&Output::text("a! 7 c1 /work")));
}

mod names {
    use super::{Effects, Refusal, Scope, tool};

    /// Has the name of what the attribute itself speaks of.
    #[tool(check = scope)]
    pub(crate) async fn args(args: String) -> String {
        args
    }

    /// The same, with a parameter that is called like the other tool.
    #[tool(effects = |_, _| Effects::reading())]
    pub(crate) async fn spec(args: String, cx: String, spec: u8) -> String {
        format!("{args}{cx}{spec}")
    }

    fn scope(_: &Scope, given: &ArgsArgs) -> Result<(), Refusal> {
        if given.args.is_empty() { Err(Refusal::invalid_value("/args", "it is empty")) } else { Ok(()) }
    }
}

#[tokio::test]
async fn a_tool_its_parameters_and_functions_may_have_any_name() {
    assert_eq!(call(names::args, json!({"args": "x"})).await.output(), Some(&Output::text("x")));
    let settled = call(names::spec, json!({"args": "x", "cx": "y", "spec": 1})).await;
    assert_eq!(settled.output(), Some(&Output::text("xy1")));
}

#[tokio::test]
async fn undeclared_effects_are_the_worst() {
    let args = AddArgs { a: 1, b: None };
    assert_eq!(add.effects(&scope(), &args), Effects::worst());
    assert_eq!(class(add, json!({"a": 1})).await, Concurrency::Unsafe);
}

/// Reads a file.
#[tool(
    effects = |scope, args| Effects::reading().reads(scope.cwd().join(&args.path)),
    check = no_dots,
    authorize = |_, args| match args.path.as_str() {
        "secret" => Opinion::Deny(Refusal::denied("Not this one.")),
        _ => Opinion::Abstain,
    },
)]
async fn read(path: String) -> Result<String, std::num::ParseIntError> {
    path.parse::<i32>().map(|number| format!("number {number}"))
}

fn no_dots(_: &Scope, args: &ReadArgs) -> Result<(), Refusal> {
    if args.path.contains("..") {
        return Err(Refusal::invalid_value("/path", "it leads upwards"));
    }
    Ok(())
}

#[tokio::test]
async fn declared_effects_are_computed_from_the_arguments() {
    let args = ReadArgs { path: "a".into() };
    assert_eq!(read.effects(&scope(), &args), Effects::reading().reads("/work/a"));
    assert_eq!(class(read, json!({"path": "a"})).await, Concurrency::ReadOnly);
    assert_eq!(refusal(read, json!({"path": "/etc/passwd"})).await.code, RefusalCode::OutsideRoots);
}

#[tokio::test]
async fn a_check_refuses_a_wrong_value() {
    let refusal = refusal(read, json!({"path": "a..b"})).await;
    assert_eq!(refusal, Refusal::invalid_value("/path", "it leads upwards"));
}

#[tokio::test]
async fn authorize_tightens_what_policy_allows() {
    assert_eq!(refusal(read, json!({"path": "secret"})).await, Refusal::denied("Not this one."));
}

#[tokio::test]
async fn an_error_of_the_body_is_a_failure_in_its_own_words() {
    let settled = call(read, json!({"path": "x"})).await;
    assert_eq!(settled.status(), Status::FatalError);
    assert_eq!(settled.failure().unwrap().message, "invalid digit found in string");
}

/// Waits for a word.
#[tool(async_check = knows, enabled = || false)]
async fn wait(word: String) -> String {
    word
}

async fn knows(_: &Scope, args: &WaitArgs) -> Result<(), Refusal> {
    tokio::task::yield_now().await;
    if args.word == "open" { Ok(()) } else { Err(Refusal::invalid_value("/word", "not the word")) }
}

#[tokio::test]
async fn an_async_check_may_wait() {
    let refused = wait.check(&scope(), &WaitArgs { word: "x".into() }).await;
    assert_eq!(refused, Err(Refusal::invalid_value("/word", "not the word")));
    assert_eq!(wait.check(&scope(), &WaitArgs { word: "open".into() }).await, Ok(()));
}

#[tokio::test]
async fn a_tool_that_is_not_enabled_is_refused() {
    assert_eq!(refusal(wait, json!({"word": "open"})).await.code, RefusalCode::NotEnabled);
}

const IDLE: u64 = 500;

/// Declares everything there is.
#[tool(
    name = "files/read-all",
    aliases("slurp", "cat"),
    owner = "the files team",
    capability = "files.read",
    max_result_chars = 2_000,
    timeout_ms = 30_000,
    idle_ms = IDLE,
    connect_ms = 100,
    interrupt = cancel,
    requires_interaction,
    waive_permission,
    requires_idempotency_key,
    deferred,
    explicit_only,
    stop_siblings,
    retry = 3,
    inline,
    traced("path")
)]
async fn everything(path: String) -> String {
    path
}

#[test]
fn every_argument_reaches_the_spec() {
    let spec = everything.spec();
    assert_eq!(spec.name(), "files/read-all");
    assert_eq!(spec.aliases, [ToolName::new("slurp").unwrap(), ToolName::new("cat").unwrap()]);
    assert_eq!(spec.owner.as_deref(), Some("the files team"));
    assert_eq!(spec.capability.as_deref(), Some("files.read"));
    assert_eq!(spec.max_result, ResultLimit::Chars(2_000));
    assert_eq!(spec.timeouts.total, Duration::from_secs(30));
    assert_eq!(spec.timeouts.idle, Some(Duration::from_millis(IDLE)));
    assert_eq!(spec.timeouts.connect, Some(Duration::from_millis(100)));
    assert_eq!(spec.interrupt, Interrupt::Cancel);
    assert_eq!(spec.visibility, Visibility::Deferred);
    assert_eq!(spec.on_fatal, OnFatal::StopSiblings);
    assert_eq!(spec.retry, RetryPolicy::up_to(3));
    assert_eq!(spec.traced, ["path".into()]);
    let flags = [spec.requires_interaction, spec.requires_idempotency_key, spec.explicit_only, spec.inline];
    assert_eq!(flags, [true; 4]);
    assert!(!spec.requires_permission);
}

/// Is never cut and always there.
#[tool(unlimited, always_load, interrupt = block)]
async fn other_choices() {}

#[test]
fn the_other_choices_reach_the_spec_too() {
    let spec = other_choices.spec();
    assert_eq!(spec.max_result, ResultLimit::Unlimited);
    assert_eq!(spec.visibility, Visibility::AlwaysLoad);
    assert_eq!(spec.interrupt, Interrupt::Block);
}

#[tokio::test]
async fn an_alias_finds_the_tool() {
    let mut scope = (*scope()).clone();
    scope.interactive = true;
    let rules = Rules::new().allow("slurp").unwrap();
    let gate = Tollgate::builder(Registry::new().with(everything).unwrap()).policy(rules).build();
    let proposed = Proposed::new("c1", "slurp", r#"{"path": "x"}"#).with_key("k");
    let settled = gate.call(&Arc::new(scope), proposed).await;
    assert_eq!(settled.output(), Some(&Output::text("x")));
}

/// Something whose JSON is not what its schema says.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Liar {
    #[schemars(with = "u32")]
    count: &'static str,
}

/// Lies.
#[tool]
async fn lie() -> Json<Liar> {
    Json(Liar { count: "many" })
}

#[tokio::test]
async fn an_output_that_breaks_its_own_schema_is_a_failure() {
    let schema = lie.spec().output_schema.unwrap();
    assert_eq!(schema.pointer("/properties/count/type"), Some(&json!("integer")));
    let settled = call(lie, json!({})).await;
    assert_eq!(settled.status(), Status::FatalError);
    assert_eq!(
        settled.failure().unwrap().message,
        "The tool ran, but its output is not what it declares. What it was asked to do may have happened."
    );
}

#[test]
fn text_has_no_output_schema() {
    assert_eq!(walk.spec().output_schema, None);
}

struct ByHand;

impl Tool for ByHand {
    type Args = ReadAllArgs;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("read_all", "Reads.", input_schema::<ReadAllArgs>()).unwrap()
    }

    async fn run(&self, _: &Cx, args: &ReadAllArgs) -> Result<Output, Failure> {
        Ok(Output::text(&*args.path))
    }
}

/// Reads.
#[tool]
async fn read_all(path: String) -> String {
    path
}

#[tokio::test]
async fn the_three_ways_to_write_a_tool_have_the_same_defaults() {
    let built = ToolBuilder::new("read_all", "Reads.", input_schema::<ReadAllArgs>())
        .unwrap()
        .run(|_, args| Box::pin(async move { Ok(Output::text(args["path"].as_str().unwrap_or_default())) }));
    // The debug form holds every field, so one that is added later is compared too.
    let [by_attribute, by_hand, by_builder] =
        [read_all.spec(), ByHand.spec(), built.spec()].map(|spec| format!("{spec:#?}"));
    assert_eq!(by_attribute, by_hand);
    assert_eq!(by_attribute, by_builder);

    let (typed, untyped) = (ReadAllArgs { path: "a".into() }, json!({"path": "a"}));
    let scope = scope();
    let effects =
        [read_all.effects(&scope, &typed), ByHand.effects(&scope, &typed), built.effects(&scope, &untyped)];
    assert_eq!(effects, [Effects::worst(), Effects::worst(), Effects::worst()]);
    let opinions = [
        read_all.authorize(&scope, &typed),
        ByHand.authorize(&scope, &typed),
        built.authorize(&scope, &untyped),
    ];
    assert_eq!(opinions, [Opinion::Abstain, Opinion::Abstain, Opinion::Abstain]);
    assert!(read_all.is_enabled() && ByHand.is_enabled() && built.is_enabled());
    for settled in [
        call(read_all, untyped.clone()).await,
        call(ByHand, untyped.clone()).await,
        call(built, untyped).await,
    ] {
        assert_eq!(settled.output(), Some(&Output::text("a")));
    }
}

#[test]
fn the_defaults_are_the_safe_side() {
    let spec = read_all.spec();
    assert_eq!(spec.id.origin, Origin::Builtin);
    assert_eq!(spec.max_result, ResultLimit::Chars(25_000));
    assert_eq!(spec.timeouts.total, Duration::from_secs(120));
    assert_eq!(spec.interrupt, Interrupt::Block);
    assert_eq!(spec.retry, RetryPolicy::NEVER);
    assert!(spec.requires_permission);
}
