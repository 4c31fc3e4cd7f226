use super::{super::emulator::Emulator, *};

/// What is to be seen of a text that comes in pieces of so many characters.
fn seen(text: &str, columns: usize, piece: usize, colours: bool) -> String {
    let (mut markdown, mut screen) = (Markdown::new(colours, columns), Emulator::new(columns));
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(piece) {
        let mut out = String::new();
        markdown.push(&piece.iter().collect::<String>(), &mut out);
        screen.feed(&out);
    }
    let mut out = String::new();
    markdown.end(&mut out);
    screen.feed(&out);
    screen.seen()
}

const TEXT: &str = "\
# The finding

The **parser** drops the `last` byte when a *chunk* ends inside a character; see [the code](src/lib.rs). Pass *args.

- first point, which is long enough to be broken somewhere
  - nested **bold point that is long** too
1. one
12. twelve

> quoted words of somebody

```rust
fn main() { println!(\"**not bold**\"); }
```

| file | lines |
|------|-------|
| a.rs | 12 |

---
Done.
";

#[test]
fn a_text_looks_the_same_however_it_is_cut() {
    for columns in [20, 40, 60, 100] {
        for colours in [true, false] {
            let whole = seen(TEXT, columns, usize::MAX >> 1, colours);
            for piece in [1, 2, 3, 7, 20] {
                assert_eq!(seen(TEXT, columns, piece, colours), whole, "{columns} {piece} {colours}");
            }
        }
    }
}

#[test]
fn marks_become_looks_and_lists_tables_and_code_stay_readable() {
    let expected = "\
The finding

The parser drops the last byte when a chunk ends inside a
character; see [the code](src/lib.rs). Pass *args.

• first point, which is long enough to be broken somewhere
  • nested bold point that is long too
1. one
12. twelve

│ quoted words of somebody

```rust
fn main() { println!(\"**not bold**\"); }
```

| file | lines |
|------|-------|
| a.rs | 12 |

────────────────────────────────────────
Done.";
    assert_eq!(seen(TEXT, 60, 3, true), expected);
}

#[test]
fn without_colours_the_marks_themselves_are_shown() {
    let text = "# Head\n**bold** and *leaning*";
    assert_eq!(seen(text, 60, 1, false), text);
}

#[test]
fn at_20_columns_every_row_fits_and_no_word_is_lost() {
    let shown = seen(TEXT, 20, 2, true);
    assert!(shown.lines().all(|row| width::of_text(row) <= 19), "{shown}");
    let words = |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
    assert_eq!(words(&shown), words(TEXT));
}

#[test]
fn the_first_character_is_shown_with_its_own_piece() {
    for first in ["T", "#", "-", "`", "*", "1", "|", ">"] {
        let mut out = String::new();
        Markdown::new(true, 80).push(first, &mut out);
        assert!(out.contains(first), "{first:?} {out:?}");
    }
}

#[test]
fn a_word_that_only_grows_is_written_once() {
    let (mut markdown, mut out) = (Markdown::new(true, 80), String::new());
    for piece in ["The wo", "rd gro", "ws and", " ends"] {
        markdown.push(piece, &mut out);
    }
    assert_eq!(out, "The word grows and ends");
}

#[test]
fn nothing_a_terminal_would_obey_or_hide_comes_through() {
    let text = "a\u{1b}[2Jb \u{202e}evil `c\u{7}` \u{200b}\n```\n\u{1b}]0;x\u{7}\n```\n| \u{9b}31m |";
    for piece in [1, 4, 1000] {
        let shown = seen(text, 80, piece, true);
        assert!(shown.contains("a\\u{1b}[2Jb \\u{202e}evil c\\u{7} \\u{200b}"), "{shown}");
        assert!(shown.contains("\\u{1b}]0;x\\u{7}") && shown.contains("\\u{9b}31m"), "{shown}");
    }
}

#[test]
fn wide_characters_are_counted_as_the_columns_they_take() {
    let shown = seen("漢字漢字漢字漢字漢字 漢字漢字漢字 ⚠️ done", 20, 1, true);
    assert!(shown.lines().all(|row| width::of_text(row) <= 19), "{shown}");
    assert!(shown.contains('⚠') && !shown.contains("fe0f"), "{shown}");
}

#[test]
fn a_word_longer_than_the_row_is_broken_and_whole() {
    let long = "x".repeat(100);
    let shown = seen(&format!("a {long} b"), 30, 5, true);
    assert_eq!(shown.matches('x').count(), 100);
    assert!(shown.lines().all(|row| row.len() <= 29), "{shown}");
}

#[test]
fn a_window_made_narrower_in_the_middle_of_a_row_loses_no_later_word() {
    let (mut markdown, mut out) = (Markdown::new(true, 80), String::new());
    markdown.push("a row that is somewhat long for what comes ", &mut out);
    markdown.resize(20);
    markdown.push("then it goes on with more words.", &mut out);
    markdown.end(&mut out);
    let words: String = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.ends_with("then it goes on with more words."), "{out:?}");
}

#[test]
fn bold_words_over_the_end_of_a_row_are_bold_in_both() {
    let text = "Both files are short, and there is a `rather_long_name_in_code` beside **bold words** here.";
    for columns in 12..60 {
        let whole = seen(text, columns, 400, true);
        for piece in 1..30 {
            let shown = seen(text, columns, piece, true);
            assert!(!shown.contains('*') && !shown.contains('`'), "{columns} {piece}: {shown}");
            assert_eq!(
                shown.split_whitespace().collect::<String>(),
                whole.split_whitespace().collect::<String>()
            );
        }
    }
}
