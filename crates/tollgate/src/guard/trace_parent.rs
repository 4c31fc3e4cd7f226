//! Where a run stands in somebody's larger trace: the W3C `traceparent`, in and out.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::tool::RunId;

/// A trace, and the span in it that whatever comes next is a child of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    trace: [u8; 16],
    span: [u8; 8],
    sampled: bool,
}

impl TraceParent {
    /// Reads `00-TRACE-SPAN-FLAGS`; `None` for anything the specification calls invalid. What later versions add at the
    /// end is passed over, as it says.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let [version, trace, span, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let [version] = bytes::<1>(version)?;
        let known = version != 0xff && (version > 0 || parts.next().is_none());
        let (trace, span, [flags]) = (bytes(trace)?, bytes(span)?, bytes::<1>(flags)?);
        let given = trace != [0; 16] && span != [0; 8];
        (known && given).then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }

    /// The trace of a run that nobody gave one: the same for the same run, wherever it is asked for.
    pub fn of(run: &RunId) -> Self {
        Self { trace: hashed(&[run.as_str()]), span: hashed(&[run.as_str(), "/run"]), sampled: true }
    }

    /// The run's own span in this trace.
    #[must_use]
    pub fn run(self, run: &RunId) -> Self {
        Self { span: Self::of(run).span, ..self }
    }

    /// The span of a call: the same wherever it is asked for, so that what is sent out and what is exported meet.
    #[must_use]
    pub fn call(self, run: &RunId, turn: u32, call: &str) -> Self {
        Self { span: hashed(&[run.as_str(), "/", &turn.to_string(), "/", call]), ..self }
    }

    /// 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        crate::outcome::hex(&self.trace)
    }

    /// 16 hexadecimal digits.
    pub fn span_id(&self) -> String {
        crate::outcome::hex(&self.span)
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written for every call that goes out to a server: digit by digit into its place.
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        write_hex(&mut text[3..35], &self.trace);
        write_hex(&mut text[36..52], &self.span);
        text[54] += u8::from(self.sampled);
        std::str::from_utf8(&text).map_err(|_| fmt::Error).and_then(|text| f.write_str(text))
    }
}

fn write_hex(out: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in out.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// Lower-case digits alone, as the specification says.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.len() == 2 * N && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate().filter(|_| digits) {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    digits.then_some(bytes)
}

fn hashed<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    let mut bytes = [0; N];
    bytes.copy_from_slice(&hash.finalize()[..N]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_written_as_the_specification_has_it() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceParent::parse(text).map(|parent| parent.to_string()).as_deref(), Some(text));
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-what-comes-then";
        assert!(TraceParent::parse(later).is_some());
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn calls_of_a_run_share_its_trace_and_have_spans_of_their_own() {
        let run = RunId::new("r");
        let parent = TraceParent::of(&run);
        let (one, two) = (parent.call(&run, 1, "a"), parent.call(&run, 2, "a"));
        assert_eq!(one.trace_id(), parent.trace_id());
        assert_ne!(one.span_id(), two.span_id());
        assert_eq!(one, TraceParent::of(&run).call(&run, 1, "a"));
    }
}
