use super::{about::Mark, emulator::Emulator, terminal::Looks, *};

/// What was written, for whoever looks at it.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    fn seen(&self, columns: usize) -> String {
        let mut screen = Emulator::new(columns);
        screen.feed(&self.text());
        screen.seen()
    }
}

fn screen(columns: usize, looks: Looks) -> (Screen, Written) {
    let written = Written::default();
    let terminal = Terminal::test(Box::new(written.clone()), (columns, 24), looks);
    (Screen::new(terminal, TextTo::Screen), written)
}

const RICH: Looks = Looks { colours: true, moves: true, is_terminal: true };

fn key(id: &str) -> Key {
    Key { agent: None, number: 1, id: id.into() }
}

fn about(mark: Mark, words: &str) -> About {
    About { mark, words: words.to_owned(), below: vec![(Style::DIM, "below".to_owned())] }
}

#[test]
fn text_then_parallel_calls_then_text_read_from_top_to_bottom() {
    for columns in [20, 60, 100] {
        let (screen, written) = screen(columns, RICH);
        screen.waits(Some("asking"));
        screen.text("I will *look*");
        screen.text(" at both.");
        screen.end_text();
        screen.proposed(key("a"), 0, "read a.rs".to_owned());
        screen.proposed(key("b"), 0, "read b.rs".to_owned());
        screen.started(&key("a"));
        screen.started(&key("b"));
        let running = written.seen(columns);
        assert!(running.ends_with("⠋ read a.rs\n⠋ read b.rs"), "{running}");
        screen.call_settled(&key("b"), about(Mark::Ok, "2 lines"), Duration::from_millis(5));
        screen.beat();
        assert!(written.seen(columns).contains("✓ read"), "the second one waits in its place");
        screen.call_settled(&key("a"), about(Mark::Refused, "denied"), Duration::ZERO);
        screen.text("Done.");
        screen.close();
        let seen = written.seen(columns);
        let flat = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            flat, "I will look at both. ✗ read a.rs denied below ✓ read b.rs 2 lines 5 ms below Done.",
            "{seen}"
        );
    }
}

#[test]
fn text_that_comes_while_a_call_runs_stays_above_it() {
    let (screen, written) = screen(40, RICH);
    screen.text("The first words ");
    screen.proposed(key("a"), 0, "read a.rs".to_owned());
    screen.started(&key("a"));
    screen.text("go on while **it** runs, over the end of the row.");
    let seen = written.seen(40);
    assert_eq!(seen, "The first words go on while it runs,\nover the end of the row.\n⠋ read a.rs");
    screen.call_settled(&key("a"), about(Mark::Ok, ""), Duration::ZERO);
    screen.text("\n\nNext.");
    screen.end_text();
    let seen = written.seen(40);
    assert_eq!(
        seen,
        "The first words go on while it runs,\nover the end of the row.\n\nNext.\n\n✓ read a.rs\n    below"
    );
}

#[test]
fn who_asks_has_the_terminal_and_nothing_is_lost_meanwhile() {
    let (screen, written) = screen(60, RICH);
    screen.proposed(key("a"), 0, "write a.rs".to_owned());
    screen.started(&key("a"));
    let aside = screen.aside();
    assert_eq!(written.seen(60), "", "the rows that change are gone");
    let before = written.text();
    screen.beat();
    screen.note("retrying");
    screen.proposed(key("b"), 0, "write b.rs".to_owned());
    assert_eq!(written.text(), before, "nothing is written while somebody asks");
    drop(aside);
    let seen = written.seen(60);
    assert_eq!(seen, "retrying\n⠋ write a.rs\n· write b.rs");
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_no_sequence_at_all() {
    let dumb = Looks { colours: false, moves: false, is_terminal: true };
    let (screen, written) = screen(60, dumb);
    screen.waits(Some("asking"));
    screen.text("**Bold** \u{1b}[2J");
    screen.end_text();
    screen.proposed(key("a"), 0, "read a.rs".to_owned());
    screen.started(&key("a"));
    screen.beat();
    screen.call_settled(&key("a"), about(Mark::Ok, "2 lines"), Duration::ZERO);
    screen.close();
    assert_eq!(written.text(), "**Bold** \\u{1b}[2J\n\n✓ read a.rs  2 lines\n    below\n");
}

#[test]
fn without_colours_rows_still_change_and_no_style_is_sent() {
    let (screen, written) = screen(60, Looks { colours: false, ..RICH });
    screen.text("**Bold**");
    screen.proposed(key("a"), 0, "read a.rs".to_owned());
    screen.close();
    let text = written.text();
    assert!(!text.contains("\u{1b}[0"), "{text:?}");
    assert!(written.seen(60).starts_with("**Bold**"));
}
