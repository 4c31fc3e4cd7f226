//! Thousands of random turns, two dispatchers at a time in one workspace, against a simple model of the
//! dispatch rule.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as loudly as tests")]

mod model;
mod plan;
mod seen;
#[path = "../turns/mod.rs"]
mod world;

use std::time::Duration;

use tokio::time::sleep;
use tollgate::{Settled, Tollgate, guard::Workspace};
use world::{Sign, World};

use crate::{
    model::{Turn, nothing_shares_the_workspace_with_a_write},
    plan::{Dice, How, Plan, Planned, Written},
    seen::Seen,
};

const SEEDS: [u64; 4] = [1, 0x9E37_79B9, 0xDEAD_BEEF, 20_26];
const ROUNDS: usize = 250;
/// How long a body that was told to stop may take to end.
const GRACE: Duration = Duration::from_millis(251);
const CAPS: [usize; 5] = [1, 2, 3, 5, 10];

#[tokio::test(start_paused = true)]
async fn a_thousand_random_turns_keep_to_the_model() {
    let mut seen = Seen::default();
    for seed in SEEDS {
        let (mut dice, world, workspace) = (Dice(seed), World::default(), Workspace::new("/work"));
        let gates: Vec<[Tollgate; 2]> =
            CAPS.map(|cap| [(); 2].map(|()| world::builder(&world).max_concurrency(cap).build())).into();
        for round in 0..ROUNDS {
            world.forget();
            let [mine, theirs] = ["a", "b"].map(|side| {
                let cap = dice.below(CAPS.len());
                (cap, Plan::roll(&mut dice, CAPS[cap], format!("{seed}-{round}-{side}")))
            });
            let (my_answers, their_answers) = tokio::join!(
                play(&gates[mine.0][0], &mine.1, &world, &workspace),
                play(&gates[theirs.0][1], &theirs.1, &world, &workspace),
            );
            // What was stopped and would not hear of it has gone by now.
            sleep(Duration::from_secs(2)).await;
            let marks = world.marks();
            nothing_shares_the_workspace_with_a_write(&marks, &mut seen);
            Turn::new(&mine.1, &my_answers, &marks).judge(&mut seen);
            Turn::new(&theirs.1, &their_answers, &marks).judge(&mut seen);
        }
    }
    seen.everything();
}

async fn play(gate: &Tollgate, plan: &Plan, world: &World, workspace: &Workspace) -> Vec<Settled> {
    let scope = world::scope(&plan.run, workspace);
    sleep(Duration::from_millis(plan.begins_at)).await;
    let turn = gate.turn(&scope);
    let (interrupter, token) = (turn.interrupter(), scope.run.token().clone());
    let stopping = async {
        let Some((after, how)) = plan.stop else { return };
        sleep(Duration::from_millis(after)).await;
        world.mark(&plan.run, "", Sign::Stop);
        match how {
            How::RunCancelled => token.cancel(),
            How::NewMessage => interrupter.new_message(),
            How::StopEverything => interrupter.stop_everything(),
        }
    };
    let calls: Vec<_> = plan.calls.iter().map(Planned::proposed).collect();
    let running = async {
        let Some(Written { gap, cut }) = plan.written else { return turn.run(calls).await };
        let mut stream = turn.streaming();
        for call in calls {
            stream.push(call);
            sleep(Duration::from_millis(gap)).await;
        }
        if cut { stream.cut("The stream broke.").await } else { stream.finish().await }
    };
    tokio::join!(running, stopping).0
}
