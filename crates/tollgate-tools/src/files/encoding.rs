//! Bytes of a file as text, with the encoding they were in; or what else they are.

/// How the bytes of a file are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    /// No UTF-8 and not binary: each byte is the character of its number.
    Latin1,
}

/// What a look at the first bytes says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Text(Encoding),
    /// Not text; with the name of what it looks like, where that is known.
    Binary(Option<&'static str>),
}

/// As far as a zero byte is looked for.
pub(crate) const LOOKED_AT: usize = 8 << 10;

const SIGNATURES: [(&[u8], &str); 14] = [
    (b"\x89PNG", "a PNG picture"),
    (b"\xFF\xD8\xFF", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a RIFF container (WebP, WAV, AVI)"),
    (b"\x7fELF", "an ELF program or library"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or a document made of one)"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\xfd7zXZ", "xz data"),
    (b"BZh", "bzip2 data"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O file"),
    (b"\0asm", "a WebAssembly module"),
];

/// Looks at the beginning of a file.
pub(crate) fn look(head: &[u8]) -> Look {
    let head = &head[..head.len().min(LOOKED_AT)];
    match head {
        [0xEF, 0xBB, 0xBF, ..] => return Look::Text(Encoding::Utf8Bom),
        [0xFF, 0xFE, ..] => return Look::Text(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] => return Look::Text(Encoding::Utf16Be),
        _ => {}
    }
    let known = SIGNATURES.iter().find(|(bytes, _)| head.starts_with(bytes)).map(|(_, name)| *name);
    if memchr::memchr(0, head).is_some() || (known.is_some() && !is_utf8(head)) {
        return Look::Binary(known);
    }
    Look::Text(if is_utf8(head) { Encoding::Utf8 } else { Encoding::Latin1 })
}

/// True for UTF-8, also where the last character is cut.
fn is_utf8(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    }
}

impl Encoding {
    /// The text of these bytes, and the encoding it turned out to be in.
    pub(crate) fn text(self, bytes: &[u8]) -> (String, Self) {
        match self {
            Self::Utf8 | Self::Utf8Bom => match std::str::from_utf8(bytes) {
                Ok(text) => (text.strip_prefix('\u{feff}').unwrap_or(text).to_owned(), self),
                // Cut at the end of what was read.
                Err(error) if error.error_len().is_none() => {
                    (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), self)
                }
                Err(_) => Self::Latin1.text(bytes),
            },
            Self::Latin1 => (bytes.iter().map(|byte| char::from(*byte)).collect(), self),
            Self::Utf16Le => (utf16(bytes, u16::from_le_bytes), self),
            Self::Utf16Be => (utf16(bytes, u16::from_be_bytes), self),
        }
    }

    /// The encoding as people name it; `None` for the ordinary one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::Utf8Bom => Some("UTF-8 with a byte order mark"),
            Self::Utf16Le => Some("UTF-16, little-endian"),
            Self::Utf16Be => Some("UTF-16, big-endian"),
            Self::Latin1 => Some("not UTF-8; shown as Latin-1"),
        }
    }

    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Self::Utf16Le | Self::Utf16Be)
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)
}
