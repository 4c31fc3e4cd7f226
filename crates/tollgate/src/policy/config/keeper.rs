//! Grants written back to the file they belong to, everything else in it left as it is.

use std::path::{Path, PathBuf};

use toml_edit::{Array, DocumentMut, Item, Table};

use super::{
    Sources, Trust, TrustStore,
    file::{list_of, read},
    trusted::replace,
};
use crate::policy::{Keeper, Kept, Layer, Lifetime, Stance};

/// Writes rules into the files of these sources.
#[derive(Debug, Clone)]
pub struct FileKeeper {
    sources: Sources,
}

/// How a file begins that a grant makes.
const HEAD: &str = "# Rules of Tollgate: `tollgate policy show` tells what is in force.\n\n";

impl FileKeeper {
    pub(super) fn new(sources: Sources) -> Self {
        Self { sources }
    }

    fn file(&self, lifetime: Lifetime) -> Result<(PathBuf, Layer), String> {
        match lifetime {
            Lifetime::Session => Err("what is for the session is written nowhere".to_owned()),
            Lifetime::User => {
                let file = self.sources.user.clone().ok_or("nothing says where your own tollgate.toml is")?;
                Ok((file, Layer::User))
            }
            Lifetime::Project => {
                let file = self.sources.project_file().ok_or("there is no project folder")?;
                Ok((file, Layer::Project))
            }
        }
    }

    fn write(&self, lifetime: Lifetime, stance: Stance, rule: &str) -> Result<Kept, String> {
        let (file, layer) = self.file(lifetime)?;
        let shown = file.display().to_string();
        let store = self.sources.trust.as_ref().map(TrustStore::new);
        // Held until the file and the trust in it are both written: two answers at once lose neither.
        let lock = store.as_ref().map(TrustStore::lock).transpose();
        let _lock = lock.map_err(|error| format!("{shown} cannot be written: {error}"))?;
        let before = read(&file).map_err(|bad| bad.to_string())?;
        let trusted = before.as_ref().is_none_or(|text| self.sources.trust_of(&file, text) == Trust::Trusted);
        if layer == Layer::Project && stance.widens() && !trusted {
            // Writing into it would make what else it says look as if a person had said it.
            return Err(format!("{shown} is not trusted; read it and run `tollgate trust` first"));
        }
        let rule = self.seen_from(&file, layer, rule)?;
        let text = before.as_deref().unwrap_or_default();
        let mut written = with_rule(text, list_of(stance), &rule).map_err(|why| format!("{shown}: {why}"))?;
        if before.is_none() {
            written.insert_str(0, HEAD);
        }
        // What we write we must be able to read.
        let parsed = self.sources.parse(layer, &file, &written).map_err(|bad| bad.to_string())?;
        replace(&file, &written).map_err(|error| format!("{shown} cannot be written: {error}"))?;
        if layer == Layer::Project && trusted {
            let store = store.as_ref().ok_or("nothing says where trust is kept")?;
            let kept = store.trust_locked(&file, &written);
            kept.map_err(|error| format!("the trust in {shown} cannot be written: {error}"))?;
        }
        let source =
            parsed.rules().iter().rev().find(|known| known.stance() == stance && known.text() == rule);
        let source = source.map_or(shown, |rule| rule.source().to_owned());
        let folder = file.parent().filter(|_| layer == Layer::Project);
        Ok(Kept { source, folder: folder.map(Path::to_owned), rule })
    }

    /// The rule as it must be written where `./` is not the folder the person spoke of: in a project's file it is the
    /// file's folder, and in a person's own file any folder they will ever work in.
    fn seen_from(&self, file: &Path, layer: Layer, rule: &str) -> Result<String, String> {
        let Some(working) = self.sources.working.as_deref() else { return Ok(rule.to_owned()) };
        let folder = match layer {
            Layer::User => working.display().to_string(),
            _ => match file.parent().and_then(|folder| working.strip_prefix(folder).ok()) {
                Some(below) if !below.as_os_str().is_empty() => format!("./{}", below.display()),
                _ => return Ok(rule.to_owned()),
            },
        };
        let escaped = globset::escape(&folder);
        let mut moved = rule.to_owned();
        for end in [")", ","] {
            moved = moved.replace(&format!(" in .{end}"), &format!(" in {escaped}{end}"));
        }
        for before in ["(", "=", " in "] {
            moved = moved.replace(&format!("{before}./"), &format!("{before}{escaped}/"));
        }
        // A name that means something in a rule would make another rule of it.
        if moved != rule && folder.contains(|c: char| c.is_control() || "\"'(),#".contains(c)) {
            return Err(format!("the folder {folder:?} cannot be named in a rule"));
        }
        Ok(moved)
    }
}

impl Keeper for FileKeeper {
    fn keep(&self, lifetime: Lifetime, stance: Stance, rule: &str) -> Result<Kept, String> {
        self.write(lifetime, stance, rule)
    }
}

/// The text with one rule more in a list of `[policy]`; the same where it is there already.
fn with_rule(text: &str, list: &str, rule: &str) -> Result<String, String> {
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let policy = document.entry("policy").or_insert_with(|| Item::Table(Table::new()));
    let policy = policy.as_table_like_mut().ok_or("`policy` is no table")?;
    let rules = policy.entry(list).or_insert_with(|| Item::Value(Array::new().into()));
    let rules = rules.as_array_mut().ok_or_else(|| format!("`{list}` is no list"))?;
    if rules.iter().any(|known| known.as_str() == Some(rule)) {
        return Ok(text.to_owned());
    }
    let own_lines = rules.is_empty()
        || rules.iter().any(|value| {
            value
                .decor()
                .prefix()
                .and_then(|prefix| prefix.as_str())
                .is_some_and(|prefix| prefix.contains('\n'))
        });
    rules.push(rule);
    if own_lines {
        if let Some(value) = rules.iter_mut().last() {
            value.decor_mut().set_prefix("\n    ");
        }
        rules.set_trailing_comma(true);
        if rules.trailing().as_str().is_none_or(|trailing| !trailing.contains('\n')) {
            rules.set_trailing("\n");
        }
    }
    Ok(document.to_string())
}
