//! Rows of a table: what was measured, its floor, the ratio, and the limit it should stay under.

use std::time::{Duration, Instant};

/// One figure.
pub(crate) struct Row {
    name: String,
    floor_name: String,
    floor: Duration,
    figure: Duration,
    limit: Option<f64>,
}

impl Row {
    pub(crate) fn ratio(
        name: &str,
        floor_name: &str,
        floor: Duration,
        figure: Duration,
        limit: Option<f64>,
    ) -> Self {
        Self { name: name.to_owned(), floor_name: floor_name.to_owned(), floor, figure, limit }
    }

    fn value(&self) -> f64 {
        self.figure.as_secs_f64() / self.floor.as_secs_f64()
    }
}

/// The best times of both, measured in turns so that a noisy moment meets both.
pub(crate) fn best_of(
    rounds: usize,
    mut floor: impl FnMut(),
    mut figure: impl FnMut(),
) -> (Duration, Duration) {
    let timed = |work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        best.0 = best.0.min(timed(&mut floor));
        best.1 = best.1.min(timed(&mut figure));
    }
    best
}

/// Prints the rows; true when every one is within its limit.
pub(crate) fn print(title: &str, rows: &[Row]) -> bool {
    println!("\n{title}");
    println!("{:<52} {:>12} {:>12} {:>7} {:>7}  floor", "what", "floor", "measured", "ratio", "limit");
    let mut good = true;
    for row in rows {
        let over = row.limit.is_some_and(|limit| row.value() > limit);
        good &= !over;
        println!(
            "{:<52} {:>12} {:>12} {:>7.2} {:>7}  {}{}",
            row.name,
            format!("{:.2?}", row.floor),
            format!("{:.2?}", row.figure),
            row.value(),
            row.limit.map_or("-".to_owned(), |limit| format!("{limit:.2}")),
            row.floor_name,
            if over { "   OVER" } else { "" },
        );
    }
    good
}
