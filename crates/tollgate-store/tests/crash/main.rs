//! The crash test: real processes on one store, ended at every step of the write order and at random times.
//!
//! `cargo test -p tollgate-store --test crash` kills 100 times; `-- --kills 1000` as often as it says. After every
//! round each proposed call has exactly one terminal record, each effect happened at most once, `ok` means exactly
//! once, nothing acknowledged was lost, and no process is left. The first broken sentence ends the program with 1.

#![expect(clippy::disallowed_methods, reason = "the supervisor talks to its workers through the environment")]
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot set itself up should stop")]
#![expect(clippy::cast_possible_truncation, reason = "small numbers, by chance")]

#[path = "../../../tollgate/tests/skipped/mod.rs"]
mod skipped;
#[path = "../store/server.rs"]
mod server;
mod chance;
mod check;
mod full;
mod round;
mod worker;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use chance::Chance;
use tollgate_store::Place;

/// What the command line asks for.
struct Wanted {
    kills: u32,
    seed: u64,
}

fn main() -> ExitCode {
    if let Some(plan) = std::env::var_os("TOLLGATE_CRASH_WORKER") {
        return worker::run(&plan.to_string_lossy());
    }
    let wanted = match wanted(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(word) => {
            eprintln!("error: {word} is not known\nhint: --kills NUMBER, --seed NUMBER");
            return ExitCode::from(2);
        }
    };
    let began = Instant::now();
    println!("crash test: {} kills, seed {}", wanted.kills, wanted.seed);
    let mut violations = Vec::new();
    let postgres = server::fresh_url();
    let share = if postgres.is_some() { wanted.kills / 5 } else { 0 };
    violations.extend(on("sqlite", wanted.kills - share, &wanted, None));
    if let Some(url) = postgres {
        violations.extend(on("postgres", share, &wanted, Some(&url)));
    }
    violations.extend(full::disk());
    println!("{} violations, {:.1} s", violations.len(), began.elapsed().as_secs_f64());
    for violation in violations.iter().take(20) {
        eprintln!("violation: {violation}");
    }
    ExitCode::from(u8::from(!violations.is_empty()))
}

/// Rounds on one database until it was killed often enough.
fn on(name: &str, kills: u32, wanted: &Wanted, url: Option<&str>) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut chance = Chance::new(wanted.seed ^ u64::from(name.len() as u32));
    let mut violations = Vec::new();
    let mut total = round::Told::default();
    let mut number = 0;
    while total.kills < kills && violations.is_empty() {
        // A fresh place now and then keeps what is checked after each round small.
        let home = folder.path().join(format!("home-{}", number / 20));
        let place = round::At { url: url.map(str::to_owned), home };
        let (told, found) = round::run(&place, number, &mut chance);
        total.add(&told);
        violations.extend(found.into_iter().map(|v| format!("{name}, round {number}, {}: {v}", told.mode)));
        number += 1;
    }
    println!(
        "{name}: {} kills, {} stops past the lease, {} rounds, {} calls proposed, {} ok, {} unknown, {} refused, {} effects",
        total.kills,
        total.stops,
        number,
        total.proposed,
        total.ok,
        total.unknown,
        total.refused,
        total.effects
    );
    violations
}

fn wanted(mut args: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |now| now.as_nanos() as u64);
    let mut wanted = Wanted { kills: 100, seed: now };
    while let Some(arg) = args.next() {
        let number = |args: &mut dyn Iterator<Item = String>| {
            args.next().and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| arg.clone())
        };
        match arg.as_str() {
            "--kills" => wanted.kills = u32::try_from(number(&mut args)?).map_err(|_| arg)?,
            "--seed" => wanted.seed = number(&mut args)?,
            // What cargo and test runners add.
            _ if arg.starts_with("--") || arg.is_empty() => {}
            _ => return Err(arg),
        }
    }
    Ok(wanted)
}

fn place_of(at: &round::At) -> Place {
    match &at.url {
        Some(url) => Place::postgres(url.clone(), at.home.clone()).expect("a place"),
        None => Place::folder(PathBuf::from(&at.home)),
    }
}
