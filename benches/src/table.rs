//! Rows of a table: what was measured, its floor, the ratio, and the limit it should stay under.

use std::time::{Duration, Instant};

/// One figure against its floor.
pub(crate) struct Row {
    name: String,
    floor_name: String,
    floor: Measure,
    figure: Measure,
    limit: Option<f64>,
}

/// What was measured.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Measure {
    Time(Duration),
    Kibibytes(u32),
}

/// True for what the first word of the command line asks for; without one, everything.
pub(crate) fn wanted(name: &str) -> bool {
    std::env::args().nth(1).is_none_or(|only| name.contains(&only))
}

impl Row {
    pub(crate) fn ratio(
        name: &str,
        floor_name: &str,
        floor: impl Into<Measure>,
        figure: impl Into<Measure>,
        limit: Option<f64>,
    ) -> Self {
        let (floor, figure) = (floor.into(), figure.into());
        Self { name: name.to_owned(), floor_name: floor_name.to_owned(), floor, figure, limit }
    }

    fn value(&self) -> f64 {
        self.figure.amount() / self.floor.amount()
    }
}

impl Measure {
    fn amount(self) -> f64 {
        match self {
            Self::Time(time) => time.as_secs_f64(),
            Self::Kibibytes(size) => f64::from(size),
        }
    }
}

impl From<Duration> for Measure {
    fn from(time: Duration) -> Self {
        Self::Time(time)
    }
}

impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Time(time) => f.pad(&format!("{time:.2?}")),
            Self::Kibibytes(size) => f.pad(&format!("{size} KiB")),
        }
    }
}

/// The best times of both, measured in turns so that a noisy moment meets both. `input` is made outside, and
/// what comes out is given back outside.
pub(crate) fn best_of<T, A, B>(
    rounds: usize,
    floor: impl Fn() -> A,
    input: impl Fn() -> T,
    figure: impl Fn(T) -> B,
) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let began = Instant::now();
        let made = floor();
        best.0 = best.0.min(began.elapsed());
        drop(made);
        let input = input();
        let began = Instant::now();
        let made = figure(input);
        best.1 = best.1.min(began.elapsed());
        drop(made);
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
            "{:<52} {:>12} {:>12} {:>7.3} {:>7}  {}{}",
            row.name,
            row.floor,
            row.figure,
            row.value(),
            row.limit.map_or("-".to_owned(), |limit| format!("{limit:.2}")),
            row.floor_name,
            if over { "   OVER" } else { "" },
        );
    }
    good
}
