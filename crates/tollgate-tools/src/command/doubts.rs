//! Doubts about a command line that its words do not tell: where a link leads, what a repository holds and starts, which
//! program the project chose. Looked for before anybody decides.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tollgate::{Opinion, Refusal, Scope};

use super::{
    guard::{Guard, Reading},
    reach::{from, lexical, start},
    repository::Repository,
    shown,
};
use crate::{
    sandbox::Confined,
    shell::{Analysis, Leaf},
};

/// A command line, and where it runs.
pub(super) struct Line<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) confined: Confined,
    pub(super) folder: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) scope: &'a Scope,
    /// What is denied is hidden from the command.
    pub(super) hides: bool,
}

/// A folder git may run in, and the repository it finds from there.
type Found = (PathBuf, Repository);

/// Files by which a project says which program of several a name stands for.
const CHOOSERS: [&str; 4] = ["rust-toolchain.toml", "rust-toolchain", ".tool-versions", "mise.toml"];
/// Programs that are such names, on machines where one of several can be chosen.
const CHOSEN: [&str; 12] = [
    "cargo",
    "rustc",
    "rustdoc",
    "rustfmt",
    "rust-analyzer",
    "clippy-driver",
    "python",
    "python3",
    "node",
    "npm",
    "ruby",
    "go",
];

/// The strictest of them.
pub(super) fn about(line: &Line<'_>, guard: &Guard) -> Opinion {
    let reading = line.confined == Confined::Reading;
    let astray = || if reading { line.astray(guard) } else { Opinion::Abstain };

    let found = if line.analysis.leaves.iter().any(shown::is_git) { line.repositories() } else { Vec::new() };
    let started = || if reading { line.starts(&found) } else { Opinion::Abstain };
    let printed = || line.printed(&found, guard);
    let recorded = || line.recorded(&found, guard);
    let mut asks = Opinion::Abstain;
    for doubt in [&astray as &dyn Fn() -> Opinion, &printed, &recorded, &started] {
        match doubt() {
            Opinion::Deny(refusal) => return Opinion::Deny(refusal),
            Opinion::Ask(why) if matches!(asks, Opinion::Abstain) => asks = Opinion::Ask(why),
            Opinion::Ask(_) | Opinion::Abstain => {}
        }
    }
    asks
}

