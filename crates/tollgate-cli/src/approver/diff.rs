//! What an edit would change, line by line, for calls whose arguments say so.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use similar::TextDiff;

/// What would change in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) path: PathBuf,
    /// What is to be said beside the diff.
    pub(crate) note: Option<String>,
    /// In the unified form; empty where nothing would change.
    pub(crate) diff: String,
}

/// Files beyond this are not looked at.
const MOST: u64 = 4 << 20;

const PATHS: [&str; 5] = ["path", "file_path", "file", "filename", "filepath"];
const WHOLES: [&str; 5] = ["content", "contents", "file_text", "new_content", "text"];
const PAIRS: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
    ("oldText", "newText"),
    ("old", "new"),
];

/// The change, where the arguments name a file and what becomes of it: a text for another (one pair or a list of
/// `edits`), or its whole content.
pub(crate) fn change(args: &Value, folder: &Path) -> Option<Change> {
    let args = args.as_object()?;
    let path = folder.join(first(args, &PATHS)?);
    let pairs = pairs(args);
    if !pairs.is_empty() {
        return Some(replaced(path, &pairs));
    }
    let content = first(args, &WHOLES)?;
    Some(match read(&path) {
        Ok(Some(now)) => Change { diff: unified(&now, content), note: None, path },
        Ok(None) => Change { diff: unified("", content), note: Some("a new file".to_owned()), path },
        Err(why) => Change { diff: unified("", content), note: Some(format!("the file now: {why}")), path },
    })
}

fn first<'a>(args: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| args.get(*name)?.as_str())
}

fn pairs(args: &Map<String, Value>) -> Vec<(&str, &str)> {
    match args.get("edits") {
        Some(Value::Array(edits)) => {
            let all: Option<Vec<_>> = edits.iter().map(|edit| edit.as_object().and_then(one)).collect();
            all.unwrap_or_default()
        }
        _ => one(args).into_iter().collect(),
    }
}

fn one(args: &Map<String, Value>) -> Option<(&str, &str)> {
    PAIRS.iter().find_map(|(old, new)| Some((args.get(*old)?.as_str()?, args.get(*new)?.as_str()?)))
}

/// The edits on the file as it is; on their own where they do not fit it.
fn replaced(path: PathBuf, pairs: &[(&str, &str)]) -> Change {
    let alone = || pairs.iter().map(|(old, new)| unified(old, new)).collect::<String>();
    let now = match read(&path) {
        Ok(Some(now)) => now,
        Ok(None) => {
            return Change { diff: alone(), note: Some("there is no such file now".to_owned()), path };
        }
        Err(why) => return Change { diff: alone(), note: Some(format!("the file now: {why}")), path },
    };
    let mut then = now.clone();
    for (old, new) in pairs {
        match then.matches(old).count() {
            _ if old.is_empty() => {
                let note = Some("an edit does not say what it replaces".to_owned());
                return Change { diff: alone(), note, path };
            }
            1 => then = then.replacen(old, new, 1),
            count => {
                let note = Some(format!("what is to be replaced stands in the file {count} times"));
                return Change { diff: alone(), note, path };
            }
        }
    }
    Change { diff: unified(&now, &then), note: None, path }
}

fn unified(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).to_string()
}

/// The file's text; `None` where there is none. A pipe or a device is not waited for.
fn read(path: &Path) -> Result<Option<String>, String> {
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
        Ok(about) if !about.is_file() => return Err("it is not a regular file".to_owned()),
        Ok(about) if about.len() > MOST => {
            return Err(format!("it has {} bytes, too many to compare", about.len()));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map(Some).map_err(|_| "it is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_edit_is_shown_as_what_it_would_change_in_the_file_as_it_is_now() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").unwrap();
        let hunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
        let absent = Some("there is no such file now".to_owned());
        let twice = Some("what is to be replaced stands in the file 2 times".to_owned());
        let cases = [
            (json!({"path": "a.txt", "old_string": "two", "new_string": "2"}), hunk, None),
            (json!({"file": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}), hunk, None),
            (json!({"file_path": "a.txt", "content": "one\n2\nthree\n"}), hunk, None),
            (json!({"path": "a.txt", "content": "one\ntwo\nthree\n"}), "", None),
            (
                json!({"path": "b.txt", "content": "x\n"}),
                "@@ -0,0 +1 @@\n+x\n",
                Some("a new file".to_owned()),
            ),
            (json!({"path": "b.txt", "old": "x\n", "new": "y\n"}), "@@ -1 +1 @@\n-x\n+y\n", absent),
            (
                json!({"path": "a.txt", "old": "t", "new": "T"}),
                "@@ -1 +1 @@\n-t\n\\ No newline at end of file\n+T\n\\ No newline at end of file\n",
                twice,
            ),
        ];
        for (args, diff, note) in cases {
            let change = change(&args, folder.path()).expect("an edit");
            assert_eq!((change.diff.as_str(), change.note), (diff, note), "{args}");
        }
        for args in
            [json!({"path": "a.txt"}), json!({"text": "x"}), json!([]), json!({"path": 1, "content": "x"})]
        {
            assert_eq!(change(&args, folder.path()), None, "{args}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_compared_is_said_to_be_so() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
        let note =
            |path: &str| change(&json!({"path": path, "content": "x"}), folder.path()).unwrap().note.unwrap();
        assert_eq!(note("bytes"), "the file now: it is no text");
        assert_eq!(note("."), "the file now: it is not a regular file");
        assert_eq!(note("/dev/zero"), "the file now: it is not a regular file");
    }
}
