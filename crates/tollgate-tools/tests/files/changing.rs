use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::{Value, json};
use tollgate::{
    outcome::Status,
    policy::{Nobody, Rules},
};

use super::world::{World, good, hash, meta, text, wrong};

use crate::skipped::skipped;

fn replace(old: &str, new: &str) -> Value {
    json!({"op": "replace", "old": old, "new": new})
}

#[tokio::test]
async fn a_change_asks_unless_a_rule_allows_it() {
    let world = World::with(Rules::new(), Nobody);
    for (tool, input) in [
        ("write", json!({"path": "a", "content": "x"})),
        ("fsWrite", json!({"path": "a", "content": "x"})),
        ("edit", json!({"path": "a", "edits": [{"op": "create", "text": "x"}]})),
    ] {
        assert!(wrong(&world.call(tool, input).await).starts_with("approval_required"));
    }
    assert!(!world.path("a").exists());
}

#[tokio::test]
async fn write_creates_overwrites_and_appends() {
    let world = World::new();
    let settled =
        world.call("write", json!({"path": "new/deep/a.txt", "content": "one\n", "mode": "create"})).await;
    assert_eq!(meta(&settled)["change"], "created");
    assert_eq!(meta(&settled)["lines_added"], 1);
    let again =
        world.call("write", json!({"path": "new/deep/a.txt", "content": "x", "mode": "create"})).await;
    assert!(wrong(&again).contains("exists already"), "{again:?}");
    good(&world.call("write", json!({"path": "new/deep/a.txt", "content": "two", "mode": "append"})).await);
    assert_eq!(world.content("new/deep/a.txt"), "one\ntwo\n");
    let settled = world.call("write", json!({"path": "new/deep/a.txt", "content": "three"})).await;
    assert_eq!(world.content("new/deep/a.txt"), "three");
    assert_eq!(
        (meta(&settled)["lines_added"].clone(), meta(&settled)["lines_removed"].clone()),
        (json!(1), json!(2))
    );
    assert!(text(&settled).contains("-one\n-two\n+three\n"), "{settled:?}");
    let read = world.call("read_file", json!({"path": "new/deep/a.txt"})).await;
    assert_eq!(hash(&read), hash(&settled));
    let leftovers = fs::read_dir(world.path("new/deep")).unwrap().count();
    assert_eq!(leftovers, 1);
}

#[tokio::test]
async fn a_replacement_must_match_exactly_once_or_as_often_as_it_says() {
    let world = World::new();
    world.file("a.rs", "let a = 1;\nlet b = 1;\nlet c = 2;\n");
    let edit = |edits: Value| world.call("edit", json!({"path": "a.rs", "edits": edits}));
    let twice = edit(json!([replace("= 1", "= 3")])).await;
    assert!(wrong(&twice).contains("there 2 times, on lines 1, 2"), "{twice:?}");
    let missed = edit(json!([replace("let  b = 1;", "x")])).await;
    assert!(wrong(&missed).contains("The same but for white space:\n     2\tlet b = 1;"), "{missed:?}");
    assert_eq!(world.content("a.rs"), "let a = 1;\nlet b = 1;\nlet c = 2;\n");
    good(&edit(json!([{"op": "replace", "old": "= 1", "new": "= 3", "count": 2}])).await);
    assert_eq!(world.content("a.rs"), "let a = 3;\nlet b = 3;\nlet c = 2;\n");
}

#[tokio::test]
async fn several_edits_are_made_in_order_and_all_or_none() {
    let world = World::new();
    world.file("a.txt", "one\ntwo\nthree\n");
    let edits = json!([
        replace("two", "2"),
        {"op": "insert", "line": 1, "text": "zero"},
        {"op": "insert", "line": 5, "text": "four"},
        {"op": "append", "text": "five\n"},
        replace("zero\none\n2", "0\n1\n2"),
    ]);
    good(&world.call("edit", json!({"path": "a.txt", "edits": edits})).await);
    assert_eq!(world.content("a.txt"), "0\n1\n2\nthree\nfour\nfive\n");
    let half = json!([replace("three", "3"), replace("not there", "x")]);
    assert_eq!(
        world.call("edit", json!({"path": "a.txt", "edits": half})).await.status(),
        Status::FatalError
    );
    let past = json!([{"op": "insert", "line": 9, "text": "x"}]);
    assert!(
        wrong(&world.call("edit", json!({"path": "a.txt", "edits": past})).await).contains("has 6 lines")
    );
    assert_eq!(world.content("a.txt"), "0\n1\n2\nthree\nfour\nfive\n");
}

