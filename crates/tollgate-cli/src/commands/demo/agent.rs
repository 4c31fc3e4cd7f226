//! The agent on a task: a recorded model, the real tools, a folder of its own, and the trace of it all.

use std::path::{Path, PathBuf};

use crate::{
    args::{Environment, Shared, Trace, TraceShow},
    commands::trace,
    exit::{Exit, Fault},
    run::{self, args::Run},
    store, words,
};

/// The files of the project, and the conversation about it.
const PROJECT: [(&str, &str); 3] = [
    ("README.md", include_str!("../../../demo/project/README.md")),
    ("total.sh", include_str!("../../../demo/project/total.sh")),
    ("check.sh", include_str!("../../../demo/project/check.sh")),
];
const CONVERSATION: &str = include_str!("../../../demo/conversation.jsonl");

const TASK: &str = "The check fails. Find out why, fix it, and publish the fix.";
const ALLOW: [&str; 2] = ["edit", "shell(sh check.sh)"];
const DENY: &str = "shell(git push *)";

const CLOSING: &str = "\
Go on:
  tollgate run \"what is in this folder?\"       your own model on the built-in tools (read, grep,
                                               glob, edit, write, shell ...); you are asked
      set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give --model chat:NAME@URL for a local one
  tollgate call grep '{\"pattern\":\"TODO\"}'     one call of a built-in tool
  tollgate explain shell '{\"command\":\"rm a\"}' what would happen, and why; runs nothing
  tollgate demo path                           the path of a call, slowly, on mock tools
  tollgate doctor                              what is set up, and what is not";

pub(super) fn run(shared: &Shared) -> Result<Exit, Fault> {
    let place = Place::make()?;
    let project = place.0.join("project");
    let run = Run {
        prompt: Some(TASK.to_owned()),
        model: Some(format!("cassette:{}", place.0.join("conversation.jsonl").display())),
        ..Run::default()
    };
    let rules = Shared {
        allow: ALLOW.map(str::to_owned).to_vec(),
        deny: vec![DENY.to_owned()],
        root: vec![project.clone()],
        no_config: true,
        no_store: shared.no_store,
        json: shared.json,
        ..Shared::default()
    };
    if !shared.json {
        words::data(&opening(&project))?;
    }
    let ended = run::demonstrate(&run, &rules)?;
    if shared.json {
        return Ok(ended.exit);
    }
    if !shared.no_store && store::place(&Environment::read())?.is_some() {
        words::data(&format!(
            "\nWhat was recorded, and who allowed it (tollgate trace show {}):",
            ended.session
        ))?;
        trace::run(&Trace::Show(TraceShow::of(ended.session)), &rules)?;
    }
    words::data(&format!("\n{CLOSING}"))?;
    Ok(ended.exit)
}

fn opening(project: &Path) -> String {
    format!(
        "Tollgate: the model proposes; Tollgate decides, runs and records.\n\
         The model is a recording; its tools, the rules and the folder are real. No key, no network.\n\n\
         $ cd {}\n$ tollgate run \"{TASK}\" \\\n    --allow {} --allow '{}' --deny '{DENY}'\n",
        project.display(),
        ALLOW[0],
        ALLOW[1],
    )
}

/// A folder that is gone when the demonstration is over.
struct Place(PathBuf);

impl Place {
    fn make() -> Result<Self, Fault> {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let name = format!("tollgate-demo-{:x}-{:x}", std::process::id(), now.as_millis());
        let place = Self(std::env::temp_dir().join(name));
        place.fill().map_err(|error| Fault::machine("making a folder for the demonstration", &error))?;
        Ok(place)
    }

    fn fill(&self) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        // Somebody else's folder of that name is an error, not a place.
        std::fs::DirBuilder::new().mode(0o700).create(&self.0)?;
        std::fs::create_dir(self.0.join("project"))?;
        for (name, content) in PROJECT {
            std::fs::write(self.0.join("project").join(name), content)?;
        }
        std::fs::write(self.0.join("conversation.jsonl"), CONVERSATION)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
