use std::{fmt::Write as _, os::unix::fs::symlink};

use serde_json::json;
use tollgate::{
    outcome::{Item, Status, Trust},
    policy::{Nobody, Rules},
};

use super::world::{World, good, hash, meta, one_line, text, wrong};

#[tokio::test]
async fn a_file_is_read_as_it_is_with_its_hash_and_nobody_is_asked() {
    let world = World::with(Rules::new(), Nobody);
    world.file("a.txt", "one\n\ttwo  \nthree");
    let settled = world.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(text(&settled), "one\n\ttwo  \nthree");
    let meta = meta(&settled);
    assert_eq!(
        (&meta["lines"], &meta["total_lines"], &meta["bytes"]),
        (&json!("1-3"), &json!(3), &json!(16))
    );
    // `printf 'one\n\ttwo  \nthree' | sha256sum`
    assert_eq!(meta["hash"], "sha256:fa27e8fd79e94bbd58907b5eea5c43aff57c1997351352d4925e941d04fb4237");
    assert_eq!(settled.trust, Trust::UntrustedContent);
}

#[tokio::test]
async fn a_range_is_exactly_its_lines() {
    let world = World::new();
    let whole: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    world.file("a.txt", &whole);
    let settled = world.call("read_file", json!({"path": "a.txt", "offset": 98, "limit": 2})).await;
    assert_eq!(text(&settled), "line 98\nline 99\n");
    assert_eq!(meta(&settled)["more"], true);
    let settled = world.call("read_file", json!({"path": "a.txt", "offset": 100})).await;
    assert_eq!(text(&settled), "line 100\n");
    assert_eq!(meta(&settled)["more"], json!(null));
    let settled = world.call("read_file", json!({"path": "a.txt", "offset": 101})).await;
    assert!(wrong(&settled).contains("has 100 lines; there is no line 101"), "{settled:?}");
}

#[tokio::test]
async fn a_huge_file_gives_the_same_lines_without_being_loaded() {
    let world = World::new();
    let mut whole = String::with_capacity(12 << 20);
    let mut line = 0;
    while whole.len() < 10 << 20 {
        line += 1;
        writeln!(whole, "line {line} of a long file").unwrap();
    }
    whole.push_str("the last one");
    world.file("big.txt", &whole);
    for from in [1, 2, 17, 9_999, 123_456, line - 1] {
        let settled = world.call("read_file", json!({"path": "big.txt", "offset": from, "limit": 2})).await;
        assert_eq!(text(&settled), format!("line {from} of a long file\nline {} of a long file\n", from + 1));
        assert_eq!(meta(&settled)["hash"], json!(null));
    }
    let settled = world.call("read_file", json!({"path": "big.txt", "offset": line + 1})).await;
    assert_eq!(text(&settled), "the last one");
    assert_eq!(meta(&settled)["total_lines"], line + 1);
    let settled = world.call("read_file", json!({"path": "big.txt", "offset": line + 2})).await;
    assert!(wrong(&settled).contains(&format!("has {} lines", line + 1)), "{settled:?}");
}

#[tokio::test]
async fn several_looks_in_one_call_come_in_order_and_lines_are_numbered() {
    let world = World::new();
    world.file("src/a.rs", "fn a() {}\nfn b() {}\n");
    world.file("src/deep/b.rs", "");
    // The smallest PNG there is, as far as its first bytes go.
    world.file("dot.png", b"\x89PNG\r\n\x1a\nrest");
    symlink("a.rs", world.path("src/link.rs")).unwrap();
    let settled = world
        .call(
            "fs_read",
            json!({"operations": [
                {"mode": "line", "path": "src/a.rs", "offset": 2, "limit": 1},
                {"mode": "directory", "path": "src", "depth": 2},
                {"mode": "image", "path": "dot.png"},
                {"mode": "line", "path": "src/gone.rs"},
            ]}),
        )
        .await;
    good(&settled);
    let items = &settled.output().unwrap().items;
    let Item::Text { text } = &items[0] else { panic!("{items:?}") };
    assert!(text.starts_with("src/a.rs: lines 2 of 2, sha256:"), "{text}");
    assert!(text.ends_with("\n     2\tfn b() {}\n"), "{text}");
    let listing = "src/ (4 entries)\na.rs  20 bytes\ndeep/\n  b.rs  0 bytes\nlink.rs -> a.rs\n";
    assert_eq!(items[1], Item::Text { text: listing.to_owned() });
    assert!(matches!(&items[2], Item::Image { mime, .. } if mime == "image/png"), "{items:?}");
    assert!(matches!(&items[3], Item::Text { text } if text.starts_with("error: ")), "{items:?}");
}