#[tokio::test]
async fn a_unified_diff_is_applied_where_its_lines_are() {
    let world = World::new();
    let whole: String = (1..=20).map(|line| format!("line {line}\n")).collect();
    world.file("a.txt", &whole);
    // The numbers are two off, as they are when something was inserted above.
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -2,3 +2,3 @@\n line 4\n-line 5\n+LINE 5\n line 6\n@@ -18,3 +18,4 @@\n line 18\n line 19\n line 20\n+line 21\n";
    good(&world.call("edit", json!({"path": "a.txt", "diff": diff})).await);
    assert_eq!(world.content("a.txt"), whole.replace("line 5\n", "LINE 5\n") + "line 21\n");
    let off = "@@ -1,2 +1,2 @@\n line 1\n-line two\n+x\n";
    let missed = world.call("edit", json!({"path": "a.txt", "diff": off})).await;
    assert!(
        wrong(&missed).contains("hunk 1 does not fit") && wrong(&missed).contains("     1\tline 1"),
        "{missed:?}"
    );
    let none = world.call("edit", json!({"path": "a.txt", "diff": "nothing"})).await;
    assert!(wrong(&none).contains("no hunk"));
}

#[tokio::test]
async fn a_diff_says_whether_the_file_ends_with_a_line_break() {
    let world = World::new();
    world.file("a.txt", "one\ntwo");
    let diff = "@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n";
    good(&world.call("edit", json!({"path": "a.txt", "diff": diff})).await);
    assert_eq!(world.content("a.txt"), "one\ntwo\n");
    let diff = "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n";
    good(&world.call("edit", json!({"path": "a.txt", "diff": diff})).await);
    assert_eq!(world.content("a.txt"), "one\n2");
}

