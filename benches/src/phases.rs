//! Where the time of one call goes: the path walked up to each phase, against the floor of the whole.

use std::{hint::black_box, sync::Arc};

use tollgate::{
    Proposed, Tollgate,
    call::{Call, Guards, Passed, Records},
    event::Events,
    guard::{BreakerSettings, Breakers, MemoryLedger},
    hook::Hooks,
    policy::{Nobody, Rules},
};

use crate::{
    path::{CALLS, Floor, INPUT, gate, scope},
    table::{Row, best_of, wanted},
};

const PHASES: [&str; 8] =
    ["proposed", "resolved", "validated", "checked", "prepared", "permitted", "executed", "settled"];

/// The rows of one call's phases, each up to and including the phase it names.
pub(crate) fn rows(runtime: &tokio::runtime::Runtime) -> Vec<Row> {
    let gate = gate(1, None);
    let events = Events::default();
    let floor = Floor::new();
    let bare = || {
        runtime.block_on(async {
            for _ in 0..CALLS {
                black_box(floor.call(black_box("add"), black_box(INPUT)).await);
            }
        });
    };
    let walker = Walker::new(&gate);
    let mut rows = Vec::new();
    for (until, phase) in PHASES.iter().enumerate() {
        let name = format!("until {phase}");
        if !wanted(&name) {
            continue;
        }
        let scope = scope();
        let walk = |()| {
            runtime.block_on(async {
                for _ in 0..CALLS {
                    let call = Proposed::new(black_box("call_1"), black_box("add"), black_box(INPUT));
                    walker.walk(Call::propose(call, 0, &scope, &events), until).await;
                }
            });
        };
        let (floor, path) = best_of(300, bare, || (), walk);
        rows.push(Row::ratio(
            &name,
            "look-up + JSON + schema + boxed call",
            floor / CALLS,
            path / CALLS,
            None,
        ));
    }
    rows
}

struct Walker {
    snapshot: Arc<tollgate::catalog::Snapshot>,
    rules: Rules,
    hooks: Hooks,
    guards: Guards,
    records: Records,
}

impl Walker {
    fn new(gate: &Tollgate) -> Self {
        let ledger = Arc::new(MemoryLedger::new(10));
        Self {
            snapshot: gate.snapshot(),
            rules: Rules::new().allow("add").expect("a rule"),
            hooks: Hooks::default(),
            guards: Guards {
                breakers: Arc::new(Breakers::new(BreakerSettings::default())),
                ledger: ledger.clone(),
                spawner: None,
                redactor: None,
            },
            records: Records { ledger, results: None, spawner: None },
        }
    }

    async fn walk(&self, call: Call<Proposed>, until: usize) {
        let call = black_box(call);
        if until == 0 {
            return;
        }
        let call = black_box(call.resolve(&self.snapshot).expect("a tool"));
        if until == 1 {
            return;
        }
        let call = black_box(call.validate(&self.records).expect("valid"));
        if until == 2 {
            return;
        }
        let call = black_box(call.check(&self.rules).await.expect("checked"));
        if until == 3 {
            return;
        }
        let Passed::Ready(call) = black_box(call.before(&self.hooks).await.expect("no hooks")) else {
            return;
        };
        if until == 4 {
            return;
        }
        let call = black_box(call.permit(&self.rules, &Nobody, &self.guards).await.expect("allowed"));
        if until == 5 {
            return;
        }
        let call = black_box(call.execute(&self.guards).await.expect("runs"));
        if until == 6 {
            return;
        }
        let _ = black_box(call.after(&self.hooks).await.settle(&self.records).await);
    }
}
