//! The sandbox of this run: what the environment and every config file ask for, and whom it keeps from what.

use std::{path::Path, process::ExitCode};

use serde_json::{Value, json};
use tollgate::{
    Effects, Scope, ToolSpec,
    policy::{
        Decision, Layers, Policy as _, Query,
        config::{ConfigFile, Loaded, Trust},
    },
};
use tollgate_tools::{
    command::{Guard, Reading},
    sandbox::{Level, Sandbox, SandboxConfig, inner},
};

use crate::{args::Environment, config::Config, exit::Fault, words};

/// The step of this program inside a bubble, where it was started for that. Nothing of ours is read or made there.
pub(crate) fn inner() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    words.next().filter(|word| word == inner::WORD)?;
    let error = inner::confine(words);
    words::talk(&format!("tollgate: the sandbox does not hold inside the bubble: {error}"));
    Some(ExitCode::from(126))
}

/// What is asked for, and by whom in vain.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Everything that counts.
    pub(crate) config: SandboxConfig,
    /// Files of a project nobody trusts that would widen it.
    pub(crate) inert: Vec<String>,
}

impl Asked {
    /// Reads the environment and every file, or says which one is wrong: no command runs in half a sandbox.
    pub(crate) fn load(files: &Loaded, environment: &Environment) -> Result<Self, Fault> {
        let required = required(environment)?;
        let mut asked = Self { config: SandboxConfig { required, ..Default::default() }, inert: Vec::new() };
        for file in &files.files {
            let mut one = of_file(&file.path, &file.file, environment.home.as_deref())?;
            if file.trust != Trust::Trusted && one.widens() {
                asked.inert.push(file.path.display().to_string());
                one = one.tightening();
            }
            asked.config = asked.config.and(one);
        }
        Ok(asked)
    }

    /// The best sandbox of this machine, as it was asked for.
    pub(crate) fn sandbox(&self) -> Sandbox {
        let sandbox = self.config.applied(Sandbox::probed());
        match std::env::current_exe() {
            Ok(program) => sandbox.with_inner(program),
            Err(_) => sandbox,
        }
    }

    /// Says which files are not followed.
    pub(crate) fn tell_inert(&self) {
        for file in &self.inert {
            let file = words::visible(file);
            words::talk(&format!(
                "note: what {file} would open in the sandbox stays closed until `tollgate trust`."
            ));
        }
    }
}

/// The `[sandbox]` section of one file.
pub(crate) fn of_file(path: &Path, file: &ConfigFile, home: Option<&Path>) -> Result<SandboxConfig, Fault> {
    if file.section("sandbox").is_none() {
        return Ok(SandboxConfig::default());
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    SandboxConfig::read(file.text(), folder, home)
        .map_err(|bad| Fault::usage(format!("{}:{bad}", path.display()), bad.hint))
}

fn required(environment: &Environment) -> Result<Option<Level>, Fault> {
    let Some(given) = &environment.sandbox_required else { return Ok(None) };
    let level = given.to_str().and_then(Level::parse).ok_or_else(|| {
        let message = format!("TOLLGATE_SANDBOX_REQUIRED is {}, which is no level", given.display());
        Fault::usage(message, "set it to L1, L2 or L3, or unset it.")
    })?;
    Ok(Some(level))
}

/// What commands and searches may read, and change, of what nobody named: no more than the rules say of one file, as they
/// are when the call is made and for whoever makes it.
pub(crate) fn guard(config: &Config) -> Guard {
    let (reads, writes) = (config.policy.clone(), config.policy.clone());
    Guard::new(move || reads.denies_reading(), reading(&config.policy))
        .closing(move || writes.denies_writing(), closed(&config.policy))
        .with_own(config.own())
}

/// Whether a rule denies a command to change one file.
fn closed(policy: &Layers) -> impl Fn(&Scope, &Path) -> bool + Send + Sync + use<> {
    let policy = policy.clone();
    let shell = ToolSpec::new("shell", "", json!({"type": "object"})).ok();
    move |scope, path| {
        let Some(shell) = &shell else { return true };
        let effects = Effects::writing().writes(path);
        policy.decide(&Query::new(shell, &Value::Null, &effects, scope)).decision == Decision::Deny
    }
}

fn reading(policy: &Layers) -> impl Fn(&Scope, &Path) -> Reading + Send + Sync + use<> {
    let policy = policy.clone();
    let search = ToolSpec::new("grep", "", json!({"type": "object"})).ok().map(|mut search| {
        search.requires_permission = false;
        search
    });
    move |scope, path| {
        let Some(search) = &search else { return Reading::Denied };
        let says =
            |effects: &Effects| policy.decide(&Query::new(search, &Value::Null, effects, scope)).decision;
        match says(&Effects::reading().reads(path)) {
            Decision::Deny => Reading::Denied,
            // Stricter than what they say of the search itself.
            Decision::Ask if says(&Effects::reading()) < Decision::Ask => Reading::Asks,
            Decision::Ask | Decision::Allow => Reading::Allowed,
        }
    }
}