#[tokio::test]
async fn line_endings_final_newline_mode_and_foreign_bytes_are_kept() {
    let world = World::new();
    let path = world.file("a.txt", "one\r\ntwo\r\nthree");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let edits = json!([replace("one\ntwo", "1\n2"), {"op": "insert", "line": 2, "text": "1½"}]);
    good(&world.call("edit", json!({"path": "a.txt", "edits": edits})).await);
    assert_eq!(world.content("a.txt"), "1\r\n1½\r\n2\r\nthree");
    good(&world.call("write", json!({"path": "a.txt", "content": "x\ny\n"})).await);
    assert_eq!(world.content("a.txt"), "x\r\ny\r\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o751);
    let latin = world.file("latin.txt", b"caf\xE9 one\n");
    good(&world.call("edit", json!({"path": "latin.txt", "edits": [replace("one", "two")]})).await);
    assert_eq!(fs::read(latin).unwrap(), b"caf\xE9 two\n");
    good(
        &world
            .call("edit", json!({"path": "latin.txt", "edits": [replace("café two", "cafés: zwölf")]}))
            .await,
    );
    assert_eq!(fs::read(world.path("latin.txt")).unwrap(), b"caf\xE9s: zw\xF6lf\n");
    let foreign = world.call("edit", json!({"path": "latin.txt", "edits": [replace("zw", "€")]})).await;
    assert!(wrong(&foreign).contains("not UTF-8"), "{foreign:?}");
}

#[tokio::test]
async fn what_was_shown_in_a_harmless_form_can_be_edited_as_it_was_shown() {
    let world = World::new();
    world.file("a.sh", "printf '\u{1b}[31mred' # <|im_start|>\nnext\n");
    let shown = text(&world.call("read_file", json!({"path": "a.sh"})).await);
    assert_eq!(shown, "printf '␛[31mred' # ‹|im_start|>\nnext\n");
    let line = shown.lines().next().unwrap();
    let new = line.replace("31mred", "32mgreen");
    good(&world.call("edit", json!({"path": "a.sh", "edits": [replace(line, &new)]})).await);
    assert_eq!(world.content("a.sh"), "printf '\u{1b}[32mgreen' # <|im_start|>\nnext\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_seen_is_not_changed_and_the_loser_is_told() {
    let world = World::new();
    world.file("a.txt", "one\ntwo\n");
    let seen = hash(&world.call("read_file", json!({"path": "a.txt"})).await);
    world.file("a.txt", "one\ntwo!\n");
    for (tool, input) in [
        ("write", json!({"path": "a.txt", "content": "mine"})),
        ("edit", json!({"path": "a.txt", "edits": [replace("two", "2")]})),
        ("edit", json!({"path": "a.txt", "hash": &seen[..19], "edits": [replace("two", "2")]})),
    ] {
        let lost = world.call(tool, input).await;
        assert_eq!(lost.status(), Status::FatalError);
        let said = wrong(&lost);
        assert!(
            said.contains("not what you last saw") && said.contains("something other than these tools"),
            "{said}"
        );
        if tool == "edit" {
            assert!(said.contains("Nearest to your edit stands:\n     2\ttwo!"), "{said}");
        }
    }
    assert_eq!(world.content("a.txt"), "one\ntwo!\n");
    let now = hash(&world.call("read_file", json!({"path": "a.txt"})).await);
    good(&world.call("edit", json!({"path": "a.txt", "hash": now, "edits": [replace("two", "2")]})).await);
    assert_eq!(world.content("a.txt"), "one\n2!\n");
}

#[tokio::test]
async fn a_loser_is_told_which_call_was_faster() {
    let world = World::new();
    world.file("a.txt", "one\n");
    let seen = hash(&world.call("read_file", json!({"path": "a.txt"})).await);
    let won = world.call("edit", json!({"path": "a.txt", "edits": [replace("one", "1")]})).await;
    let lost =
        world.call("edit", json!({"path": "a.txt", "hash": seen, "edits": [replace("one", "eins")]})).await;
    assert!(wrong(&lost).contains(&format!("by `edit` (call {} of main, run run)", won.id)), "{lost:?}");
}

#[tokio::test]
async fn what_one_agent_has_seen_does_not_bind_another() {
    let world = World::new();
    world.file("a.txt", "one\n");
    good(&world.call("read_file", json!({"path": "a.txt"})).await);
    world.file("a.txt", "two\n");
    let mut other = (*world.scope).clone();
    other.caller = tollgate::tool::Caller::new("other");
    let input = json!({"path": "a.txt", "edits": [replace("two", "2")]});
    good(&super::world::call(&world.gate, &std::sync::Arc::new(other), "edit", &input).await);
}

#[tokio::test]
async fn an_edit_says_what_it_wants_in_one_way() {
    let world = World::new();
    world.file("a.txt", "one\n");
    for input in
        [json!({"path": "a.txt"}), json!({"path": "a.txt", "diff": "@@", "edits": [replace("a", "b")]})]
    {
        assert!(wrong(&world.call("edit", input).await).starts_with("invalid_value"));
    }
    let short = json!({"path": "a.txt", "hash": "sha256:abc", "edits": [replace("one", "1")]});
    assert!(wrong(&world.call("edit", short).await).starts_with("invalid_value"));
}

#[tokio::test]
async fn a_change_without_a_journal_is_declared_destructive() {
    let world = World::new();
    let gate = super::world::gate(None, Rules::new(), Nobody);
    let proposed = || tollgate::Proposed::new("1", "write", r#"{"path":"a","content":"x"}"#);
    assert!(gate.explain(&world.scope, proposed()).await.effects.destructive);
    assert!(!world.gate.explain(&world.scope, proposed()).await.effects.destructive);
}

#[tokio::test]
async fn a_changed_file_keeps_its_attributes_and_its_access_list() {
    let world = World::new();
    let path = world.file("labelled.txt", "one\n");
    let flags = rustix::fs::XattrFlags::empty();
    // Version 2: the owner, one more user, the group, the mask, others.
    let mut list = vec![2_u8, 0, 0, 0];
    for (tag, rights, id) in
        [(1_u16, 6_u16, u32::MAX), (2, 4, 12345), (4, 4, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)]
    {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let attributes = [("user.origin", b"a person".to_vec()), ("system.posix_acl_access", list)];
    for (name, value) in &attributes {
        if let Err(error) = rustix::fs::setxattr(&path, *name, value, flags) {
            skipped(format_args!("this file system keeps no {name}: {error}"));
            return;
        }
    }
    let mode = || path.metadata().unwrap().permissions().mode();
    let before = mode();
    good(&world.call("edit", json!({"path": "labelled.txt", "edits": [replace("one", "two")]})).await);
    assert_eq!(world.content("labelled.txt"), "two\n");
    for (name, value) in &attributes {
        let mut kept = Vec::with_capacity(1000);
        rustix::fs::getxattr(&path, *name, rustix::buffer::spare_capacity(&mut kept)).unwrap();
        assert_eq!(kept, *value, "{name}");
    }
    assert_eq!(mode(), before);
}