impl Line<'_> {
    /// A path inside the roots that leads outside them.
    fn astray(&self, guard: &Guard) -> Opinion {
        let inside = |path: &Path| self.scope.roots().iter().any(|root| path.starts_with(root));
        let mut worst = Opinion::Abstain;
        for read in &self.analysis.reads {
            let path = from(read, self.folder, self.home);
            let (Some(plain), Some(real)) = (lexical(&path), start(&path)) else { continue };
            if !inside(&plain) || inside(&real) {
                continue;
            }
            let why = format!("{read} leads to {}, which is outside the workspace", real.display());
            match guard.says(self.scope, &real) {
                Reading::Denied => return denied(format!("{why} and which a rule keeps from being read.")),
                Reading::Asks => worst = Opinion::Ask(why),
                Reading::Allowed if guard.is_open() => worst = Opinion::Ask(why),
                Reading::Allowed => {}
            }
        }
        worst
    }

    /// Contents that git would print, and a rule keeps from being read.
    fn printed(&self, found: &[Found], guard: &Guard) -> Opinion {
        let shown: Vec<_> = self.analysis.leaves.iter().filter_map(shown::shown).collect();
        if !shown.is_empty() && guard.denies_reading() && self.analysis.leaves.iter().any(goes_elsewhere) {
            return Opinion::Ask("which repository git would print from cannot be told, and a rule keeps files from being read".to_owned());
        }
        let least = if self.confined == Confined::Reading { Reading::Asks } else { Reading::Denied };
        let mut asks = Opinion::Abstain;
        if shown.is_empty() || guard.is_open() {
            return Opinion::Abstain;
        }
        for (folder, repository) in found {
            let top = &repository.top;
            let named = shown.iter().flat_map(|one| one.named(top, folder));
            let files = match repository.files() {
                Ok(files) => files,
                Err(error) => {
                    asks = Opinion::Ask(format!("what git would print is not known: {error}"));
                    Vec::new()
                }
            };
            let held = files.into_iter().map(|file| top.join(file));
            let printed = held.filter(|file| shown.iter().any(|one| one.holds(file, top, folder)));
            for file in printed.chain(named) {
                let says = guard.says(self.scope, &file);
                if says < least {
                    continue;
                }
                let name = file.strip_prefix(top).unwrap_or(&file).display();
                let why = format!("git would print {name}, which a rule or its name keeps from being read");
                if says == Reading::Denied {
                    return denied(format!("{why}. `-- . ':!{name}'` at the end leaves it out."));
                }
                asks = Opinion::Ask(format!("{why}; `-- . ':!{name}'` at the end leaves it out"));
            }
        }
        asks
    }

    /// Files that git would record as gone, because they are hidden from it.
    fn recorded(&self, found: &[Found], guard: &Guard) -> Opinion {
        let records: Vec<_> = self.analysis.leaves.iter().filter_map(shown::records).collect();
        if records.is_empty() || self.confined == Confined::Reading || !self.hides || !guard.denies_reading()
        {
            return Opinion::Abstain;
        }
        for (folder, repository) in found {
            let top = &repository.top;
            let files = match repository.files() {
                Ok(files) => files,
                Err(error) => return Opinion::Ask(format!("what git would record is not known: {error}")),
            };
            let held = files.into_iter().map(|file| top.join(file));
            let mut gone = held.filter(|file| {
                records.iter().any(|one| one.holds(file, top, folder))
                    && guard.says(self.scope, file) == Reading::Denied
            });
            if let Some(file) = gone.next() {
                let name = file.strip_prefix(top).unwrap_or(&file).display();
                return denied(format!(
                    "A rule keeps {name} from commands, and git would record it as deleted. Name the paths to add, and commit without -a."
                ));
            }
        }
        Opinion::Abstain
    }

    /// A program of the project's choice that would start.
    fn starts(&self, found: &[Found]) -> Opinion {
        let runs = |names: &[&str]| {
            let program = |name: &String| names.contains(&name.rsplit('/').next().unwrap_or(name));
            self.analysis.leaves.iter().any(|leaf| leaf.words.first().is_some_and(program))
        };
        for (_, repository) in found {
            if let Some(setting) = repository.starts().or_else(|| repository.starts_inside()) {
                let top = repository.top.display();
                return Opinion::Ask(format!(
                    "git starts a program of the repository's choice in {top}: {setting}"
                ));
            }
        }
        let chooser = runs(&CHOSEN).then(|| self.chooser()).flatten();
        chooser.map_or(Opinion::Abstain, |file| {
            Opinion::Ask(format!("{} says which program this name stands for, by its path", file.display()))
        })
    }

    /// A file above the folder that chooses a program by its path.
    fn chooser(&self) -> Option<PathBuf> {
        let files = self.folder.ancestors().flat_map(|folder| CHOOSERS.map(|name| folder.join(name)));
        let by_path =
            |file: &PathBuf| fs::read(file).is_ok_and(|text| text.windows(4).any(|word| word == b"path"));
        files.into_iter().find(by_path)
    }

    /// The repositories that git may find: from the folder, and from every folder that is named.
    fn repositories(&self) -> Vec<Found> {
        let named = self.analysis.reads.iter().map(|read| from(read, self.folder, self.home));
        let folders: BTreeSet<PathBuf> = std::iter::once(self.folder.to_owned())
            .chain(named)
            .filter_map(|folder| folder.canonicalize().ok().filter(|folder| folder.is_dir()))
            .collect();
        let found = |folder: PathBuf| Repository::of(&folder).map(|repository| (folder, repository));
        folders.into_iter().filter_map(found).collect()
    }
}

/// A command that has git work in another place than the words `-C` and `cd` say.
fn goes_elsewhere(leaf: &Leaf) -> bool {
    let Some((program, words)) = leaf.words.split_first() else { return true };
    let steers = |word: &String| {
        ["--git-dir", "--work-tree", "GIT_DIR=", "GIT_WORK_TREE=", "GIT_COMMON_DIR="]
            .iter()
            .any(|start| word.starts_with(start))
    };
    let moves = match program.rsplit('/').next() {
        Some("pushd" | "popd") => true,
        Some("env") => words.iter().any(|word| word.starts_with("-C") || word.starts_with("--c")),
        Some("cd" | "git") => words.iter().any(|word| word.contains(['$', '`', '*', '?', '['])),
        _ => false,
    };
    steers(program) || words.iter().any(steers) || moves
}

fn denied(why: String) -> Opinion {
    Opinion::Deny(Refusal::denied(why))
}
