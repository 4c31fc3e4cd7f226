//! The same for text that comes in chunks: no secret passes because a chunk ended in the middle of it.

use super::Redactor;

/// Lets text through once no secret can reach across its end any more.
#[derive(Debug)]
pub struct RedactStream {
    redactor: Redactor,
    held: String,
}

/// More than this is not held back, whatever it looks like: a secret is shorter.
const MOST_HELD: usize = 16 << 10;

impl RedactStream {
    /// A stream without secrets.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: String::new() }
    }

    /// Takes a chunk and gives what can be shown of all that came.
    pub fn push(&mut self, chunk: &str) -> String {
        self.held.push_str(chunk);
        let safe = self.safe();
        if safe == 0 {
            return String::new();
        }
        let rest = self.held.split_off(safe);
        let ready = std::mem::replace(&mut self.held, rest);
        self.redactor.text(&ready).into_owned()
    }

    /// The rest.
    pub fn finish(self) -> String {
        self.redactor.text(&self.held).into_owned()
    }

    /// Up to where nothing that is still to come changes what is found: the start of a line before the last two, and
    /// never inside something that was found or a key block that has not ended.
    fn safe(&self) -> usize {
        let text = &self.held;
        let longest_marked = self.redactor.marked().iter().map(|(_, value)| value.len()).max().unwrap_or(0);
        let most = text.len().saturating_sub(longest_marked);
        let mut lines = text.rmatch_indices('\n').map(|(at, _)| at + 1).skip(1);
        let mut safe = match lines.find(|at| *at <= most) {
            Some(at) => at,
            None if text.len() > MOST_HELD => blank_before(text, text.len() - MOST_HELD / 2),
            None => return 0,
        };
        if let Some(open) = text.rfind("-----BEGIN ").filter(|open| !text[*open..].contains("-----END ")) {
            safe = if text.len() - open > MOST_HELD { safe } else { safe.min(open) };
        }
        // What was found must be taken whole.
        for span in self.redactor.spans(text) {
            if span.from < safe && safe < span.to {
                safe = span.from;
            }
        }
        safe
    }
}

/// The last blank before `at` that does not part a name from its value.
fn blank_before(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let parts = |blank: usize| {
        let before = bytes[..blank].iter().rev().find(|byte| **byte != b' ');
        let after = bytes[blank..].iter().find(|byte| **byte != b' ');
        [before, after].into_iter().flatten().any(|byte| b"=:".contains(byte))
    };
    (1..at).rev().find(|blank| bytes[*blank] == b' ' && !parts(*blank)).unwrap_or(0)
}
