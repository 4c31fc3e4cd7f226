//! A picture goes on the wire only where its bytes are one that every provider takes.

/// The longest base64 of one picture that providers take.
const MAX_IMAGE_BASE64: usize = 5 << 20;

/// The media type a picture really has, or a sentence on why it is not sent.
pub fn media_type(claimed: &str, base64: &str) -> Result<&'static str, String> {
    let claimed = crate::json::shorten(claimed, 40);
    if base64.len() > MAX_IMAGE_BASE64 {
        return Err(format!("({claimed} of {} bytes in base64, too large to be shown)", base64.len()));
    }
    let not_one = || format!("(marked {claimed}, but not a PNG, JPEG, GIF or WebP picture; not shown)");
    if !is_base64(base64) {
        return Err(not_one());
    }
    let head = first_bytes(base64);
    match &head[..] {
        [0x89, b'P', b'N', b'G', ..] => Ok("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Ok("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Ok("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Ok("image/webp"),
        _ => Err(not_one()),
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|byte| digit(byte).is_some())
}

/// The first twelve bytes, as many as there are.
fn first_bytes(base64: &str) -> Vec<u8> {
    let digits: Vec<u32> = base64.bytes().take(16).map_while(digit).collect();
    let mut bytes = Vec::with_capacity(12);
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
