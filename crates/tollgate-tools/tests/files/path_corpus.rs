//! The path cases: nothing outside is opened or created, what is protected asks, what is malformed is refused.

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use serde_json::{Value, json};
use tollgate::{
    Scope, Settled,
    guard::{Run, Workspace},
    outcome::{RefusalCode, Status},
    policy::{Approver, Nobody, Policy, Rules},
    tool::{Access, Resource},
};

use super::{
    fixture,
    world::{Meanwhile, Protecting, gate, one_line},
};

use crate::skipped::skipped;

const CASES: &str = include_str!("../data/path.jsonl");
/// More of the same kind.
const OWN: &str = include_str!("../data/path_own.jsonl");

#[tokio::test]
async fn every_case_of_the_path_corpus_is_judged_as_labelled() {
    let mut seen = 0;
    for line in CASES.lines().chain(OWN.lines()) {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["input"]["race"].is_string() || case["input"]["requires"].is_string() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fixture::build(&top);
        let before = fixture::outside(&top);
        let settled = walk(&top, &case, Protecting, Nobody).await;
        assert_eq!(judged(&settled), case["label"], "{case}\n{settled:?}");
        assert_eq!(before, fixture::outside(&top), "{case}");
        seen += 1;
    }
    assert!(seen > 120);
}

#[tokio::test]
async fn a_swap_after_permission_reaches_nothing_outside() {
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if !case["input"]["race"].is_string() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fixture::build(&top);
        let before = fixture::outside(&top);
        let work = top.join("work");
        let first = case["input"]["path"].as_str().unwrap().split('/').next().unwrap().to_owned();
        let swap = move || {
            if work.join(&first).exists() {
                fs::rename(work.join(&first), work.join("moved_away")).unwrap();
            }
            symlink("../outside_dir", work.join(&first)).unwrap();
        };
        let asking = Rules::new().ask("*").unwrap();
        let settled = walk(&top, &case, asking, Meanwhile(swap)).await;
        assert_ne!(settled.status(), Status::Ok, "{case}\n{settled:?}");
        assert_eq!(before, fixture::outside(&top), "{case}");
    }
}

#[tokio::test]
async fn a_read_whose_folder_is_swapped_after_permission_shows_nothing_outside() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    let work = top.join("work");
    let swap = move || {
        fs::rename(work.join("race"), work.join("moved_away")).unwrap();
        symlink("../outside_dir", work.join("race")).unwrap();
    };
    let case = json!({"input": {"op": "read", "cwd": "{W}", "path": "race/target"}});
    let settled = walk(&top, &case, Rules::new().ask("*").unwrap(), Meanwhile(swap)).await;
    assert!(settled.failure().unwrap().message.contains("moved or replaced"), "{settled:?}");
}

#[tokio::test]
async fn a_file_with_a_second_name_counts_as_outside() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    for op in ["read", "write"] {
        let case = json!({"input": {"op": op, "cwd": "{W}", "path": "hard_out"}});
        let settled = walk(&top, &case, Protecting, Nobody).await;
        assert_eq!(judged(&settled), "outside", "{settled:?}");
    }
    assert_eq!(fs::read_to_string(top.join("outside_dir/secret.txt")).unwrap(), "outside_dir/secret.txt");
}

#[tokio::test]
async fn a_root_reached_by_another_name_is_still_the_root() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    for (path, label) in
        [("{T}/wlink/a.txt", "allow"), ("{T}/wlink/../secret.txt", "outside"), ("abslink_in", "allow")]
    {
        let case = json!({"input": {"op": "read", "cwd": "{W}", "path": path}});
        assert_eq!(judged(&walk(&top, &case, Protecting, Nobody).await), label, "{path}");
    }
}

#[tokio::test]
async fn a_root_that_is_missing_takes_nothing_from_the_others_and_none_allows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    let gate = gate(None, Protecting, Nobody);
    for (roots, label) in
        [(vec![top.join("gone"), top.join("work")], "allow"), (vec![top.join("gone")], "outside")]
    {
        let scope = Arc::new(Scope::new(Run::new("run"), Workspace::with_roots(top.join("work"), roots)));
        let settled = super::world::call(&gate, &scope, "read_file", &json!({"path": "a.txt"})).await;
        assert_eq!(judged(&settled), label, "{settled:?}");
    }
}

