//! Arguments that panic when they are dropped, wherever on their way that is.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Output, Proposed, Scope, Settled, Tool, ToolSpec,
    hook::Before,
    outcome::{
        Phase::{Check, Resolve},
        RefusalCode::*,
        Status,
    },
    policy::Rules,
};

use crate::world::{Scripted, World, fine, refused};

/// Panics when it is dropped, and counts how often.
struct Explosive;

static EXPLODED: AtomicUsize = AtomicUsize::new(0);

impl<'de> Deserialize<'de> for Explosive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl Drop for Explosive {
    fn drop(&mut self) {
        EXPLODED.fetch_add(1, Ordering::AcqRel);
        std::panic::resume_unwind(Box::new("dropped"));
    }
}

/// A tool that takes it.
#[derive(Clone, Copy, Default)]
struct Takes {
    writes: bool,
    hangs: bool,
    inline: bool,
}

impl Tool for Takes {
    type Args = Explosive;

    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let mut spec = ToolSpec::new("t", "Takes it.", schema).unwrap();
        (spec.inline, spec.timeouts.total) = (self.inline, Duration::from_secs(1));
        spec
    }

    fn effects(&self, _: &Scope, _: &Explosive) -> Effects {
        if self.writes { Effects::writing() } else { Effects::reading() }
    }

    async fn run(&self, _: &Cx, _: &Explosive) -> Result<Output, Failure> {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        fine()
    }
}

/// One call, few of one turn, and so many that what is left of them is dropped after whoever waits has the answers.
#[tokio::test(start_paused = true)]
async fn they_take_no_answer_along_and_none_is_kept() {
    let mut world = World::of(Takes::default()).build();
    let mut made = 0;
    for many in [1, 2, 200] {
        let calls = (0..many).map(|_| world.proposed("t", "{}")).collect();
        let answers = world.gate.turn(&world.scope()).run(calls).await;
        assert_eq!(answers.iter().filter(|answer| answer.status() == Status::Ok).count(), many);
        made += many;
    }
    assert_eq!(world.call("t", json!({})).await.status(), Status::Ok);
    let mut strict = World::of(Takes::default()).rules(Rules::new().deny("t").unwrap()).build();
    assert_eq!(refused(&strict.call("t", json!({})).await), (Check, Denied));
    let rewrites = Scripted::gate("rewrites").before(|_| Before::Rewrite(json!({"n": 1})));
    let mut rewritten = World::of(Takes::default()).hook(rewrites).build();
    assert_eq!(rewritten.call("t", json!({})).await.status(), Status::Ok);
    tokio::time::timeout(Duration::from_secs(60), async {
        while EXPLODED.load(Ordering::Acquire) < made + 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("each of them dropped");
}

#[tokio::test(start_paused = true)]
async fn of_a_turn_that_is_cut_or_shares_an_id_every_call_is_answered() {
    let write = Takes { writes: true, ..Takes::default() };
    for tool in [write, Takes::default()] {
        let world = World::of(tool).build();
        let begin = |ids: [&str; 2]| {
            let mut turn = world.gate.turn(&world.scope()).streaming();
            ids.into_iter().for_each(|id| turn.push(Proposed::new(id, "t", "{}")));
            turn
        };
        let cut = begin(["a", "b"]).cut("The stream broke.").await;
        assert_eq!(cut.iter().map(refused).collect::<Vec<_>>(), [(Resolve, ProtocolError); 2]);
        let shared = begin(["a", "a"]).finish().await;
        assert_eq!(shared.iter().map(refused).collect::<Vec<_>>(), [(Resolve, ProtocolError)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_given_up_takes_no_answer_along() {
    for inline in [false, true] {
        let world = World::of(Takes { hangs: true, inline, ..Takes::default() }).build();
        let calls = ["a", "b"].map(|id| Proposed::new(id, "t", "{}"));
        let answers = world.gate.turn(&world.scope()).run(calls.into()).await;
        assert_eq!(answers.iter().map(Settled::status).collect::<Vec<_>>(), [Status::RetryableError; 2]);
    }
}
