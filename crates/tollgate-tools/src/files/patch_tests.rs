use similar::TextDiff;

use super::*;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn text(&mut self) -> String {
        let lines = self.below(12);
        let mut text: String =
            (0..lines).map(|_| format!("{}\n", ["a", "b", "c", "", "  d"][self.below(5)])).collect();
        if self.below(3) == 0 {
            text.pop();
        }
        text
    }
}

#[test]
fn a_diff_of_two_texts_makes_the_one_into_the_other() {
    let mut numbers = Numbers(1);
    let mut tried = 0;
    for _ in 0..20_000 {
        let (before, after) = (numbers.text(), numbers.text());
        let diff = TextDiff::from_lines(&before, &after);
        let diff = diff.unified_diff().context_radius(numbers.below(4)).header("a", "b").to_string();
        if diff.is_empty() {
            continue;
        }
        tried += 1;
        assert_eq!(apply(&before, &diff, Breaks::Lf).unwrap(), after, "{before:?}\n{diff}");
    }
    assert!(tried > 10_000);
}

#[test]
fn what_is_no_diff_of_one_file_is_refused() {
    for (diff, said) in [
        ("", "no hunk"),
        ("hello", "no hunk"),
        ("@@ -1 +1 @@\n-a\nb\n", "line 3 of the diff"),
        ("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n", "more than one file"),
        ("@@ -1 +1 @@\n-x\n+b\n", "hunk 1 does not fit"),
        ("@@\n-a\n+b\n", "fits in 2 places"),
    ] {
        let error = apply("a\na\n", diff, Breaks::Lf).unwrap_err().to_string();
        assert!(error.contains(said), "{diff:?}: {error}");
    }
}

#[test]
fn a_diff_keeps_the_line_breaks_of_its_file() {
    let after = apply("a\r\nb\r\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", Breaks::CrLf).unwrap();
    assert_eq!(after, "a\r\nx\r\nb\r\n");
}
