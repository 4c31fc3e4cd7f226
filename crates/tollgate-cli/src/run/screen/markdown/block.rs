//! What a line is, known from its beginning.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Prose,
    Heading,
    /// A point of a list, with its own mark where it has a number.
    Point,
    Quote,
    TableRow,
    /// The line that begins or ends a code block.
    Fence,
    Code,
    Rule,
    Blank,
}

/// A code block that is open: its mark, and how many of them end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) mark: char,
    pub(super) count: usize,
}

/// A line whose kind is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) block: Block,
    /// How many bytes of the line its beginning takes, indentation included.
    pub(super) taken: usize,
    /// What is shown in their place.
    pub(super) shown: String,
}

/// More than any beginning has; a line this long is known.
const LONGEST: usize = 40;

/// What the line is that begins like this; `None` while more of it is needed.
pub(super) fn known(line: &str, ended: bool, fence: Option<Fence>) -> Option<Known> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    if let Some(fence) = fence {
        return in_code(line, text, ended, fence);
    }
    let prose = || Some(Known { block: Block::Prose, taken: 0, shown: String::new() });
    let Some(first) = text.chars().next() else {
        return if ended {
            Some(Known { block: Block::Blank, taken: line.len(), shown: String::new() })
        } else if line.len() >= LONGEST {
            prose()
        } else {
            None
        };
    };
    let begins = |block, mark: usize, shown: &str| {
        let shown = format!("{}{shown}", " ".repeat(indent));
        Some(Known { block, taken: indent + mark, shown })
    };
    let run = text.chars().take_while(|c| *c == first).count();
    let after = text.chars().nth(run);
    let undecided = after.is_none() && !ended;
    match first {
        '#' if run <= 6 => match after {
            Some(' ') => begins(Block::Heading, run + 1, ""),
            None if undecided => None,
            _ => prose(),
        },
        '-' | '*' | '_' if run >= 3 => match after {
            None if ended => Some(Known { block: Block::Rule, taken: line.len(), shown: String::new() }),
            None => None,
            Some(_) => prose(),
        },
        '-' | '*' | '+' if run == 1 && after == Some(' ') => begins(Block::Point, 2, "• "),
        '`' | '~' if run >= 3 && !undecided => begins(Block::Fence, 0, ""),
        '-' | '*' | '+' | '_' | '`' | '~' | '>' if undecided => None,
        '>' => begins(Block::Quote, if after == Some(' ') { run + 1 } else { run }, "│ "),
        '|' => Some(Known { block: Block::TableRow, taken: 0, shown: String::new() }),
        '0'..='9' => {
            let digits = text.chars().take_while(char::is_ascii_digit).count();
            let mut rest = text[digits..].chars();
            match (rest.next(), rest.next()) {
                (None, _) if !ended && digits < 10 => None,
                (Some('.' | ')'), None) if !ended => None,
                (Some('.' | ')'), Some(' ')) if digits < 10 => {
                    begins(Block::Point, digits + 2, &text[..digits + 2])
                }
                _ => prose(),
            }
        }
        _ => prose(),
    }
}

/// Inside a code block every line is code but the one that ends it.
fn in_code(line: &str, text: &str, ended: bool, fence: Fence) -> Option<Known> {
    let code = Known { block: Block::Code, taken: 0, shown: String::new() };
    let run = text.chars().take_while(|c| *c == fence.mark).count();
    if text.len() > run && !text[run..].trim_end().is_empty() {
        return Some(code);
    }
    match (ended, run >= fence.count) {
        (true, true) => Some(Known { block: Block::Fence, taken: 0, shown: String::new() }),
        // Only spaces and marks so far: it may still end the block.
        (false, _) if line.len() < LONGEST && (run > 0 || text.is_empty()) => None,
        _ => Some(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_known_as_soon_as_it_can_be_nothing_else() {
        let cases = [
            ("#", false, None),
            ("##", false, None),
            ("## A", false, Some(Block::Heading)),
            ("#hash", false, Some(Block::Prose)),
            ("####### seven", false, Some(Block::Prose)),
            ("-", false, None),
            ("- a", false, Some(Block::Point)),
            ("-a", false, Some(Block::Prose)),
            ("---", false, None),
            ("---", true, Some(Block::Rule)),
            ("--", true, Some(Block::Prose)),
            ("**", false, None),
            ("**b", false, Some(Block::Prose)),
            ("  * a", false, Some(Block::Point)),
            ("1", false, None),
            ("12. a", false, Some(Block::Point)),
            ("12.5", false, Some(Block::Prose)),
            ("2026", true, Some(Block::Prose)),
            ("``", false, None),
            ("```", false, None),
            ("```", true, Some(Block::Fence)),
            ("```rust", false, Some(Block::Fence)),
            ("`code`", false, Some(Block::Prose)),
            (">", false, None),
            ("> q", false, Some(Block::Quote)),
            ("| a", false, Some(Block::TableRow)),
            ("   ", false, None),
            ("   ", true, Some(Block::Blank)),
            ("a", false, Some(Block::Prose)),
        ];
        for (line, ended, block) in cases {
            assert_eq!(known(line, ended, None).map(|known| known.block), block, "{line:?} {ended}");
        }
    }

    #[test]
    fn only_a_fence_of_its_kind_ends_code() {
        let fence = Some(Fence { mark: '`', count: 3 });
        let cases = [
            ("# no heading", false, Some(Block::Code)),
            ("", true, Some(Block::Code)),
            ("``", false, None),
            ("``", true, Some(Block::Code)),
            ("```", false, None),
            ("```", true, Some(Block::Fence)),
            ("  ````", true, Some(Block::Fence)),
            ("```x", false, Some(Block::Code)),
            ("~~~", true, Some(Block::Code)),
        ];
        for (line, ended, block) in cases {
            assert_eq!(known(line, ended, fence).map(|known| known.block), block, "{line:?} {ended}");
        }
    }
}
