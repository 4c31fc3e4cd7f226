//! `result_read` on results that a real gate put aside.

use std::sync::Arc;

use serde_json::{Value, json};
use tollgate::{
    Effects, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    outcome::{FolderResults, Status, Trust},
    policy::Rules,
    tool::{Caller, ResultLimit, ToolBuilder},
};
use tollgate_store::ResultRead;

struct Desk {
    _folder: tempfile::TempDir,
    gate: Tollgate,
}

impl Desk {
    fn new(output: Output) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let spawner = Arc::new(TokioSpawner::current().expect("a runtime"));
        let store = FolderResults::new(folder.path().join("results"), spawner);
        let big = ToolBuilder::new("big", "Says much.", json!({"type": "object"}))
            .expect("a name")
            .spec(|spec| spec.max_result = ResultLimit::Chars(1_000))
            .effects(|_, _| Effects::reading())
            .run(move |_, _| {
                let output = output.clone();
                Box::pin(async move { Ok(output) })
            });
        let registry = Registry::new().with(big).and_then(|r| r.with(ResultRead::new(store.clone())));
        let rules = Rules::new().allow("big").expect("a rule");
        let gate = Tollgate::builder(registry.expect("registers")).policy(rules).results(store).build();
        Self { _folder: folder, gate }
    }

    async fn call(&self, caller: &str, tool: &str, args: &Value) -> Settled {
        let mut scope = Scope::new(Run::new("r"), Workspace::new("/tmp"));
        scope.caller = Caller::new(caller);
        self.gate.call(&Arc::new(scope), Proposed::new("c", tool, args)).await
    }

    async fn kept(&self) -> String {
        let settled = self.call("main", "big", &json!({})).await;
        let put_aside = settled.offloaded.as_deref().expect("put aside");
        put_aside.result.as_ref().expect("kept").as_str().to_owned()
    }

    async fn read(&self, mut args: Value) -> String {
        args["ref"] = self.kept().await.into();
        text(&self.call("main", "result_read", &args).await).to_owned()
    }
}

fn text(settled: &Settled) -> &str {
    match &settled.output().unwrap_or_else(|| panic!("{settled:?}")).items[0] {
        tollgate::outcome::Item::Text { text } => text,
        other => panic!("{other:?}"),
    }
}

fn numbered() -> Output {
    Output::text((1..=5_000).map(|n| format!("line {n}\n")).collect::<String>())
}

#[tokio::test]
async fn lines_bytes_and_matching_lines_are_read_from_a_kept_result() {
    let desk = Desk::new(numbered());
    assert_eq!(desk.read(json!({"from_line": 4_999, "lines": 5})).await, "line 4999\nline 5000\n");
    assert!(desk.read(json!({"lines": 2})).await.ends_with("line 2\n[more follows; go on with from_line 3]"));
    assert_eq!(desk.read(json!({"from_byte": 7, "bytes": 6})).await, "line 2\n[bytes 7 to 13 of 48893]");
    assert_eq!(
        desk.read(json!({"grep": "^line 499[89]$"})).await,
        "4998: line 4998\n4999: line 4999\n[2 lines match]"
    );
    assert_eq!(desk.read(json!({"from_line": 6_000})).await, "[there is no line 6000]");
}

#[tokio::test]
async fn the_lines_of_a_text_in_json_are_read_as_its_preview_counts_them() {
    let log: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    let desk = Desk::new(Output::json(json!({"exit_code": 1, "text": log})));
    assert!(desk.read(json!({"from_line": 4_998, "lines": 2})).await.starts_with("line 4998\nline 4999\n"));
    assert_eq!(desk.read(json!({"grep": "^line 4998$"})).await, "4998: line 4998\n[1 lines match]");
}

#[tokio::test]
async fn a_pointer_leads_into_kept_json_and_says_how_far_it_came() {
    let items: Vec<Value> = (0..500).map(|n| json!({"id": n, "name": format!("n{n}")})).collect();
    let desk = Desk::new(Output::json(json!({"items": items})));
    assert_eq!(desk.read(json!({"pointer": "/items/499/name"})).await, "n499");
    assert_eq!(desk.read(json!({"pointer": "/items/3"})).await, r#"{"id":3,"name":"n3"}"#);
    let nothing = desk.read(json!({"pointer": "/items/900/name"})).await;
    assert!(nothing.contains("at `/items` is a list of 500 items"), "{nothing}");
}

#[tokio::test]
async fn what_result_read_gives_is_bounded_and_never_put_aside_again() {
    let desk = Desk::new(Output::text("word ".repeat(40_000)));
    let reference = desk.kept().await;
    let settled = desk.call("main", "result_read", &json!({"ref": reference})).await;
    assert!(settled.offloaded.is_none() && text(&settled).len() <= 21_000);
}

#[tokio::test]
async fn another_caller_reads_nothing_and_doubt_travels_along() {
    let desk = Desk::new(numbered().untrusted());
    let reference = desk.kept().await;
    let mine = desk.call("main", "result_read", &json!({"ref": reference})).await;
    assert_eq!((mine.status(), mine.trust), (Status::Ok, Trust::UntrustedContent));
    let theirs = desk.call("other", "result_read", &json!({"ref": reference})).await;
    assert_eq!(theirs.status(), Status::FatalError);
    for bad in [
        json!({"ref": "x"}),
        json!({"ref": reference, "grep": "("}),
        json!({"ref": reference, "grep": "a", "pointer": "/"}),
    ] {
        assert_eq!(desk.call("main", "result_read", &bad).await.status(), Status::Refused, "{bad}");
    }
}
