//! `$result` in arguments stands for what was kept, before anyone judges them; kept results are read by whom they are for.

#![expect(clippy::disallowed_methods, reason = "a test changes files of the store by hand")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tollgate::{
    Builder, Effects, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, TokioSpawner, Workspace},
    hook::{Before, Hook, HookedCall},
    outcome::{FolderResults, Label, Limits, Part, RefusalCode, ResultRef, ResultStore, StoreFault, Trust},
    policy::Rules,
    tool::{Caller, ToolBuilder},
};

struct World {
    folder: tempfile::TempDir,
    store: FolderResults,
    gate: Tollgate,
}

/// Adds what it is told to the arguments, once.
struct Adds(&'static str, Value);

impl Hook for Adds {
    fn name(&self) -> &'static str {
        "adds"
    }

    async fn before(&self, call: &HookedCall<'_>) -> Before {
        let mut args = call.args.clone();
        args[self.0] = self.1.clone();
        Before::Rewrite(args)
    }
}

impl World {
    /// A gate with `echo`, which gives back what it was really called with, and a rule against saying `secret`.
    fn new() -> Self {
        Self::with(|gate| gate)
    }

    fn with(more: impl FnOnce(Builder) -> Builder) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let spawner = Arc::new(TokioSpawner::current().unwrap());
        let store = FolderResults::new(folder.path().join("results"), spawner);
        let schema = json!({"type": "object", "properties": {
            "text": {"type": "string", "maxLength": 1000}, "any": {}, "list": {"type": "array", "items": {"type": "integer"}},
        }});
        let echo = ToolBuilder::new("echo", "Says it again.", schema)
            .unwrap()
            .effects(|_, _| Effects::reading())
            .check(|_, args| match args["text"].as_str() {
                Some(text) if text.contains("secret") => {
                    Err(tollgate::Refusal::invalid_value("/text", "not that"))
                }
                _ => Ok(()),
            })
            .run(|_, args| {
                let args = args.clone();
                Box::pin(async move { Ok(Output::json(args)) })
            });
        let gate = Tollgate::builder(Registry::new().with(echo).unwrap())
            .policy(Rules::new().allow("*").unwrap())
            .results(store.clone());
        let gate = more(gate).build();
        Self { folder, store, gate }
    }

    async fn keep(&self, text: &str, trust: Trust) -> ResultRef {
        self.store.keep(text.into(), Label { caller: Caller::new("main"), trust }).await.unwrap()
    }

    async fn call(&self, args: &Value) -> Settled {
        self.call_as("main", args).await
    }

    async fn call_as(&self, caller: &str, args: &Value) -> Settled {
        let mut scope = Scope::new(Run::new("r"), Workspace::new("/tmp"));
        scope.caller = Caller::new(caller);
        self.gate.call(&Arc::new(scope), Proposed::new("c", "echo", args)).await
    }
}

fn got(settled: &Settled) -> &Value {
    settled.output().unwrap_or_else(|| panic!("{settled:?}")).structured().unwrap()
}

fn code(settled: &Settled) -> RefusalCode {
    settled.refusal().unwrap_or_else(|| panic!("{settled:?}")).code
}

