use super::sse::{MAX_EVENT_BYTES, Sse};

/// The events as `name|data`, from chunks of one size.
fn events(text: &[u8], size: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut sse = Sse::default();
    let mut keep = |event: super::sse::Event<'_>| {
        found.push(format!("{}|{}", event.name, String::from_utf8_lossy(event.data)));
    };
    for chunk in text.chunks(size) {
        assert!(sse.push(chunk, &mut keep).is_ok());
    }
    assert!(sse.finish(&mut keep).is_ok());
    found
}

#[test]
fn a_stream_is_cut_into_the_same_events_whatever_its_lines_end_in_and_its_chunks_are() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("data: 1\n\n", &["|1"]),
        ("data: 1\r\n\r\ndata: 2\r\n\r\n", &["|1", "|2"]),
        ("data: 1\r\rdata: 2\r\r", &["|1", "|2"]),
        ("event: a\ndata: 1\n\ndata: 2\n\n", &["a|1", "|2"]),
        ("data: 1\n\ndata: 2", &["|1", "|2"]),
        ("data: 1\n\ndata: 2\n", &["|1", "|2"]),
        ("\u{FEFF}data: 1\n\n", &["|1"]),
        ("data:1\n\n", &["|1"]),
        ("data:   1   \n\n", &["|1"]),
        ("  data : 1\n\n", &["|1"]),
        ("event:   a  \ndata: 1\n\n", &["a|1"]),
        (": a comment\n\ndata: 1\n: another\n\n", &["|1"]),
        ("data: {\ndata: }\n\n", &["|{\n}"]),
        ("id: 7\nretry: 10\ndata: 1\n\n", &["|1"]),
        ("event: a\n\n", &[]),
        ("data\n\n", &["|"]),
        ("{\"a\":1}\n{\"b\":2}\n", &["|{\"a\":1}", "|{\"b\":2}"]),
        ("data: 1\n{\"b\":2}\n", &["|1", "|{\"b\":2}"]),
        ("data: é€😀\n\n", &["|é€😀"]),
        ("<html>\n<body>\n", &[]),
    ];
    for (text, expected) in cases {
        for size in [1, 2, 3, 7, 4096] {
            assert_eq!(events(text.as_bytes(), size), *expected, "{text:?} in chunks of {size}");
        }
    }
}

#[test]
fn what_is_no_event_is_kept_to_be_shown_and_kept_short() {
    let mut sse = Sse::default();
    let page = format!("<!DOCTYPE html>{}\u{1b}[31m\n<body>\n", "x".repeat(10_000));
    assert!(sse.push(page.as_bytes(), |_| panic!("an event in a page")).is_ok());
    let stray = sse.stray().unwrap();
    assert!(
        stray.starts_with("<!DOCTYPE html>xxx") && stray.len() < 200 && !stray.contains('\u{1b}'),
        "{stray}"
    );
}

#[test]
fn a_line_or_an_event_longer_than_is_kept_is_refused_before_it_is() {
    let megabyte = vec![b'x'; 1 << 20];
    let mut line = Sse::default();
    let refused = (0..100).find(|_| line.push(&megabyte, |_| {}).is_err()).unwrap();
    assert_eq!(refused, MAX_EVENT_BYTES >> 20);

    let mut event = Sse::default();
    let data = [b"data: ".as_slice(), &megabyte, b"\n"].concat();
    let refused = (0..100).find(|_| event.push(&data, |_| {}).is_err()).unwrap();
    assert!(refused < (MAX_EVENT_BYTES >> 20) + 1);
}
