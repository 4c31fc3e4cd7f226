//! A picture, known by its first bytes, as models take it.

use std::{fs::File, io::Read as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use tollgate::outcome::Item;

/// The largest picture: its base64 is what providers take at most.
pub(crate) const LARGEST: u64 = (5 << 20) / 4 * 3;

/// Why a file is not shown as a picture.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPicture {
    #[error("the picture has {0} bytes, and models take at most {LARGEST}; make it smaller first")]
    TooLarge(u64),
    #[error("it is not a PNG, JPEG, GIF or WebP picture")]
    Other,
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// Reads and recognises a picture.
pub(crate) fn read(file: &mut File, bytes: u64) -> Result<Item, NoPicture> {
    let mut data = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut data)?;
    let mime = media_type(&data).ok_or(NoPicture::Other)?;
    if data.len() as u64 > LARGEST {
        return Err(NoPicture::TooLarge(bytes));
    }
    Ok(Item::Image { mime: mime.to_owned(), data: STANDARD.encode(&data).into() })
}

fn media_type(data: &[u8]) -> Option<&'static str> {
    match data {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
