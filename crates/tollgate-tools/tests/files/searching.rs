use std::{
    os::unix::fs::symlink,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;
use tollgate::policy::{Nobody, Rules};

use super::world::{World, good, text, wrong};

fn tree(world: &World) {
    world.file("src/a.rs", "fn alpha() {}\nfn beta() {}\n");
    world.file("src/b.rs", "fn gamma() {}\n// alpha\n");
    world.file("docs/a.md", "alpha\nbeta\nAlpha\n");
    world.file(".hidden/a.rs", "alpha\n");
    world.file("ignored/a.rs", "alpha\n");
    world.file(".ignore", "ignored/\n");
}

#[tokio::test]
async fn matches_come_in_the_order_of_paths_with_their_numbers_and_nobody_is_asked() {
    let world = World::with(Rules::new(), Nobody);
    tree(&world);
    let settled = world.call("grep", json!({"pattern": "alpha"})).await;
    let expected = "docs/a.md\n1:alpha\nsrc/a.rs\n1:fn alpha() {}\nsrc/b.rs\n2:// alpha\n[3 matching lines in 3 files]\n";
    assert_eq!(text(&settled), expected);
}

#[tokio::test]
async fn every_way_to_narrow_and_to_show_a_search_works() {
    let world = World::new();
    tree(&world);
    for (input, expected) in [
        (json!({"pattern": "alpha", "output": "files"}), "docs/a.md\nsrc/a.rs\nsrc/b.rs\n[3 files]\n"),
        (
            json!({"pattern": "a", "output": "count", "path": "src"}),
            "src/a.rs: 2\nsrc/b.rs: 2\n[4 matching lines in 2 files]\n",
        ),
        (
            json!({"pattern": "alpha", "types": ["md"], "ignore_case": true, "output": "count"}),
            "docs/a.md: 2\n[2 matching lines in 1 file]\n",
        ),
        (json!({"pattern": "alpha", "globs": ["!*.md", "!b.rs"], "output": "files"}), "src/a.rs\n[1 file]\n"),
        (
            json!({"pattern": "beta", "types": ["md"], "before": 1, "after": 1}),
            "docs/a.md\n1-alpha\n2:beta\n3-Alpha\n[1 matching line in 1 file]\n",
        ),
        (
            json!({"pattern": "alpha.*gamma|alpha\\(\\) \\{\\}\\nfn", "multiline": true}),
            "src/a.rs\n1:fn alpha() {}\n2:fn beta() {}\n[2 matching lines in 1 file]\n",
        ),
        (
            json!({"pattern": "() {", "literal": true, "path": "src/b.rs"}),
            "src/b.rs\n1:fn gamma() {}\n[1 matching line in 1 file]\n",
        ),
        (
            json!({"pattern": "alpha", "hidden": true, "output": "files", "types": ["rust"]}),
            ".hidden/a.rs\nsrc/a.rs\nsrc/b.rs\n[3 files]\n",
        ),
        (
            json!({"pattern": "alpha", "no_ignore": true, "output": "files", "types": ["rust"]}),
            "ignored/a.rs\nsrc/a.rs\nsrc/b.rs\n[3 files]\n",
        ),
        (json!({"pattern": "nowhere"}), "[no match]\n"),
        (json!({"pattern": "alph", "word": true}), "[no match]\n"),
    ] {
        assert_eq!(text(&world.call("grep", input.clone()).await), expected, "{input}");
    }
}

#[tokio::test]
async fn more_than_was_asked_for_is_counted_and_not_shown() {
    let world = World::new();
    for at in 0..50 {
        world.file(&format!("f{at:02}.txt"), "hit\nhit\nmiss\n");
    }
    let shown = text(&world.call("grep", json!({"pattern": "hit", "limit": 5})).await);
    assert!(shown.starts_with("f00.txt\n1:hit\n2:hit\nf01.txt\n1:hit\n2:hit\nf02.txt\n1:hit\n["), "{shown}");
    assert!(shown.contains("[100 matching lines in 50 files; shown are the first 5"), "{shown}");
    let shown = text(&world.call("glob", json!({"pattern": "*.txt", "limit": 2})).await);
    assert!(shown.starts_with("f00.txt\nf01.txt\n[50 match; shown are the first 2"), "{shown}");
    world.file("long.txt", format!("{}needle{}\n", "x".repeat(100_000), "y".repeat(100_000)));
    let shown = text(&world.call("grep", json!({"pattern": "needle"})).await);
    assert!(shown.len() < 1_000 && shown.contains("needle"), "{shown}");
}

#[tokio::test]
async fn a_search_follows_no_link_and_opens_no_file_with_a_second_name() {
    let world = World::new();
    let outside = world.folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret.txt"), "needle").unwrap();
    symlink(&outside, world.path("link")).unwrap();
    symlink(outside.join("secret.txt"), world.path("file_link.txt")).unwrap();
    std::fs::hard_link(outside.join("secret.txt"), world.path("hard.txt")).unwrap();
    assert_eq!(text(&world.call("grep", json!({"pattern": "needle"})).await), "[no match]\n");
    for path in ["link", "file_link.txt", "hard.txt"] {
        let settled = world.call("grep", json!({"pattern": "needle", "path": path})).await;
        assert!(wrong(&settled).starts_with("outside_roots"), "{settled:?}");
    }
    let names = text(&world.call("glob", json!({"pattern": "**/secret.txt"})).await);
    assert_eq!(names, "[nothing matches]\n");
}

#[tokio::test]
async fn secrets_are_left_out_of_a_search_of_their_folder_and_that_is_said() {
    let world = World::new();
    world.file(".env", "needle");
    world.file("server.pem", "needle");
    world.file("a.txt", "needle");
    let shown = text(&world.call("grep", json!({"pattern": "needle", "hidden": true})).await);
    assert_eq!(
        shown,
        "a.txt\n1:needle\n[1 matching line in 1 file; 2 files not searched: secrets, or a rule keeps them from being read]\n"
    );
}

#[tokio::test]
async fn globs_match_names_anywhere_and_paths_from_the_folder() {
    let world = World::new();
    tree(&world);
    for (input, expected) in [
        (json!({"pattern": "*.rs"}), "src/a.rs\nsrc/b.rs\n[2 match]\n"),
        (json!({"pattern": "**/*.{rs,md}"}), "docs/a.md\nsrc/a.rs\nsrc/b.rs\n[3 match]\n"),
        (json!({"pattern": "src/*"}), "src/a.rs\nsrc/b.rs\n[2 match]\n"),
        (json!({"pattern": "A.*", "ignore_case": true, "path": "src"}), "src/a.rs\n[1 match]\n"),
        (json!({"pattern": "*", "kind": "folder"}), "docs\nsrc\n[2 match]\n"),
        (
            json!({"pattern": "*.rs", "hidden": true, "no_ignore": true}),
            ".hidden/a.rs\nignored/a.rs\nsrc/a.rs\nsrc/b.rs\n[4 match]\n",
        ),
    ] {
        assert_eq!(text(&world.call("glob", input.clone()).await), expected, "{input}");
    }
}

#[tokio::test]
async fn a_pattern_that_does_not_compile_is_refused_with_the_reason() {
    let world = World::new();
    for (tool, input) in [
        ("grep", json!({"pattern": "a("})),
        ("grep", json!({"pattern": "a", "types": ["nosuchtype"]})),
        ("grep", json!({"pattern": "a", "globs": ["a[" ]})),
        ("grep", json!({"pattern": "a\\nb"})),
        ("glob", json!({"pattern": "a["})),
        ("glob", json!({"pattern": "../*"})),
        ("glob", json!({"pattern": "/etc/*"})),
    ] {
        let settled = world.call(tool, input.clone()).await;
        assert!(wrong(&settled).starts_with("invalid_value"), "{input} {settled:?}");
        assert!(settled.refusal().unwrap().hint.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_is_cancelled_is_answered_and_over_at_once() {
    let world = World::new();
    // Long lines without a match: there is no hit at which the search could look up.
    let chunk = "x".repeat(1 << 20);
    let mut whole = String::new();
    (0..200).for_each(|_| whole.push_str(&chunk));
    world.file("big.txt", whole);
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let (gate, scope) = (world.gate.clone(), Arc::new((*world.scope).clone()));
    let token = scope.run.token().clone();
    let began = threads();
    let searching = tokio::spawn(async move {
        let input = json!({"pattern": "(x+x+)+y", "ignore_case": true});
        super::world::call(&gate, &scope, "grep", &input).await
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let cancelled = Instant::now();
    token.cancel();
    let settled = searching.await.unwrap();
    let took = cancelled.elapsed();
    assert!(settled.output().is_none(), "{settled:?}");
    assert!(took < Duration::from_millis(500), "answered after {took:?}");
    // The threads of the walk end too; the pool keeps its own for a while.
    while threads() > began + 2 && cancelled.elapsed() < Duration::from_secs(5) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(cancelled.elapsed() < Duration::from_secs(5), "{} threads go on", threads());
}

#[tokio::test]
async fn a_search_of_one_file_says_its_name() {
    let world = World::new();
    tree(&world);
    let settled = world.call("grep", json!({"pattern": "beta", "path": "src/a.rs"})).await;
    good(&settled);
    assert_eq!(text(&settled), "src/a.rs\n2:fn beta() {}\n[1 matching line in 1 file]\n");
}
