//! Files whose content is a secret by their name: a search of their folder leaves them out.

use std::path::Path;

/// Whole names.
const NAMES: [&str; 14] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".htpasswd",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "credentials.json",
];
/// Endings.
const ENDINGS: [&str; 9] = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc.key"];
/// Folders.
const FOLDERS: [&str; 6] = [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"];
/// Endings of `.env` files that are meant to be read.
const SAMPLES: [&str; 4] = ["example", "sample", "template", "dist"];

/// True for a file that holds a secret, as far as its name tells.
pub(super) fn is_secret(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if let Some(kind) = name.strip_prefix(".env.") {
        return !SAMPLES.contains(&kind);
    }
    NAMES.contains(&&*name)
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || path.parent().is_some_and(|parent| {
            parent.components().any(|part| FOLDERS.iter().any(|folder| part.as_os_str() == *folder))
        })
}
