//! A private key in its block: from the first line to the last, or as far as it goes where the last is missing.

use super::Span;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// So much may stand between two lines of a key: headers, line numbers, quotes.
const WIDEST_GAP: usize = 200;

/// The block that begins at this place.
pub(super) fn key_block(text: &str, at: usize) -> Option<Span> {
    let rest = &text[at..];
    let header = header(rest)?;
    let to = end_line(rest, header).unwrap_or_else(|| header + cut_body(&rest[header..]));
    Some(Span { from: at, to: at + to, kind: "private key".into() })
}

/// How long the first line of a private key is, with its dashes where it has them.
fn header(rest: &str) -> Option<usize> {
    const NAME: &str = "PRIVATE KEY";
    let after = rest.strip_prefix(BEGIN)?;
    let capital = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let label = &after[..after.bytes().take_while(capital).count()];
    let named = label.find(NAME)? + NAME.len();
    let rest = &after[label.len()..];
    let closed = rest.starts_with(DASHES) && !rest.starts_with(BEGIN);
    Some(BEGIN.len() + if closed { label.len() + DASHES.len() } else { named })
}

/// Where the last line ends, if there is one before another block begins.
fn end_line(rest: &str, header: usize) -> Option<usize> {
    for (at, _) in rest[header..].match_indices(DASHES) {
        let found = &rest[header + at..];
        if found.starts_with(BEGIN) {
            return None;
        }
        if let Some(label) = found.strip_prefix(END) {
            let line = found.find('\n').unwrap_or(found.len());
            let dashes = label.find(DASHES).map_or(line, |at| END.len() + at + DASHES.len());
            return Some(header + at + dashes.min(line));
        }
    }
    None
}

/// How far a key goes that was cut: over every long run of base64 not far from the one before, and the short rest that
/// stands alone on the line after. What is no key stays: a text that only names the first line loses nothing else.
fn cut_body(body: &str) -> usize {
    let bytes = body.as_bytes();
    let (mut end, mut at) = (0, 0);
    while at < bytes.len() && at - end <= WIDEST_GAP {
        let run = bytes[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if looks_encoded(&bytes[at..at + run]) {
            end = at + run;
        }
        at += run.max(1);
    }
    if end == 0 { 0 } else { end + last_line(&body[end..]) }
}

/// The rest of a key on a line of its own, whatever its length.
fn last_line(rest: &str) -> usize {
    // Inside a JSON text or source code, line ends are escaped.
    let Some(line) = ["\r\n", "\n", "\\r\\n", "\\n"].iter().find_map(|end| rest.strip_prefix(end)) else {
        return 0;
    };
    let lead = line.bytes().take_while(|byte| b" \t>+|\"'".contains(byte)).count();
    let run = line.bytes().skip(lead).take_while(|byte| is_base64(*byte)).count();
    let alone = !matches!(line.as_bytes().get(lead + run), Some(b' ' | b'.' | b':' | b'_' | b'-'));
    if run > 0 && alone { rest.len() - line.len() + lead + run } else { 0 }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn looks_encoded(run: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| run.iter().any(test);
    let mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    run.len() >= 40 || run.len() >= 16 && mixed
}