#[tokio::test]
async fn a_reference_stands_for_the_whole_a_document_or_what_a_pointer_leads_to() {
    let world = World::new();
    let text = world.keep(r#"{"a/b": [1, {"c": "deep"}]}"#, Trust::TrustedSystem).await;
    let cases = [
        (json!({"text": {"$result": text.as_str()}}), json!({"text": r#"{"a/b": [1, {"c": "deep"}]}"#})),
        (json!({"any": {"$result": format!("{text}#")}}), json!({"any": {"a/b": [1, {"c": "deep"}]}})),
        (json!({"text": {"$result": format!("{text}#/a~1b/1/c")}}), json!({"text": "deep"})),
        (json!({"any": [[{"$result": format!("{text}#/a~1b/0")}]]}), json!({"any": [[1]]})),
        (
            json!({"any": {"$$result": "as it stands", "$$$result": 1}}),
            json!({"any": {"$result": "as it stands", "$$result": 1}}),
        ),
        (json!({"text": "costs $result and $$result"}), json!({"text": "costs $result and $$result"})),
    ];
    for (args, expected) in cases {
        assert_eq!(got(&world.call(&args).await), &expected, "{args}");
    }
}

#[tokio::test]
async fn what_a_reference_stands_for_is_validated_and_checked_like_anything_else() {
    let world = World::new();
    let numbers = world
        .keep(r#"{"good": [1, 2], "bad": ["x"], "secret": "the secret word"}"#, Trust::TrustedSystem)
        .await;
    let list = |of: &str| json!({"list": {"$result": format!("{numbers}#/{of}")}});
    assert_eq!(got(&world.call(&list("good")).await), &json!({"list": [1, 2]}));
    assert_eq!(code(&world.call(&list("bad")).await), RefusalCode::InvalidArguments);
    let secret = json!({"text": {"$result": format!("{numbers}#/secret")}});
    assert_eq!(code(&world.call(&secret).await), RefusalCode::InvalidValue);
}

#[tokio::test]
async fn a_reference_that_cannot_be_used_is_refused_with_the_place_and_the_reason() {
    let world = World::new();
    let text = world.keep("no JSON", Trust::TrustedSystem).await;
    let absent = format!("sha256:{}", "0".repeat(64));
    let cases = [
        (json!({"$result": absent}), "no result is kept"),
        (json!({"$result": "../../etc/passwd"}), "is not a result reference"),
        (json!({"$result": 7}), "the one field"),
        (json!({"$result": text.as_str(), "other": 1}), "the one field"),
        (json!({"$result": format!("{text}#/a")}), "is not JSON"),
    ];
    for (reference, why) in cases {
        let settled = world.call(&json!({"any": [reference]})).await;
        assert_eq!(code(&settled), RefusalCode::BadResultRef);
        let reason = &settled.refusal().unwrap().reason;
        assert!(reason.contains("`/any/0`") && reason.contains(why), "{reason}");
    }
}

#[tokio::test]
async fn a_result_kept_for_one_caller_is_missing_for_another() {
    let world = World::new();
    let text = world.keep("mine", Trust::TrustedSystem).await;
    let args = json!({"text": {"$result": text.as_str()}});
    assert_eq!(got(&world.call(&args).await), &json!({"text": "mine"}));
    let theirs = world.call_as("other", &args).await;
    assert_eq!(code(&theirs), RefusalCode::BadResultRef);
    assert!(theirs.refusal().unwrap().reason.contains("no result is kept"));
    let read = world.store.read(&text, &Caller::new("other"), Part::Lines { from: 1, count: 1 }).await;
    assert!(matches!(read, Err(StoreFault::Missing(_))));
}

#[tokio::test]
async fn a_doubtful_result_makes_what_comes_of_it_doubtful_and_never_becomes_better() {
    let world = World::new();
    let text = world.keep("fetched", Trust::UntrustedContent).await;
    world.keep("fetched", Trust::TrustedSystem).await;
    let settled = world.call(&json!({"text": {"$result": text.as_str()}})).await;
    assert_eq!(settled.trust, Trust::UntrustedContent);
    assert_eq!(world.call(&json!({"text": "plain"})).await.trust, Trust::TrustedSystem);
}

#[tokio::test]
async fn a_kept_result_that_was_changed_by_hand_is_not_read() {
    let world = World::new();
    let text = world.keep("the truth", Trust::TrustedSystem).await;
    let file = world.folder.path().join("results").join(text.as_str().trim_start_matches("sha256:"));
    std::fs::write(file, "a lie here").unwrap();
    let settled = world.call(&json!({"text": {"$result": text.as_str()}})).await;
    assert!(settled.refusal().unwrap().reason.contains("was changed since"), "{settled:?}");
    let read = world.store.read(&text, &Caller::new("main"), Part::Lines { from: 1, count: 1 }).await;
    assert!(matches!(read, Err(StoreFault::Changed(_))));
}

#[tokio::test]
async fn a_results_folder_deleted_by_hand_is_made_again_and_what_was_in_it_is_missing() {
    let world = World::new();
    let text = world.keep("gone", Trust::TrustedSystem).await;
    std::fs::remove_dir_all(world.folder.path().join("results")).unwrap();
    assert_eq!(
        code(&world.call(&json!({"text": {"$result": text.as_str()}})).await),
        RefusalCode::BadResultRef
    );
    world.keep("new", Trust::TrustedSystem).await;
    world.keep("gone", Trust::TrustedSystem).await;
    assert_eq!(
        got(&world.call(&json!({"text": {"$result": text.as_str()}})).await),
        &json!({"text": "gone"})
    );
}

#[tokio::test]
async fn the_oldest_results_make_room_and_unfinished_files_of_the_dead_are_collected() {
    let world = World::new();
    let store = world.store.clone().limits(Limits { quota: 1000, retention: Duration::from_secs(3600) });
    let label = || Label { caller: Caller::new("main"), trust: Trust::TrustedSystem };
    let mut kept = Vec::new();
    for letter in ["a", "b", "c", "d"] {
        kept.push(store.keep(letter.repeat(300).into(), label()).await.unwrap());
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    let part = Part::Bytes { offset: 0, len: 1 };
    assert!(matches!(store.read(&kept[0], &Caller::new("main"), part).await, Err(StoreFault::Missing(_))));
    assert_eq!(store.read(&kept[3], &Caller::new("main"), part).await.unwrap(), "d");
    let too_long = store.keep("x".repeat(1001).into(), label()).await;
    assert!(matches!(too_long, Err(StoreFault::Full { bytes: 1001, quota: 1000 })));

    let folder = world.folder.path().join("results");
    std::fs::write(folder.join(".part-4000000000-1"), "half").unwrap();
    std::fs::write(folder.join(format!(".part-{}-99", std::process::id())), "being written").unwrap();
    assert_eq!(store.tidy().unwrap().unfinished, 1);
    let old = store.limits(Limits { quota: 1000, retention: Duration::ZERO });
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(old.tidy().unwrap().results, 3);
}

#[tokio::test]
async fn what_arguments_refer_to_is_read_on_threads_that_may_be_blocked() {
    use std::sync::Mutex;

    use tollgate::{BoxFuture, outcome::Opened};

    /// Notes on which threads it is opened.
    struct Watching(FolderResults, Arc<Mutex<Vec<std::thread::ThreadId>>>);

    impl ResultStore for Watching {
        fn keep(&self, whole: Arc<str>, label: Label) -> BoxFuture<'_, Result<ResultRef, StoreFault>> {
            self.0.keep(whole, label)
        }

        fn read<'a>(
            &'a self,
            result: &'a ResultRef,
            caller: &'a Caller,
            part: Part,
        ) -> BoxFuture<'a, Result<String, StoreFault>> {
            self.0.read(result, caller, part)
        }

        fn open(&self, result: &ResultRef, caller: &Caller) -> Result<Opened, StoreFault> {
            self.1.lock().unwrap().push(std::thread::current().id());
            self.0.open(result, caller)
        }
    }

    let world = World::new();
    let kept = world.keep("[1, 2]", Trust::TrustedSystem).await;
    let threads = Arc::new(Mutex::new(Vec::new()));
    let echo =
        ToolBuilder::new("echo", "Says it again.", json!({"type": "object", "properties": {"any": {}}}))
            .unwrap()
            .effects(|_, _| Effects::reading())
            .run(|_, args| {
                let args = args.clone();
                Box::pin(async move { Ok(Output::json(args)) })
            });
    let gate = Tollgate::builder(Registry::new().with(echo).unwrap())
        .policy(Rules::new().allow("*").unwrap())
        .results(Watching(world.store.clone(), threads.clone()))
        .build();
    let scope = Arc::new(Scope::new(Run::new("run"), Workspace::new("/")));
    let args = json!({"any": [{"$result": format!("{kept}#/0")}, {"$result": format!("{kept}#/1")}]});
    let one = gate.call(&scope, Proposed::new("a", "echo", &args)).await;
    assert_eq!(one.output().unwrap().structured(), Some(&json!({"any": [1, 2]})));
    let turn = gate.turn(&scope).run(vec![Proposed::new("b", "echo", &args)]).await;
    assert_eq!(turn[0].output().unwrap().structured(), Some(&json!({"any": [1, 2]})));
    let threads = threads.lock().unwrap();
    assert_eq!(threads.len(), 2, "once a call, however often it is referred to");
    assert!(threads.iter().all(|thread| *thread != std::thread::current().id()));
}

#[tokio::test]
async fn a_rewrite_neither_reads_references_again_nor_makes_what_they_brought_trustworthy() {
    let world = World::with(|gate| gate.hook(Adds("list", json!([1]))));
    // A field that is really called `$result`, in the arguments or in what was kept, is data in every round.
    let settled = world.call(&json!({"any": {"$$result": "plain text"}})).await;
    assert_eq!(got(&settled), &json!({"any": {"$result": "plain text"}, "list": [1]}));
    assert_eq!(settled.trust, Trust::TrustedSystem);
    let inner = world.keep("never to be read", Trust::TrustedSystem).await;
    let kept = json!({"$result": inner.as_str()});
    let outer = world.keep(&kept.to_string(), Trust::UntrustedContent).await;
    let settled = world.call(&json!({"any": {"$result": format!("{}#", outer.as_str())}})).await;
    assert_eq!(got(&settled), &json!({"any": kept, "list": [1]}));
    assert_eq!(settled.trust, Trust::UntrustedContent);
}

#[tokio::test]
async fn a_reference_that_a_hook_writes_is_data() {
    let world = World::new();
    let kept = world.keep("never to be read", Trust::TrustedSystem).await;
    let written = json!({"$result": kept.as_str()});
    let world = World { gate: World::with(|gate| gate.hook(Adds("any", written.clone()))).gate, ..world };
    assert_eq!(got(&world.call(&json!({})).await), &json!({"any": written}));
}

#[tokio::test]
async fn a_result_that_is_kept_again_is_as_young_as_a_new_one() {
    let world = World::new();
    let (again, old) =
        (world.keep("again", Trust::TrustedSystem).await, world.keep("old", Trust::TrustedSystem).await);
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    for kept in [&again, &old] {
        let file = world.folder.path().join("results").join(kept.as_str().trim_start_matches("sha256:"));
        std::fs::File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
    assert_eq!(world.keep("again", Trust::TrustedSystem).await, again);
    let tidied = world.store.tidy().unwrap();
    assert_eq!((tidied.results, tidied.bytes), (1, 3));
    // What is gone is gone with its label, and what stays keeps its own.
    assert_eq!(std::fs::read_dir(world.folder.path().join("results")).unwrap().count(), 2);
    let args = |kept: &ResultRef| json!({"text": {"$result": kept.as_str()}});
    assert_eq!(got(&world.call(&args(&again)).await), &json!({"text": "again"}));
    assert_eq!(code(&world.call(&args(&old)).await), RefusalCode::BadResultRef);
}
