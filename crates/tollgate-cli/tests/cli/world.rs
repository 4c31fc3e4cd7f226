use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A folder of its own, with a home in it, and the program.
pub(crate) struct World {
    folder: tempfile::TempDir,
}

/// What the program said and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

impl World {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A world with a mocks file `mocks.json`.
    pub(crate) fn with(mocks: &Value) -> Self {
        let world = Self::new();
        world.file("mocks.json", mocks.to_string());
        world
    }

    /// The best sandbox of this machine.
    pub(crate) fn level(&self) -> String {
        self.run(&["doctor", "--json"]).json()["sandbox"]["level"].as_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(Path::new(PROGRAM), args)
    }

    /// The same with the program from another place.
    pub(crate) fn command_of(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path()).env_clear().env("HOME", self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.command(args).output().unwrap().into()
    }

    /// The same on the tools of `mocks.json`.
    pub(crate) fn on_mocks(&self, args: &[&str]) -> Ran {
        self.run(&[args, &["--mocks", "mocks.json"]].concat())
    }

    /// The same on the tools of `mocks.json`, all of them allowed.
    pub(crate) fn allowed(&self, args: &[&str]) -> Ran {
        self.on_mocks(&[args, &["--allow", "*"]].concat())
    }

    pub(crate) fn feed(&self, args: &[&str], stdin: impl AsRef<[u8]> + Send) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The program may stop reading early: that is its right.
            scope.spawn(move || {
                let _ = pipe.write_all(stdin.as_ref());
            });
            child.wait_with_output().unwrap().into()
        })
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is said is text");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// What it printed, as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What it printed, as one JSON value a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The status and the code of the refusal.
    pub(crate) fn status(&self) -> (String, String) {
        let json = self.json();
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        (text("status"), text("code"))
    }
}

/// A tool that takes anything and does this.
pub(crate) fn tool(name: &str, declared: &Value) -> Value {
    let mut tool =
        serde_json::json!({"name": name, "input_schema": {"type": "object", "additionalProperties": true}});
    tool.as_object_mut().unwrap().extend(declared.as_object().unwrap().clone());
    tool
}

/// A mocks file of such tools.
pub(crate) fn tools(tools: &[(&str, Value)]) -> Value {
    let tools: Vec<_> = tools.iter().map(|(name, declared)| tool(name, declared)).collect();
    serde_json::json!({ "tools": tools })
}
