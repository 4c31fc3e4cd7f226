//! One round: two processes on one store, one of them ended or stopped somewhere, then everything checked.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{chance::Chance, check, worker::LEASE};

/// Where a store and what belongs to it is.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) url: Option<String>,
    pub(crate) home: PathBuf,
}

impl At {
    pub(crate) fn downstream(&self) -> PathBuf {
        self.beside("downstream")
    }

    pub(crate) fn acks(&self) -> PathBuf {
        self.beside("acks")
    }

    fn beside(&self, what: &str) -> PathBuf {
        self.home.with_extension(what)
    }

    /// The round's name, which the supervisor left for its workers.
    pub(crate) fn round(&self) -> String {
        std::fs::read_to_string(self.beside("round")).expect("a round")
    }
}

/// What happened in a round, or in all.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) mode: String,
    pub(crate) kills: u32,
    pub(crate) stops: u32,
    pub(crate) proposed: usize,
    pub(crate) ok: usize,
    pub(crate) unknown: usize,
    pub(crate) refused: usize,
    pub(crate) effects: usize,
}

impl Told {
    pub(crate) fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.stops += other.stops;
        self.proposed += other.proposed;
        self.ok += other.ok;
        self.unknown += other.unknown;
        self.refused += other.refused;
        self.effects += other.effects;
    }
}

/// Every step of the write order.
const POINTS: [&str; 15] = [
    "parked",
    "answered",
    "taken",
    "reserved",
    "proposed",
    "decided",
    "before_start",
    "before_commit",
    "after_commit",
    "started",
    "body_begins",
    "body_done",
    "before_settle",
    "settled",
    "delivered",
];

const CALLS: u32 = 30;

pub(crate) fn run(at: &At, number: u32, chance: &mut Chance) -> (Told, Vec<String>) {
    std::fs::write(at.beside("round"), format!("r{number}")).expect("writes");
    let mut told = Told::default();
    // Each step in turn, then at random times, then stopped past the lease.
    let step = number as usize % (POINTS.len() + 5);
    let count = 1 + chance.below(12);
    let fail = match step {
        step if step < POINTS.len() => Some(format!("kill:{}:{count}", POINTS[step])),
        step if step == POINTS.len() => Some(format!("stop:{}:{count}", chance.of(&POINTS))),
        _ => None,
    };
    told.mode = fail.clone().unwrap_or_else(|| "a random time".to_owned());
    let mut one = start(at, "a", fail.as_deref());
    let mut two = start(at, "b", None);
    match &fail {
        Some(fail) if fail.starts_with("stop") => {
            // Long enough for the other one to take it for dead; then it goes on and finds out.
            wait(&mut two, Duration::from_secs(60));
            std::thread::sleep(2 * LEASE);
            told.stops += u32::from(one.try_wait().expect("waits").is_none());
            signal(&one, Signal::CONT);
            wait(&mut one, Duration::from_secs(60));
        }
        Some(_) => {
            told.kills += u32::from(wait(&mut one, Duration::from_secs(60)) == Ending::Killed);
            // The other one goes on, is killed too, or comes to its end.
            if chance.below(2) == 0 {
                std::thread::sleep(Duration::from_millis(chance.below(30)));
                told.kills += u32::from(kill(&mut two));
            }
            wait(&mut two, Duration::from_secs(60));
        }
        None => {
            std::thread::sleep(Duration::from_millis(15 + chance.below(120)));
            told.kills += u32::from(kill(&mut one));
            std::thread::sleep(Duration::from_millis(chance.below(40)));
            if chance.below(2) == 0 {
                told.kills += u32::from(kill(&mut two));
            }
            wait(&mut two, Duration::from_secs(60));
        }
    }
    let violations = check::all(at, &mut told);
    (told, violations)
}

pub(crate) fn start(at: &At, name: &str, fail: Option<&str>) -> Child {
    let plan = format!("{name}|{CALLS}|{}|{}", at.home.display(), at.url.as_deref().unwrap_or_default());
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env("TOLLGATE_CRASH_WORKER", plan).stdin(Stdio::null());
    match fail {
        Some(fail) => command.env("TOLLGATE_FAILPOINT", fail),
        None => command.env_remove("TOLLGATE_FAILPOINT"),
    };
    command.spawn().expect("a worker")
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Killed,
}

/// Waits for the end. A worker that does not come to one is a violation of its own: it is ended, and told.
pub(crate) fn wait(child: &mut Child, most: Duration) -> Ending {
    use std::os::unix::process::ExitStatusExt as _;
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("waits") {
            return if status.signal().is_some() { Ending::Killed } else { Ending::Done };
        }
        if began.elapsed() > most {
            signal(child, Signal::CONT);
            let _ = child.kill();
            let _ = child.wait();
            panic!("a worker did not end within {most:?}");
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn kill(child: &mut Child) -> bool {
    let alive = child.try_wait().expect("waits").is_none();
    let _ = child.kill();
    let _ = child.wait();
    alive
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    let _ = kill_process(pid, signal);
}