#[tokio::test]
async fn pictures_are_known_by_their_bytes_and_limited_in_size() {
    let world = World::new();
    let image = |path: &str| json!({"operations": [{"mode": "image", "path": path}]});
    for (name, bytes, mime) in [
        ("a.txt", &b"\xFF\xD8\xFF\xE0"[..], "image/jpeg"),
        ("b.bin", b"GIF89a", "image/gif"),
        ("c", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ] {
        world.file(name, bytes);
        let settled = world.call("read", image(name)).await;
        let items = &settled.output().unwrap().items;
        assert!(matches!(&items[0], Item::Image { mime: found, .. } if found == mime), "{items:?}");
    }
    world.file("not.png", "text");
    assert!(wrong(&world.call("read", image("not.png")).await).contains("not a PNG"));
    let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
    large.resize(5 << 20, 0);
    world.file("large.png", large);
    assert!(wrong(&world.call("read", image("large.png")).await).contains("at most"));
}

#[tokio::test]
async fn encodings_are_recognised_and_said_and_binary_is_not_shown() {
    let world = World::new();
    let utf16: Vec<u8> = "\u{feff}héllo\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content, shown, encoding) in [
        (b"\xEF\xBB\xBFhi\n".to_vec(), "hi\n", "UTF-8 with a byte order mark"),
        (utf16, "héllo\n", "UTF-16, little-endian"),
        (b"caf\xE9\n".to_vec(), "café\n", "not UTF-8; shown as Latin-1"),
    ] {
        world.file("a", content);
        let settled = world.call("read_file", json!({"path": "a"})).await;
        assert_eq!((text(&settled).as_str(), &meta(&settled)["encoding"]), (shown, &json!(encoding)));
    }
    world.file("prog", b"\x7fELF\x02\x01\0\0\0");
    let said = wrong(&world.call("read_file", json!({"path": "prog"})).await);
    assert!(said.contains("binary data, an ELF program") && said.contains("9 bytes"), "{said}");
}

#[tokio::test]
async fn an_empty_file_is_an_answer() {
    let world = World::new();
    world.file("empty", "");
    let settled = world.call("read_file", json!({"path": "empty"})).await;
    assert_eq!((meta(&settled)["lines"].clone(), meta(&settled)["bytes"].clone()), (json!("none"), json!(0)));
    assert_eq!(text(&world.call("read", one_line("empty")).await).lines().count(), 1);
}

#[tokio::test]
async fn a_read_after_a_write_of_the_same_turn_sees_what_was_written() {
    let world = World::new();
    world.file("a.txt", "old\n");
    let calls = vec![
        tollgate::Proposed::new("1", "write", r#"{"path":"a.txt","content":"new\n"}"#),
        tollgate::Proposed::new("2", "read_file", r#"{"path":"a.txt"}"#),
        tollgate::Proposed::new("3", "write", r#"{"path":"made/b.txt","content":"b\n"}"#),
        tollgate::Proposed::new("4", "read_file", r#"{"path":"made/b.txt"}"#),
    ];
    let answers = world.gate.turn(&world.scope).run(calls).await;
    assert_eq!((text(&answers[1]).as_str(), text(&answers[3]).as_str()), ("new\n", "b\n"));
    assert_eq!(hash(&answers[0]), hash(&answers[1]));
}

#[tokio::test]
async fn a_missing_file_is_told_with_the_names_that_are_near() {
    let world = World::new();
    world.file("src/main.rs", "");
    let settled = world.call("read_file", json!({"path": "src/mian.rs"})).await;
    assert_eq!(settled.status(), Status::FatalError);
    assert!(settled.failure().unwrap().hint.as_deref().unwrap().contains("`main.rs`"), "{settled:?}");
}
