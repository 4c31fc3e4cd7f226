//! What a model is offered: the pool's order, filters, routes, deferred tools, and the way to and from the wire.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as loudly as tests")]

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::{
    Effects, Output, Proposed, Registry, Scope, Tollgate,
    catalog::{Absent, Filter, ToolSearch},
    guard::{Run, Workspace},
    outcome::{RefusalCode, Status},
    policy::Rules,
    schema::Target,
    tool::{DynTool, Origin, Route, ToolBuilder, ToolName, Visibility},
    wire::Provider,
};

fn tool(name: &str, change: impl FnOnce(&mut tollgate::ToolSpec)) -> DynTool {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["path"],
    });
    ToolBuilder::new(name, format!("The tool called {name}."), schema)
        .unwrap()
        .spec(change)
        .effects(|_, _| Effects::reading())
        .run(|_, args| Box::pin(async move { Ok(Output::json(args.clone())) }))
}

fn bridged(server: &str, name: &str) -> DynTool {
    tool(name, |spec| spec.id.origin = Origin::Server(server.into()))
}

fn deferred(name: &str) -> DynTool {
    tool(name, |spec| spec.visibility = Visibility::Deferred)
}

fn registry(tools: Vec<DynTool>) -> Registry {
    tools.into_iter().fold(Registry::new(), |registry, tool| registry.with(tool).unwrap())
}

fn gate(tools: Vec<DynTool>) -> Tollgate {
    Tollgate::builder(registry(tools)).policy(Rules::new().allow("*").unwrap()).build()
}

fn scope() -> Arc<Scope> {
    Arc::new(Scope::new(Run::new("test"), Workspace::new("/work")))
}

fn offered(gate: &Tollgate) -> Vec<String> {
    gate.snapshot().offered(None).map(|(label, _)| label.to_string()).collect()
}

#[test]
fn built_ins_come_first_then_servers_each_by_name_whatever_the_order_of_registration() {
    let one =
        gate(vec![bridged("zoo", "a"), tool("write", |_| {}), bridged("git", "log"), tool("read", |_| {})]);
    let other =
        gate(vec![tool("read", |_| {}), bridged("git", "log"), bridged("zoo", "a"), tool("write", |_| {})]);
    assert_eq!(offered(&one), ["read", "write", "git__log", "zoo__a"]);
    let target = Target { provider: Provider::Anthropic, strict: false };
    assert_eq!(one.snapshot().wire(target, None).json, other.snapshot().wire(target, None).json);
}

#[test]
fn a_denied_tool_is_not_offered_and_not_suggested() {
    let rules = Rules::new().allow("*").unwrap().deny("write_file").unwrap();
    let tools = vec![tool("write_file", |_| {}), tool("read_file", |_| {})];
    let gate = Tollgate::builder(registry(tools)).policy(rules).build();
    assert_eq!(offered(&gate), ["read_file"]);
}

#[test]
fn a_filter_takes_names_globs_servers_and_exclusions() {
    let secret = tool("secret_read", |spec| spec.explicit_only = true);
    let tools = registry(vec![
        tool("read", |_| {}),
        tool("write", |_| {}),
        secret,
        bridged("git", "get_log"),
        bridged("git", "push"),
    ]);
    let pass = |patterns: &[&str]| -> Vec<String> {
        let filter = Filter::parse(patterns.iter().copied()).unwrap();
        tools.specs().filter(|spec| filter.passes(spec)).map(|spec| spec.id.to_string()).collect()
    };
    assert_eq!(pass(&["*"]), ["read", "write", "@git/get_log", "@git/push"]);
    assert_eq!(pass(&["rea*"]), ["read"]);
    assert_eq!(pass(&["@git"]), ["@git/get_log", "@git/push"]);
    assert_eq!(pass(&["@git/get_*"]), ["@git/get_log"]);
    assert_eq!(pass(&["*", "!write", "!@git/push"]), ["read", "@git/get_log"]);
    assert_eq!(pass(&["!@git"]), ["read", "write"]);
    assert_eq!(pass(&["secret_read", "read"]), ["read", "secret_read"]);
    assert_eq!(pass(&[]), [""; 0]);
    assert!(Filter::parse(["a b"]).is_err());
}

