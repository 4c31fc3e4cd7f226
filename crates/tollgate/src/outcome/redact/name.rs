//! Secrets that are known by the name they stand under: `DB_PASSWORD=…`, `"api_key": "…"`, `X-Api-Key: …`.

use super::Span;

/// What a name says about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tells {
    /// Whatever stands there is a password.
    Password,
    /// A long enough mixture of letters and digits is a secret.
    Key,
}

const PASSWORDS: [&str; 5] = ["password", "passwd", "passphrase", "pwd", "passwort"];

const KEYS: [&str; 17] = [
    "secret",
    "token",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "authkey",
    "credential",
    "credentials",
    "clientsecret",
    "authtoken",
    "accesstoken",
    "sharedkey",
    "masterkey",
];

/// Names that end like a secret and are none.
const HARMLESS: [&str; 9] =
    ["page", "next", "cursor", "continuation", "sync", "resume", "public", "pagination", "max"];

/// Where a shell says which folder it is and was in.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// Words that stand where a secret will stand.
const PLACES: [&str; 14] = [
    "string",
    "password",
    "required",
    "optional",
    "example",
    "changeme",
    "redacted",
    "none",
    "null",
    "undefined",
    "placeholder",
    "your_password",
    "yourpassword",
    "secret",
];

/// The longest name that is looked at.
const LONGEST_NAME: usize = 64;

pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        let Some((name, tells)) = name_before(text, at) else { continue };
        if let Some((from, to)) = value_after(bytes, at + 1, tells) {
            spans.push(Span { from, to, kind: format!("value of {name}").into() });
        }
    }
}

/// True when a text under this name is a secret.
pub(super) fn is_secret_under(name: &str, value: &str) -> bool {
    tells(name).is_some_and(|tells| looks_secret(value.as_bytes(), tells, true))
}

/// True when this is a password, where it stands in the place of one.
pub(super) fn is_password(value: &str) -> bool {
    looks_secret(value.as_bytes(), Tells::Password, true)
}

/// The name that ends just before `at`, where it tells of a secret.
fn name_before(text: &str, at: usize) -> Option<(&str, Tells)> {
    let bytes = text.as_bytes();
    let mut end = at;
    while end > 0 && bytes[end - 1] == b' ' && at - end < 4 {
        end -= 1;
    }
    if end > 0 && matches!(bytes[end - 1], b'"' | b'\'') {
        end -= 1;
    }
    // Inside a JSON text, quotes are escaped.
    if end > 0 && bytes[end - 1] == b'\\' {
        end -= 1;
    }
    let mut from = end;
    while from > 0
        && end - from < LONGEST_NAME
        && (bytes[from - 1].is_ascii_alphanumeric() || b"_-.".contains(&bytes[from - 1]))
    {
        from -= 1;
    }
    let name = &text[from..end];
    tells(name).map(|tells| (name, tells))
}

fn tells(name: &str) -> Option<Tells> {
    // Most names end otherwise: looked at before anything is copied.
    let last = name.as_bytes().last()?.to_ascii_lowercase();
    if !b"dentys".contains(&last) || name.len() > LONGEST_NAME || FOLDERS.contains(&name) {
        return None;
    }
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    if HARMLESS.iter().any(|harmless| plain.contains(harmless)) {
        return None;
    }
    if PASSWORDS.iter().any(|word| plain.ends_with(word)) {
        return Some(Tells::Password);
    }
    KEYS.iter().any(|word| plain.ends_with(word)).then_some(Tells::Key)
}

/// Where the value stands, where it looks like a secret.
fn value_after(bytes: &[u8], mut at: usize, tells: Tells) -> Option<(usize, usize)> {
    let mut blanks = 0;
    while bytes.get(at) == Some(&b' ') && blanks < 4 {
        at += 1;
        blanks += 1;
    }
    let escaped = bytes.get(at) == Some(&b'\\');
    at += usize::from(escaped);
    let quote = bytes.get(at).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let from = at + usize::from(quote.is_some());
    let ends = |byte: u8| match quote {
        Some(quote) => byte == quote || byte == b'\n' || (escaped && byte == b'\\'),
        None => byte.is_ascii_whitespace() || b"\"'`,;()[]{}<>|\\".contains(&byte),
    };
    let length = bytes[from.min(bytes.len())..].iter().take_while(|byte| !ends(**byte)).count();
    let value = &bytes[from.min(bytes.len())..][..length];
    // A call or an index is code that fetches the secret, not the secret.
    let code = quote.is_none() && matches!(bytes.get(from + length), Some(b'(' | b'[' | b'{'));
    (!code && looks_secret(value, tells, quote.is_some())).then_some((from, from + length))
}

fn looks_secret(value: &[u8], tells: Tells, quoted: bool) -> bool {
    let least = if tells == Tells::Password { 5 } else { 8 };
    if value.len() < least || value.len() > 4_096 || value.iter().any(u8::is_ascii_whitespace) {
        return false;
    }
    // A place for a secret, or one that was taken out already.
    if matches!(value[0], b'$' | b'{' | b'<' | b'%' | b'*' | b'[') {
        return false;
    }
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    if PLACES.contains(&text.as_str()) {
        return false;
    }
    if !quoted && is_path_of_names(&text) {
        return false;
    }
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let odd = value.iter().any(|byte| b"!@#$%^&*+/=".contains(byte));
    match tells {
        Tells::Password => quoted || mixed || odd,
        Tells::Key => mixed,
    }
}

/// `process.env.NAME`: code that says where the secret is.
fn is_path_of_names(text: &str) -> bool {
    let name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    text.contains('.') && text.split('.').all(name)
}
