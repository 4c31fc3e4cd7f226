use std::time::{Duration, Instant};

use crate::world::{Ran, World};

/// The words without the figures and bars, which are of this very run.
fn lasting(text: &str) -> Vec<String> {
    let steady = |line: &str| -> String {
        let letters = line.chars().filter(|c| *c != '=' && !c.is_ascii_digit()).collect::<String>();
        letters.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    text.lines().map(steady).collect()
}

#[test]
fn the_demonstration_shows_each_thing_it_promises_within_three_seconds() {
    let began = Instant::now();
    let ran = World::new().run(&["demo", "path"]);
    let took = began.elapsed();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(took < Duration::from_secs(3), "{took:?}");
    for said in [
        "batch 1: 3 calls in ",
        "    w1  ok       written",
        "    d1  refused  at 2 check, denied",
        "did you mean \"path\"?",
        "    h1  at_most_fifty rewrote the input",
        "    h1  ok       {\"query\":\"TODO\",\"limit\":50}",
        "    u1  unknown  The tool was stopped: it did not finish within 300ms.",
        "tollgate explain TOOL JSON --mocks FILE",
    ] {
        assert!(ran.out.contains(said), "{said}\n{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "no colour in a pipe");
    assert_eq!(lasting(&ran.out), lasting(&World::new().run(&["demo", "path"]).out));
}

#[test]
fn the_bars_show_reads_together_and_the_write_alone() {
    let out = World::new().run(&["demo", "path"]).out;
    let bar = |call: &str| {
        let line =
            out.lines().find(|line| line.contains('=') && line.contains(&format!(" {call} "))).unwrap();
        (line.find('=').unwrap(), line.rfind('=').unwrap())
    };
    let (r1, r2, r3, w1, r4) = (bar("r1"), bar("r2"), bar("r3"), bar("w1"), bar("r4"));
    let reads = [r1, r2, r3];
    let (last_start, first_end) =
        (reads.map(|read| read.0).into_iter().max(), reads.map(|read| read.1).into_iter().min());
    assert!(last_start < first_end, "{out}");
    assert!(reads.iter().all(|read| read.1 <= w1.0), "{out}");
    assert!(w1.1 <= r4.0, "{out}");
}

#[test]
fn the_json_of_the_demonstration_is_one_result_a_line() {
    let ran = World::new().run(&["demo", "path", "--json"]);
    let told: Vec<_> = ran
        .lines()
        .iter()
        .map(|result| {
            (result["id"].as_str().unwrap().to_owned(), result["status"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("r1", "ok"),
        ("r2", "ok"),
        ("r3", "ok"),
        ("w1", "ok"),
        ("r4", "ok"),
        ("d1", "refused"),
        ("d2", "refused"),
        ("h1", "ok"),
        ("u1", "unknown"),
    ];
    assert_eq!(told, expected.map(|(id, status)| (id.to_owned(), status.to_owned())));
    let concurrent: Vec<_> = ran.lines().iter().map(|result| result["was_concurrent"] == true).collect();
    assert_eq!(concurrent[..5], [true, true, true, false, false]);
}

#[test]
fn the_sum_of_a_run_says_that_it_counts_the_calls_that_ran() {
    let world = World::new();
    let ran: Ran = world.command(&["demo"]).env("PATH", "/usr/bin:/bin").output().unwrap().into();
    let said = format!("{}{}", ran.out, ran.err);
    let refused = said.lines().filter(|line| line.starts_with("refused")).count();
    let settled = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!((settled, refused), (6, 1), "{said}");
    assert!(said.contains("5 turns, 6 calls ran, "), "{said}");
}
