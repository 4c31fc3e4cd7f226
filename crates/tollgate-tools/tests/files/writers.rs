//! Many writers in two processes on the same files: no change is lost, and every loser is told.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tollgate::{
    Scope,
    guard::{Run, Workspace},
    policy::{Nobody, Rules},
};
use tollgate_tools::journal::Journal;

use super::world::{call, gate, hash, text, wrong};

const FILES: usize = 50;
const PROCESSES: usize = 2;
const WRITERS: usize = 4;
const EDITS: usize = 10_000 / PROCESSES / WRITERS;
const FOLDER: &str = "TOLLGATE_TEST_WRITERS";

#[test]
fn ten_thousand_edits_of_eight_writers_in_two_processes_lose_nothing() {
    // In memory where that can be had: the disk's flushing is not what is tried here.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    for file in 0..FILES {
        std::fs::write(work.join(file.to_string()), "count 0\n").unwrap();
    }
    let children = (0..PROCESSES).map(|_| start(folder.path())).collect::<Vec<_>>();
    let (mut won, mut lost) = (0, 0);
    for mut child in children {
        assert!(child.ended().success(), "a process of writers failed");
        let told = std::fs::read_to_string(folder.path().join(child.0.id().to_string())).unwrap();
        let (w, l) = told.split_once(' ').unwrap();
        won += w.parse::<usize>().unwrap();
        lost += l.parse::<usize>().unwrap();
    }
    let written: usize =
        (0..FILES).map(|file| count(&std::fs::read_to_string(work.join(file.to_string())).unwrap())).sum();
    println!("{won} edits won, {lost} lost and were told");
    assert_eq!(won + lost, PROCESSES * WRITERS * EDITS);
    assert_eq!(written, won);
    assert!(lost > 0, "nobody ever met another: nothing was tried");
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), FILES, "something was left behind");
}

/// One of the processes; does nothing where nobody started it.
#[test]
fn one_process_of_writers() {
    #[expect(clippy::disallowed_methods, reason = "how a test tells its own second process where to work")]
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let folder = folder.clone();
            std::thread::spawn(move || write(&folder, writer))
        })
        .collect();
    let told = writers.into_iter().map(|writer| writer.join().unwrap());
    let (won, lost) = told.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    std::fs::write(folder.join(std::process::id().to_string()), format!("{won} {lost}")).unwrap();
}

/// A writer with a gate of its own: nothing but the files is shared with the others.
fn write(folder: &Path, writer: usize) -> (usize, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let run = Run::new(format!("{}-{writer}", std::process::id()));
        let scope = Arc::new(Scope::new(run, Workspace::new(folder.join("work").canonicalize().unwrap())));
        let gate = gate(Some(Journal::at(folder.join("journal"))), Rules::new().allow("*").unwrap(), Nobody);
        let (mut won, mut lost) = (0, 0);
        for edit in 0..EDITS {
            let path = (edit % FILES).to_string();
            let read = call(&gate, &scope, "read_file", &json!({"path": path})).await;
            let (seen, now) = (hash(&read), count(&text(&read)));
            let edits = json!([{"op": "replace", "old": format!("count {now}\n"), "new": format!("count {}\n", now + 1)}]);
            let changed = call(&gate, &scope, "edit", &json!({"path": path, "hash": seen, "edits": edits})).await;
            if changed.output().is_some() {
                won += 1;
            } else {
                let said = wrong(&changed);
                assert!(said.contains("not what you last saw"), "{said}");
                lost += 1;
            }
        }
        (won, lost)
    })
}

fn count(text: &str) -> usize {
    text.trim()
        .strip_prefix("count ")
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{text:?}"))
}

struct Process(Child);

fn start(folder: &Path) -> Process {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "writers::one_process_of_writers"]).env(FOLDER, folder).stdin(Stdio::null());
    Process(command.spawn().unwrap())
}

impl Process {
    /// Waits, but not for ever.
    fn ended(&mut self) -> std::process::ExitStatus {
        let until = Instant::now() + Duration::from_secs(300);
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the writers do not come to an end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
