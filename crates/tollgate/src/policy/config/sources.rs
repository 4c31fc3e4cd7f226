//! Where policy comes from: the machine's file, the person's, the project's; each strict, each in its layer.

use std::path::{Path, PathBuf};

use super::{BadConfig, ConfigFile, FILE_NAME, FileKeeper, Trust, TrustStore, file::read};
use crate::policy::{Layer, Rule};

/// The places to look. Nothing is looked for that is not named here.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file of whoever runs the machine.
    pub managed: Option<PathBuf>,
    /// The person's own file.
    pub user: Option<PathBuf>,
    /// Where the search for project files begins; it goes up to the top.
    pub working: Option<PathBuf>,
    /// Where the hashes of trusted files are kept. Without it no project file widens anything.
    pub trust: Option<PathBuf>,
    /// What `~/` stands for.
    pub home: Option<PathBuf>,
    /// Sections of a file that somebody else reads.
    pub sections: Vec<&'static str>,
}

/// Everything the files say.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The rules in force.
    pub rules: Vec<Rule>,
    /// Rules of project files that would widen and are not trusted: they do nothing.
    pub inert: Vec<Rule>,
    /// The files, from the layer that binds most.
    pub files: Vec<LoadedFile>,
}

/// One file that was read.
#[derive(Debug)]
pub struct LoadedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its layer.
    pub layer: Layer,
    /// For a project's file, whether it is trusted; the others are.
    pub trust: Trust,
    /// What it says.
    pub file: ConfigFile,
}

impl Sources {
    /// Reads every file there is. The first fault of any is the answer: nothing runs on half a policy.
    pub fn load(&self) -> Result<Loaded, BadConfig> {
        let mut loaded = Loaded::default();
        for (layer, path) in [(Layer::Managed, &self.managed), (Layer::User, &self.user)] {
            if let Some(path) = path
                && let Some(text) = read(path)?
            {
                self.take(&mut loaded, layer, path, &text)?;
            }
        }
        for path in self.project_files() {
            if let Some(text) = read(&path)? {
                self.take(&mut loaded, Layer::Project, &path, &text)?;
            }
        }
        Ok(loaded)
    }

    /// The project files from the top down to the working folder, whether they exist or not.
    pub fn project_files(&self) -> Vec<PathBuf> {
        let above = self.working.as_deref().into_iter().flat_map(Path::ancestors);
        let mut files: Vec<_> = above.map(|folder| folder.join(FILE_NAME)).collect();
        // A file is in one layer, the one that binds most.
        files.retain(|file| Some(file) != self.user.as_ref() && Some(file) != self.managed.as_ref());
        files.reverse();
        files
    }

    /// The nearest project file there is, or the one there would be.
    pub fn project_file(&self) -> Option<PathBuf> {
        let files = self.project_files();
        files.iter().rev().find(|file| file.exists()).or(files.last()).cloned()
    }

    /// Whoever writes grants down.
    pub fn keeper(&self) -> FileKeeper {
        FileKeeper::new(self.clone())
    }

    /// Whether the content of a project's file is trusted.
    pub fn trust_of(&self, path: &Path, content: &str) -> Trust {
        self.trust.as_ref().map_or(Trust::Never, |file| TrustStore::new(file).of(path, content))
    }

    /// Reads a text as the file it would be.
    pub fn parse(&self, layer: Layer, path: &Path, text: &str) -> Result<ConfigFile, BadConfig> {
        ConfigFile::parse(path, text, layer, self.home.as_deref(), &self.sections)
    }

    fn take(&self, loaded: &mut Loaded, layer: Layer, path: &Path, text: &str) -> Result<(), BadConfig> {
        let file = self.parse(layer, path, text)?;
        let trust = if layer == Layer::Project { self.trust_of(path, text) } else { Trust::Trusted };
        for rule in file.rules() {
            let inert = trust != Trust::Trusted && rule.stance().widens();
            if inert { &mut loaded.inert } else { &mut loaded.rules }.push(rule.clone());
        }
        loaded.files.push(LoadedFile { path: path.to_owned(), layer, trust, file });
        Ok(())
    }
}
