//! A result fits the window of the model that reads it, where that is known; what is left out is kept whole.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tollgate::{
    BoxFuture, Effects, Output, Proposed, Registry, Scope, Settled, Tollgate,
    guard::{Run, Spawner, TokioSpawner, Workspace},
    outcome::{FolderResults, Item},
    policy::Rules,
    tool::{ResultLimit, ToolBuilder},
};

/// What a tool with this limit says to a model with this window.
async fn said(text: String, limit: ResultLimit, window: Option<u32>) -> Settled {
    let tool = ToolBuilder::new("tell", "Tells.", json!({"type": "object"}))
        .unwrap()
        .spec(|spec| spec.max_result = limit)
        .effects(|_, _| Effects::reading())
        .run(move |_, _| {
            let text = text.clone();
            Box::pin(async move { Ok(Output::text(text)) })
        });
    let folder = tempfile::tempdir().unwrap();
    let gate = Tollgate::builder(Registry::new().with(tool).unwrap())
        .policy(Rules::new().allow("*").unwrap())
        .results(FolderResults::new(folder.path(), Arc::new(TokioSpawner::current().unwrap())))
        .build();
    let mut scope = Scope::new(Run::new("run"), Workspace::new("/"));
    scope.window = window;
    gate.call(&Arc::new(scope), Proposed::new("c", "tell", "{}")).await
}

fn shown(settled: &Settled) -> usize {
    match &settled.output().unwrap().items[..] {
        [Item::Text { text }] => text.chars().count(),
        items => panic!("{items:?}"),
    }
}

#[tokio::test]
async fn a_small_window_gets_a_shorter_preview_of_the_same_result() {
    let text = "a line of a long result\n".repeat(4_000);
    let wide = said(text.clone(), ResultLimit::Chars(50_000), None).await;
    let small = said(text.clone(), ResultLimit::Chars(50_000), Some(8_000)).await;
    assert!(shown(&wide) > 30_000 && shown(&small) < 9_000, "{} {}", shown(&wide), shown(&small));
    let (wide, small) = (wide.offloaded.clone().unwrap(), small.offloaded.clone().unwrap());
    assert_eq!((wide.result, wide.chars), (small.result, small.chars));
    assert_eq!(shown(&said("short".into(), ResultLimit::Chars(50_000), Some(8_000)).await), 5);
}

#[tokio::test]
async fn neither_a_wide_window_nor_a_tiny_one_changes_what_makes_sense() {
    let text = "x".repeat(20_000);
    let tool = said(text.clone(), ResultLimit::Chars(2_000), Some(1_000_000)).await;
    assert!(shown(&tool) < 3_000, "the tool's own limit holds");
    let tiny = said(text.clone(), ResultLimit::Chars(50_000), Some(10)).await;
    assert!((500..3_000).contains(&shown(&tiny)), "{}", shown(&tiny));
    let whole = said(text, ResultLimit::Unlimited, Some(4_000)).await;
    assert!(shown(&whole) == 20_000 && whole.offloaded.is_none(), "unlimited is meant");
}

/// Counts what it is asked to do on threads that may be blocked.
struct Counting(TokioSpawner, AtomicUsize);

impl Spawner for Counting {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.0.spawn(task);
    }

    fn blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.blocking(work);
    }
}

#[tokio::test]
async fn a_long_result_is_redacted_and_looked_through_on_threads_that_may_be_blocked() {
    for (lines, blocking) in [(100, 0), (100_000, 2)] {
        let counting = Arc::new(Counting(TokioSpawner::current().unwrap(), AtomicUsize::new(0)));
        let text = "ordinary line\nerror: AKIAIOSFODNN7EXAMPLE\n".repeat(lines);
        let tool = ToolBuilder::new("tell", "Tells.", json!({"type": "object"}))
            .unwrap()
            .spec(|spec| spec.max_result = ResultLimit::Chars(1_000))
            .effects(|_, _| Effects::reading())
            .run(move |_, _| {
                let text = text.clone();
                Box::pin(async move { Ok(Output::text(text)) })
            });
        let gate = Tollgate::builder(Registry::new().with(tool).unwrap())
            .policy(Rules::new().allow("*").unwrap())
            .spawner(Some(counting.clone()))
            .build();
        let scope = Arc::new(Scope::new(Run::new("run"), Workspace::new("/")));
        let settled = gate.call(&scope, Proposed::new("c", "tell", "{}")).await;
        assert_eq!(settled.offloaded.as_ref().unwrap().lines, 2 * lines);
        let Item::Text { text } = &settled.output().unwrap().items[0] else { panic!("{settled:?}") };
        assert!(!text.contains("AKIA") && text.contains("[redacted: "), "{text}");
        assert_eq!(counting.1.load(Ordering::SeqCst), blocking, "{lines} lines twice");
    }
}