#[tokio::test]
async fn effects_name_what_a_link_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    let work = top.join("work");
    let scope = Arc::new(Scope::new(Run::new("run"), Workspace::new(&work)));
    let gate = gate(None, Protecting, Nobody);
    let input = json!({"path": "gitlink/config", "content": "x"}).to_string();
    let explained = gate.explain(&scope, tollgate::Proposed::new("1", "write", input)).await;
    let touched = Resource::Path { path: work.join(".git/config"), access: Access::Write };
    assert_eq!(explained.effects.touches, [touched]);
    assert_eq!(explained.decision, tollgate::policy::Decision::Ask);
}

#[tokio::test]
async fn a_file_system_mounted_inside_the_root_counts_as_outside() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    let target = top.join("work/bind_out");
    fs::create_dir(&target).unwrap();
    let Some(_mount) = Mount::bind(&top.join("outside_dir"), &target) else {
        skipped("a bind mount needs root");
        return;
    };
    let case = json!({"input": {"op": "read", "cwd": "{W}", "path": "bind_out/target"}});
    assert_eq!(judged(&walk(&top, &case, Protecting, Nobody).await), "outside");
}

struct Mount(std::path::PathBuf);

impl Mount {
    fn bind(from: &Path, to: &Path) -> Option<Self> {
        let done = std::process::Command::new("mount").arg("--bind").args([from, to]).output().ok()?;
        done.status.success().then(|| Self(to.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).output();
    }
}

async fn walk(top: &Path, case: &Value, policy: impl Policy, approver: impl Approver) -> Settled {
    let fill = |text: &str| {
        let work = top.join("work");
        text.replace("{W}", work.to_str().unwrap()).replace("{T}", top.to_str().unwrap())
    };
    let input = &case["input"];
    let (cwd, path) = (fill(input["cwd"].as_str().unwrap()), fill(input["path"].as_str().unwrap()));
    let workspace = Workspace::with_roots(cwd, vec![top.join("work")]);
    let scope = Arc::new(Scope::new(Run::new("run"), workspace));
    let gate = gate(None, policy, approver);
    let (tool, input) = match input["op"].as_str().unwrap() {
        "read" => ("read", one_line(&path)),
        "list" => ("read", json!({"operations": [{"mode": "directory", "path": path}]})),
        "write" => ("write", json!({"path": path, "content": "written"})),
        "create" => ("write", json!({"path": path, "content": "created", "mode": "create"})),
        other => panic!("no such operation: {other}"),
    };
    gate.call(&scope, tollgate::Proposed::new("call_1", tool, input.to_string())).await
}

fn judged(settled: &Settled) -> &'static str {
    match (settled.status(), settled.refusal().map(|refusal| refusal.code)) {
        (Status::Ok, _) => "allow",
        (_, Some(RefusalCode::OutsideRoots)) => "outside",
        (_, Some(RefusalCode::ApprovalRequired)) => "protected",
        (_, Some(RefusalCode::InvalidValue)) => "reject",
        _ => "something else",
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attacker_who_swaps_a_folder_all_the_time_gets_nothing_out() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    fixture::build(&top);
    let before = fixture::outside(&top);
    let (work, over) = (top.join("work"), Arc::new(AtomicBool::new(false)));
    symlink("../outside_dir", work.join("evil")).unwrap();
    let attacker = std::thread::spawn({
        let (work, over) = (work.clone(), over.clone());
        move || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, work.join("race"), CWD, work.join("evil"), RenameFlags::EXCHANGE).unwrap();
            }
        }
    });
    let scope = Arc::new(Scope::new(Run::new("run"), Workspace::new(&work)));
    let gate = gate(None, Rules::new().allow("*").unwrap(), Nobody);
    let (mut read, mut stopped) = (0, 0);
    for at in 0..400 {
        let input = match at % 3 {
            0 => ("read_file", json!({"path": "race/target"})),
            1 => ("write", json!({"path": "race/target", "content": "inside"})),
            _ => ("write", json!({"path": format!("race/new{at}/f"), "content": "inside"})),
        };
        let settled = super::world::call(&gate, &scope, input.0, &input.1).await;
        match settled.output() {
            Some(output) => {
                read += 1;
                assert!(!format!("{output:?}").contains("outside_dir"), "{output:?}");
            }
            None => stopped += 1,
        }
    }
    over.store(true, Ordering::Relaxed);
    attacker.join().unwrap();
    assert_eq!(before, fixture::outside(&top));
    assert!(stopped > 0, "{read} calls went through and none met the attacker");
}
