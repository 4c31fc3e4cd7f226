//! Mocks files become a registry; what cannot be used is named and nothing else is lost to it.

use std::{
    collections::HashMap,
    io::Read as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use tollgate::{
    Registry,
    catalog::lint::Declared,
    schema::nearest,
    testing::{Mocks, SetAside},
};

use crate::{
    builtins::{self, Held},
    exit::Fault,
    words,
};

mod odd;

use odd::{Said, is_named};

/// The tools of all files.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) registry: Registry,
    pub(crate) files: Vec<File>,
    /// What the definitions say beyond the metadata, by the name each tool goes by.
    pub(crate) declared: HashMap<Arc<str>, Declared>,
}

/// What came of one file.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) tools: usize,
    pub(crate) routes: Vec<String>,
    pub(crate) set_aside: Vec<SetAside>,
    /// What it says in vain.
    pub(crate) notes: Vec<String>,
}

/// A file that was read.
pub(crate) struct Opened {
    path: PathBuf,
    mocks: Mocks,
    said: Said,
}

/// Which tools a command needs. Schemas of others are not compiled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// The one that is called.
    Tool(&'a str),
    /// All of them, for the calls of one turn.
    Turn,
    /// All of them.
    All,
}

/// No catalogue is larger; what has no end must not be read to it.
const MOST: u64 = 256 << 20;

impl Loaded {
    /// Loads every file, or says which one cannot be; without any, the built-in tools.
    pub(crate) fn load(paths: &[PathBuf], wanted: Wanted<'_>, held: Held) -> Result<Self, Fault> {
        if paths.is_empty() {
            return Ok(Self { registry: builtins::registry(wanted, held)?, ..Self::default() });
        }
        let files = paths.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::of(files, wanted))
    }

    /// The same for a command that only looks at definitions: nothing is searched, so nothing is withheld.
    pub(crate) fn definitions(paths: &[PathBuf]) -> Result<Self, Fault> {
        Self::load(paths, Wanted::All, Held::definitions())
    }

    /// Registers what was parsed.
    pub(crate) fn of(files: Vec<Opened>, wanted: Wanted<'_>) -> Self {
        let mut said = Vec::new();
        let mut parsed = Vec::new();
        for Opened { path, mocks, said: one } in files {
            said.push(one);
            parsed.push((path, mocks));
        }
        let has = |tool: &str| parsed.iter().any(|(_, mocks)| is_named(mocks, tool));
        let notes: Vec<_> = said.into_iter().map(|said| said.notes(has)).collect();
        if let Wanted::Tool(name) = wanted
            && parsed.iter().any(|(_, mocks)| mocks.answers_to(name))
        {
            parsed = parsed.into_iter().map(|(path, mocks)| (path, mocks.only(name))).collect();
        }
        // A name nobody has: all names are needed, to say which one is near.
        let mut loaded = Self::default();
        for ((path, mocks), notes) in parsed.into_iter().zip(notes) {
            let before = loaded.registry.specs().count();
            let routes = mocks.routes().map(ToString::to_string).collect();
            for (label, declared) in mocks.declared() {
                loaded.declared.entry(label.clone()).or_insert_with(|| declared.clone());
            }
            let (registry, set_aside) = mocks.register(loaded.registry);
            let tools = registry.specs().count() - before;
            loaded.registry = registry;
            loaded.files.push(File { path, tools, routes, set_aside, notes });
        }
        loaded
    }

    /// True when there is no tool at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.registry.specs().next().is_none()
    }

    /// A route that no file defines exposes nothing: that is a slip, and is told before anything is done on it.
    pub(crate) fn must_have(&self, route: Option<&str>) -> Result<(), Fault> {
        let Some(route) = route else { return Ok(()) };
        let known: Vec<_> = self.files.iter().flat_map(|file| &file.routes).map(String::as_str).collect();
        if known.contains(&route) {
            return Ok(());
        }
        let shown = words::visible(route);
        if let Some((file, aside)) = self.aside(&format!("route {route}")) {
            let message = format!("the route {shown:?} was set aside from {}: {}", file.display(), aside.why);
            return Err(Fault::usage(message, "put it right in the file."));
        }
        let hint = match (nearest(route, known.iter().copied()), &known[..]) {
            (_, []) => "leave --route out: no file that was given defines one (docs/mocks.md).".to_owned(),
            (Some(near), [_]) => format!("did you mean `{}`?", words::visible(near)),
            (near, _) => {
                let near = near.map(|near| format!("did you mean `{}`? ", words::visible(near)));
                format!("{}the routes are: {}.", near.unwrap_or_default(), words::visible(&known.join(", ")))
            }
        };
        Err(Fault::usage(format!("there is no route {shown:?}"), hint))
    }

    /// What was set aside under this name, and from which file.
    pub(crate) fn aside(&self, name: &str) -> Option<(&Path, &SetAside)> {
        self.set_aside().find(|(_, aside)| aside.what == name)
    }

    /// Everything that was said in vain, with its file.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().flat_map(|file| file.notes.iter().map(|note| (file.path.as_path(), note.as_str())))
    }

    /// Everything that was set aside, with its file.
    pub(crate) fn set_aside(&self) -> impl Iterator<Item = (&Path, &SetAside)> {
        self.files.iter().flat_map(|file| file.set_aside.iter().map(|aside| (file.path.as_path(), aside)))
    }
}

/// Reads and parses one file.
pub(crate) fn open(path: &Path) -> Result<Opened, Fault> {
    let shown = path.display();
    let read = std::fs::File::open(path).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MOST + 1).read_to_end(&mut bytes).map(|_| bytes)
    });
    let bytes = read.map_err(|error| {
        let hint = "give --mocks a file that can be read.";
        Fault::usage(format!("the mocks file {shown} cannot be read: {error}"), hint)
    })?;
    if bytes.len() as u64 > MOST {
        let hint = "split it, or leave out the tools you do not call.";
        return Err(Fault::usage(format!("the mocks file {shown} is larger than {} MiB", MOST >> 20), hint));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let hint = "save it as UTF-8.";
        Fault::usage(format!("the mocks file {shown} is not UTF-8 text, at byte {at}"), hint)
    })?;
    let mocks = Mocks::parse(&text).map_err(|error| {
        let hint = "a mocks file is {\"tools\": [{\"name\": …, \"input_schema\": {…}}]}, a `tools/list` reply, \
                    or a provider's `tools` array; docs/mocks.md has every key.";
        Fault::usage(format!("the mocks file {shown} cannot be used: {error}"), hint)
    })?;
    Ok(Opened { path: path.to_owned(), said: Said::look(&text), mocks })
}
