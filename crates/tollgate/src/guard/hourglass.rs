//! Time that does not count: while somebody is asked on a call's behalf, its deadlines come no nearer.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How long others may think in all during one call. What is beyond counts.
const MOST: Duration = Duration::from_secs(60 * 60);

/// The time of a running call. Clones are the same one.
///
/// It stands still for as long as somebody holds it still: a body that waits for a person, or a server that does, is
/// not late because the person thinks.
#[derive(Debug, Clone, Default)]
pub struct Hourglass(Arc<Mutex<Sand>>);

#[derive(Debug, Default)]
struct Sand {
    holders: u32,
    // Since when it stands still; after that, when it last ran on.
    turned: Option<Instant>,
    stood: Duration,
}

/// Holds an hourglass still until it is dropped.
#[derive(Debug)]
#[must_use = "time runs on as soon as this is dropped"]
pub struct Still(Hourglass);

impl Hourglass {
    /// From now on time does not count.
    pub fn hold(&self) -> Still {
        let mut sand = self.sand();
        sand.holders += 1;
        if sand.holders == 1 {
            sand.turned = Some(Instant::now());
        }
        drop(sand);
        Still(self.clone())
    }

    /// Resolves when this much time has run.
    pub async fn run_out(&self, limit: Duration) {
        let (began, stood) = (Instant::now(), self.stood());
        let left =
            || (limit + self.stood()).checked_sub(stood + began.elapsed()).filter(|left| !left.is_zero());
        while let Some(left) = left() {
            tokio::time::sleep(left).await;
        }
    }

    /// How long it has stood still so far.
    pub(super) fn stood(&self) -> Duration {
        let sand = self.sand();
        let now = sand.turned.filter(|_| sand.holders > 0).map_or(Duration::ZERO, |since| since.elapsed());
        (sand.stood + now).min(MOST)
    }

    /// When it last ran on, or now while it stands still.
    pub(super) fn ran_on(&self) -> Option<Instant> {
        let sand = self.sand();
        if sand.holders > 0 { Some(Instant::now()) } else { sand.turned }
    }

    fn sand(&self) -> MutexGuard<'_, Sand> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        let mut sand = self.0.sand();
        sand.holders -= 1;
        if sand.holders == 0 {
            let since = sand.turned.replace(Instant::now());
            sand.stood += since.map_or(Duration::ZERO, |since| since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn time_that_somebody_holds_still_does_not_run_however_many_hold_it() {
        let (glass, began) = (Hourglass::default(), Instant::now());
        let runs = glass.run_out(3 * SECOND);
        let held = async {
            tokio::time::sleep(SECOND).await;
            let first = glass.hold();
            tokio::time::sleep(10 * SECOND).await;
            let second = glass.clone().hold();
            drop(first);
            tokio::time::sleep(10 * SECOND).await;
            drop(second);
        };
        tokio::join!(runs, held);
        assert_eq!(began.elapsed(), 23 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_holds_it_still_for_ever() {
        let (glass, began) = (Hourglass::default(), Instant::now());
        let _still = glass.hold();
        glass.run_out(SECOND).await;
        assert_eq!(began.elapsed(), MOST + SECOND);
    }
}
