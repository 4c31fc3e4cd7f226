//! What comes in, from the command line, a file or stdin: bounded and untouched.

use std::{
    io::{IsTerminal as _, Read},
    path::Path,
};

use tollgate::{Proposed, call::MAX_INPUT_BYTES};

use crate::{exit::Fault, words};

/// Enough to say how large arguments are that are too large; what comes after is not read.
const MOST: u64 = 16 * MAX_INPUT_BYTES as u64;

/// The call as the person wrote it. Nothing in it is believed.
pub(crate) fn propose(id: &str, tool: &str, input: Option<&str>) -> Result<Proposed, Fault> {
    match input {
        Some("-") => {
            tell_typing();
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(MOST).read_to_end(&mut bytes);
            read.map_err(|error| Fault::machine("reading the arguments from stdin", &error))?;
            Ok(from_bytes(id, tool, bytes))
        }
        text => Ok(Proposed::new(id, tool, text.unwrap_or("{}"))),
    }
}

/// A file that was named, or stdin, read no further than `most` bytes.
pub(crate) fn source(file: Option<&Path>, most: usize) -> Result<Box<dyn Read>, Fault> {
    match file.filter(|file| *file != Path::new("-")) {
        None => {
            tell_typing();
            Ok(Box::new(std::io::stdin().lock().take(most as u64)))
        }
        Some(file) => {
            let open = std::fs::File::open(file).map_err(|error| {
                let message = format!("{} cannot be read: {error}", file.display());
                Fault::usage(message, "name a file that can be read, or `-` for stdin.")
            })?;
            Ok(Box::new(open.take(most as u64)))
        }
    }
}

/// Whoever sits before a program that waits for their keys is told so.
pub(crate) fn tell_typing() {
    if std::io::stdin().is_terminal() {
        words::talk("note: reading what you type; Ctrl-D on a line of its own ends it.");
    }
}

/// The same, all at once.
pub(crate) fn read(file: Option<&Path>, most: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    source(file, most)?
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::machine("reading the input", &error))?;
    Ok(bytes)
}

/// Bytes that are no text are answered as such: replacing some of them would run what nobody wrote.
fn from_bytes(id: &str, tool: &str, bytes: Vec<u8>) -> Proposed {
    match String::from_utf8(bytes) {
        Ok(text) => Proposed::new(id, tool, text),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            Proposed::new(id, tool, "").broken(format!("The arguments are not UTF-8 text, at byte {at}."))
        }
    }
}