#[tokio::test]
async fn a_route_exposes_its_tools_and_an_unknown_route_nothing() {
    let route = Route::new("look");
    let tools = registry(vec![tool("read", |_| {}), tool("write", |_| {})])
        .with_route(route.clone(), vec!["read".into()]);
    let gate = Tollgate::builder(tools).policy(Rules::new().allow("*").unwrap()).build();
    let on = |route: &str| {
        let mut scope = Scope::new(Run::new("test"), Workspace::new("/work"));
        scope.route = Some(Route::new(route));
        Arc::new(scope)
    };
    let call = |name: &str| Proposed::new("1", name, r#"{"path":"a"}"#);
    assert_eq!(gate.call(&on("look"), call("read")).await.status(), Status::Ok);
    for (route, name) in [("look", "write"), ("other", "read")] {
        let settled = gate.call(&on(route), call(name)).await;
        assert_eq!(settled.refusal().unwrap().code, RefusalCode::NotDisclosed);
    }
}

#[test]
fn a_route_names_a_servers_tool_as_rules_do_or_as_the_model_does() {
    let tools = || registry(vec![tool("get", |_| {}), bridged("up", "get"), bridged("up", "put")]);
    for (name, exposed) in [("@up/get", "up__get"), ("up__get", "up__get"), ("get", "get")] {
        let route = Route::new("look");
        let gate = Tollgate::builder(tools().with_route(route.clone(), vec![name.into()]))
            .policy(Rules::new().allow("*").unwrap())
            .build();
        let snapshot = gate.snapshot();
        let labels: Vec<_> = snapshot.reachable(Some(&route)).map(|(label, _)| label.to_string()).collect();
        assert_eq!(labels, [exposed], "{name}");
    }
}

#[tokio::test]
async fn a_deferred_tool_is_found_by_search_and_offered_from_the_next_turn_on() {
    let search = ToolSearch::default();
    let tools = registry(vec![deferred("send_invoice"), deferred("book_room"), tool("read", |_| {})])
        .with(search.clone())
        .unwrap();
    let gate = Tollgate::builder(tools).policy(Rules::new().allow("*").unwrap()).tool_search(&search).build();
    assert_eq!(offered(&gate), ["read", "tool_search"]);

    let found = gate.call(&scope(), Proposed::new("1", "tool_search", r#"{"query":"invoice"}"#)).await;
    let names: Vec<&Value> = found.output().unwrap().structured().unwrap()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["name"])
        .collect();
    assert_eq!(names, ["send_invoice"]);
    assert_eq!(offered(&gate), ["read", "tool_search"], "a turn keeps the list it began with");
    gate.refresh();
    assert_eq!(offered(&gate), ["read", "send_invoice", "tool_search"]);
}

#[tokio::test]
async fn calling_a_deferred_tool_by_its_right_name_just_works_and_loads_it() {
    let gate = gate(vec![deferred("book_room"), tool("read", |_| {})]);
    let settled = gate.call(&scope(), Proposed::new("1", "book_room", r#"{"path":"a"}"#)).await;
    assert_eq!(settled.status(), Status::Ok);
    gate.refresh();
    assert_eq!(offered(&gate), ["book_room", "read"]);
}

#[test]
fn a_provider_with_its_own_search_gets_deferred_tools_marked_and_chat_does_not_get_them() {
    let gate = gate(vec![deferred("book_room"), tool("read", |_| {})]);
    let array = |provider| -> Value {
        let offer = gate.snapshot().wire(Target { provider, strict: false }, None);
        serde_json::from_str(&offer.json).unwrap()
    };
    assert!(array(Provider::Anthropic).to_string().contains("defer_loading"));
    assert!(array(Provider::OpenAiResponses).to_string().contains("defer_loading"));
    assert!(!array(Provider::OpenAiChat).to_string().contains("book_room"));
}

#[test]
fn an_offer_is_made_once_per_target_and_route() {
    let gate = gate(vec![tool("read", |_| {})]);
    let snapshot = gate.snapshot();
    let target = Target { provider: Provider::OpenAiChat, strict: true };
    assert!(Arc::ptr_eq(&snapshot.wire(target, None), &snapshot.wire(target, None)));
}

#[tokio::test]
async fn a_null_that_only_strict_mode_forced_is_dropped_before_the_arguments_are_judged() {
    let gate = gate(vec![tool("read", |_| {})]);
    let offer = gate.snapshot().wire(Target { provider: Provider::OpenAiChat, strict: true }, None);
    assert!(offer.tools[0].strict, "{:?}", offer.tools[0]);
    let written = Proposed::new("1", "read", r#"{"path":"a","limit":null}"#);
    let refused = gate.call(&scope(), written.clone()).await;
    assert_eq!(refused.refusal().unwrap().code, RefusalCode::InvalidArguments, "without the way back");
    let settled = gate.call(&scope(), offer.inward(written)).await;
    assert_eq!(settled.output().unwrap().structured().unwrap(), &json!({"path": "a"}));
}

#[tokio::test]
async fn a_wire_name_leads_back_to_its_tool_and_an_alias_only_to_a_built_in() {
    let alias = |name: &str| ToolName::new(name).unwrap();
    let gate = gate(vec![
        tool("read_file", |spec| spec.aliases.push(alias("fs_read"))),
        tool("stolen", |spec| {
            spec.id.origin = Origin::Server("evil".into());
            spec.aliases.push(alias("other_alias"));
        }),
        bridged("long.server", "a/b.c"),
    ]);
    let offer = gate.snapshot().wire(Target { provider: Provider::Anthropic, strict: false }, None);
    for tool in &offer.tools {
        let settled =
            gate.call(&scope(), offer.inward(Proposed::new("1", &*tool.name, r#"{"path":"a"}"#))).await;
        assert_eq!(settled.status(), Status::Ok, "{}", tool.name);
    }
    let settled = gate.call(&scope(), Proposed::new("1", "fs_read", r#"{"path":"a"}"#)).await;
    assert_eq!(&*settled.tool, "read_file");
    let settled = gate.call(&scope(), Proposed::new("1", "other_alias", r#"{"path":"a"}"#)).await;
    assert_eq!(settled.refusal().unwrap().code, RefusalCode::UnknownTool);
}

#[tokio::test]
async fn a_turn_keeps_its_tools_while_others_replace_them() {
    let gate = gate(vec![tool("read", |_| {})]);
    let turn = gate.turn(&scope());
    gate.replace(registry(vec![tool("write", |_| {})]));
    let answers = turn.run(vec![Proposed::new("1", "read", r#"{"path":"a"}"#)]).await;
    assert_eq!(answers[0].status(), Status::Ok);
    let next = gate.call(&scope(), Proposed::new("1", "read", r#"{"path":"a"}"#)).await;
    assert_eq!(next.refusal().unwrap().code, RefusalCode::UnknownTool);
}

#[tokio::test]
async fn an_origin_that_is_left_open_takes_fields_its_schemas_are_silent_about_and_no_other_does() {
    let tools = [bridged("loose", "a"), bridged("tight", "a")];
    let open = Registry::new().open_where_silent(Origin::Server("loose".into()));
    let (registry, errors) = open.with_each(tools);
    assert!(errors.is_empty());
    let gate = Tollgate::builder(registry).policy(Rules::new().allow("*").unwrap()).build();
    let calls = ["loose__a", "tight__a"].map(|name| Proposed::new(name, name, r#"{"path": "p", "more": 1}"#));
    let answers = gate.turn(&scope()).run(calls.to_vec()).await;
    let codes: Vec<_> = answers.iter().map(|answer| answer.refusal().map(|refusal| refusal.code)).collect();
    assert_eq!(codes, [None, Some(RefusalCode::InvalidArguments)]);
}

#[test]
fn a_bulk_on_all_cores_is_registered_in_order_and_sets_aside_what_one_by_one_would_refuse() {
    let schema = |at: usize| match at % 100 {
        7 => json!({"type": "string"}),
        8 => json!({"type": "object", "properties": {"a": {"type": "sting"}}}),
        9 => json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
        _ => json!({"type": "object", "properties": {"a": {"type": "string", "maxLength": at}}}),
    };
    let tool = |at: usize| {
        // Every hundredth takes the name of the one before it.
        let name = format!("tool_{}", if at % 100 == 50 { at - 1 } else { at });
        ToolBuilder::new(&name, "Does.", schema(at))
            .unwrap()
            .run(|_, _| Box::pin(async { Ok(Output::text("")) }))
    };
    let (bulk, errors) = Registry::new().with_each((0..1_000).map(tool));
    let (mut single, mut refused) = (Registry::new(), Vec::new());
    for at in 0..1_000 {
        match single.clone().with(tool(at)) {
            Ok(with) => single = with,
            Err(error) => refused.push(error),
        }
    }
    assert_eq!((errors.len(), errors), (40, refused));
    let names = |registry: &Registry| registry.specs().map(|spec| spec.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&bulk), names(&single));
}

#[tokio::test]
async fn a_tool_of_a_server_that_is_not_there_is_told_so_and_on_a_route_only_where_the_route_names_it() {
    let absent = |why: &str| Absent { server: "far".into(), why: why.into(), hint: "Wait.".into() };
    let (quiet, open) = (Route::new("quiet"), Route::new("open"));
    let known = registry(vec![tool("read", |_| {})])
        .with_absent(absent("could not be reached"))
        .with_route(quiet.clone(), vec!["read".to_owned()])
        .with_route(open.clone(), vec!["read".to_owned(), "@far/look".to_owned()]);
    let gate = Tollgate::builder(known).policy(Rules::new().allow("*").unwrap()).build();
    let reason = async |name: &str, route: Option<&Route>| {
        let mut scope = (*scope()).clone();
        scope.route = route.cloned();
        let settled = gate.call(&Arc::new(scope), Proposed::new("1", name, "{}")).await;
        let refusal = settled.refusal().unwrap();
        assert_eq!(refusal.code, RefusalCode::UnknownTool);
        refusal.reason.clone()
    };
    let told = "its server `far` is configured, and could not be reached.";
    assert!(reason("far__look", None).await.contains(told));
    assert!(reason("@far/look", None).await.contains(told));
    assert!(reason("far__look", Some(&open)).await.contains(told));
    assert_eq!(&*reason("far__look", Some(&quiet)).await, "There is no tool \"far__look\".");
    assert_eq!(&*reason("farther__look", None).await, "There is no tool \"farther__look\".");
    // What is the matter may change while the tools stay the same.
    gate.replace(registry(vec![]).with_absent(absent("is still starting")));
    assert!(reason("far__look", None).await.contains("and is still starting."));
}
