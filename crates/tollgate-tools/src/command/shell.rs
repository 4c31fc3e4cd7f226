//! `shell`: a command line in bash, to its end, or on as a job where it takes longer.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::json;
use tollgate::{
    Cx, Effects, Failure, Opinion, Output, Refusal, Scope, Tool, ToolSpec,
    outcome::RefusalCode,
    tool::{Interrupt, Timeouts},
};

use super::{
    Lasts, Shell,
    doubts::{self, Line},
    effects,
    job::Job,
    words,
};
use crate::{
    blocking::off_thread,
    builtin::builtin,
    process::{Launch, LaunchError},
    sandbox::{Confined, Hidden, Level},
    shell::{Analysis, Why, analyse, neutral_environment},
};

pub(super) const NAMES: &[&str] = &["shell", "execute_cmd", "execute_bash", "bash"];

/// The tool `shell`.
#[derive(Debug)]
pub struct ShellTool(pub(super) Arc<Shell>);

/// A command line and how it runs.
#[derive(Debug, Deserialize)]
pub struct Args {
    command: String,
    cwd: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    background: bool,
}

/// How long a command may take before it goes on as a job, where the call does not say.
const USUAL: Duration = Duration::from_secs(120);
/// The longest a call may wait.
const LONGEST: Duration = Duration::from_secs(600);

const DESCRIPTION: &str = "Runs a command line in bash and gives back its exit code and what it said on stdout and stderr, in order. \
     No terminal and no input. A non-zero exit code is an ordinary result. What takes longer than timeout_ms goes on as a job \
     (see `jobs`); background: true starts a job at once. Processes the shell leaves behind end with it.";

impl Tool for ShellTool {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "minLength": 1, "maxLength": 100_000, "description": "The command line, as for `bash -c`." },
                "cwd": { "type": "string", "minLength": 1, "description": "The folder to run in; the working folder unless given." },
                "timeout_ms": { "type": "integer", "minimum": 1, "maximum": 600_000, "description": "How long to wait, 120000 unless given. After that it goes on as a job." },
                "background": { "type": "boolean", "description": "True to start it as a job and not to wait." }
            },
            "required": ["command"],
            "additionalProperties": false
        });
        builtin(NAMES, DESCRIPTION, schema, |spec| {
            spec.capability = Some("shell.run".into());
            // Judged by what the line would do: one that is known to only read, inside the roots, needs no rule.
            spec.requires_permission = false;
            spec.interrupt = Interrupt::Cancel;
            spec.timeouts = Timeouts { connect: None, idle: None, total: LONGEST + Duration::from_secs(30) };
            spec.traced = vec!["command".into()];
        })
    }

    fn effects(&self, _: &Scope, args: &Args) -> Effects {
        let found = effects::of(&args.command, args.cwd.as_deref(), self.0.home.as_deref());
        if args.background && found.read_only {
            // It reads, and still runs beside whatever comes next.
            return Effects { read_only: false, concurrency: tollgate::tool::Concurrency::Unsafe, ..found };
        }
        found
    }

    async fn check(&self, scope: &Scope, args: &Args) -> Result<(), Refusal> {
        if args.command.contains('\0') {
            let reason = "The command holds a NUL character, and no program can be given one.";
            return Err(Refusal::new(RefusalCode::InvalidValue, reason));
        }
        let folder = scope.cwd().join(args.cwd.as_deref().unwrap_or("."));
        if !folder.is_dir() {
            let reason = format!("The folder {} is not there, so nothing can run in it.", folder.display());
            return Err(Refusal::new(RefusalCode::InvalidValue, reason));
        }
        if args.background && self.0.lasts == Lasts::Call {
            let reason =
                "This program ends with the call, and its jobs with it: nobody could come back for one.";
            return Err(Refusal::new(RefusalCode::InvalidValue, reason)
                .with_hint("Leave out background, and give timeout_ms where it may take long."));
        }
        self.0.sandbox.allowed()
    }

    fn authorize(&self, scope: &Scope, args: &Args) -> Opinion {
        let shell = &self.0;
        if shell.sandbox.level() == Level::L1 {
            return Opinion::Ask(
                "nothing confines a command on this machine, so each one needs a yes".to_owned(),
            );
        }
        let analysis = analyse(&args.command);
        let confined = confined(&analysis, args);
        let folder = scope.cwd().join(args.cwd.as_deref().unwrap_or("."));
        let hides = shell.sandbox.hides(confined);
        let line = Line {
            analysis: &analysis,
            confined,
            folder: &folder,
            home: shell.home.as_deref(),
            scope,
            hides,
        };
        let doubt = doubts::about(&line, &shell.guard);
        if !matches!(doubt, Opinion::Abstain) || hides {
            return doubt;
        }
        match shell.guard.forbidden(scope) {
            Ok(denied) if denied.is_empty() => Opinion::Abstain,
            Ok(denied) => Opinion::Ask(format!(
                "the sandbox of this machine cannot keep a command that does more than read from {}",
                words::some(&denied, scope.cwd())
            )),
            Err(error) => Opinion::Ask(format!("what a rule keeps from being read is not known: {error}")),
        }
    }

    async fn run(&self, cx: &Cx, args: &Args) -> Result<Output, Failure> {
        let analysis = analyse(&args.command);
        let confined = confined(&analysis, args);
        let only_reads = confined == Confined::Reading;
        let folder = cx.cwd().join(args.cwd.as_deref().unwrap_or("."));
        let hidden = self.0.hidden(&analysis, confined, &folder, cx).await?;
        let mut notes = words::kept(&hidden, cx.cwd());
        let launch = self.0.launch(&args.command, &analysis, folder.clone(), cx, (confined, hidden))?;
        let job = Job::start(launch, &args.command).await.map_err(|error| not_started(&error))?;
        let job = Arc::new(job);
        if args.background {
            let number = self.0.jobs.keep(job.clone());
            notes.push(format!("It runs as job {number}. {}", self.0.lasts.reached()));
            return Ok(self.0.told(&job, Some(number), notes));
        }
        let limit = args.timeout_ms.map_or(USUAL, Duration::from_millis).min(LONGEST);
        tokio::select! {
            biased;
            _ = job.ended() => {}
            () = cx.cancelled() => {
                job.end().await;
                return Err(stopped(only_reads));
            }
            () = tokio::time::sleep(limit) => {
                if self.0.lasts == Lasts::Call {
                    job.end().await;
                    notes.push(format!("It was not over after {} ms.", limit.as_millis()));
                    return Ok(self.0.told(&job, None, notes));
                }
                let number = self.0.jobs.keep(job.clone());
                let took = limit.as_millis();
                notes.push(format!(
                    "It was not over after {took} ms and goes on as job {number}. {}",
                    self.0.lasts.reached()
                ));
                return Ok(self.0.told(&job, Some(number), notes));
            }
        }
        notes.extend(words::unreached(&job, &analysis, &folder, cx.roots()));
        if analysis.read_only == Err(Why::Background) {
            notes.push("What it left in the background ended with the shell; background: true keeps a command running.".to_owned());
        }
        // What is no text, and too long to be given twice, can be read from the job, where there are any.
        let keeps = self.0.lasts != Lasts::Call && words::needs_more(&job);
        let number = keeps.then(|| self.0.jobs.keep(job.clone()));
        Ok(self.0.told(&job, number, notes))
    }
}

impl Lasts {
    /// How a job is reached, and for how long.
    const fn reached(self) -> &'static str {
        match self {
            Self::Call | Self::Session => "`jobs` reads it, waits for it and stops it.",
            Self::Turn => {
                "`jobs` reads it, waits for it and stops it in this same turn alone: this program ends with the turn's \
                 last call, and the job with it."
            }
        }
    }
}

impl Shell {
    /// What this command must not read, or change, although it is where that is.
    async fn hidden(
        &self,
        analysis: &Analysis,
        confined: Confined,
        folder: &Path,
        scope: &Scope,
    ) -> Result<Hidden, Failure> {
        if self.guard.is_quick(analysis, confined) || !self.sandbox.hides(confined) {
            return Ok(self.guard.always(scope));
        }
        let (guard, home, analysis) = (self.guard.clone(), self.home.clone(), analysis.clone());
        let (folder, scope) = (folder.to_owned(), scope.clone());
        off_thread(move |_| {
            guard.hidden(&analysis, confined, &folder, &scope, home.as_deref()).map_err(|error| {
                Failure::fatal(format!("The command was not started: {error}."))
                    .with_hint("Name a smaller folder: what must not be read is looked for first.")
            })
        })
        .await
    }

    /// bash with this line, in this folder, confined, and with this hidden.
    fn launch(
        &self,
        command: &str,
        analysis: &Analysis,
        folder: PathBuf,
        cx: &Cx,
        (confined, hidden): (Confined, Hidden),
    ) -> Result<Launch, Failure> {
        let mut environment = self.environment.clone();
        let path = searched(environment.get("PATH").unwrap_or_default(), cx.roots(), confined);
        environment = environment.with("PATH", path);
        // Bash takes a while for so many, and nobody else asks for them.
        if confined == Confined::Reading && analysis.names("git") {
            for (name, value) in neutral_environment() {
                environment = environment.with(name, value);
            }
        }
        let line = format!("{}{command}", self.sandbox.limits());
        let launch = Launch::new("bash", ["--noprofile", "--norc", "-c", &line]);
        let launch = launch.folder(folder).environment(environment);
        match self.sandbox.hiding(cx.roots(), confined, hidden) {
            Ok(Some(wrapper)) => Ok(launch.wrapper(wrapper)),
            Ok(None) => Ok(launch),
            Err(error) => {
                Err(Failure::fatal("The sandbox could not be set up, so nothing was run.").caused_by(error))
            }
        }
    }

    pub(super) fn told(&self, job: &Job, number: Option<u32>, mut notes: Vec<String>) -> Output {
        let blocked = {
            let said = job.transcript().told();
            let failed = job.over().is_none_or(|over| over.code != Some(0));
            failed.then(|| self.sandbox.blames(said.iter().map(|one| one.text.as_str()))).flatten()
        };
        notes.extend(blocked.map(|what| format!("blocked by the sandbox: {what}")));
        // Whatever a command prints is data.
        Output::json(words::result(job, number, self.sandbox.level().name(), notes)).untrusted()
    }
}

/// A line that is known to only read runs without the right to do more; a job runs beside whatever comes next.
fn confined(analysis: &Analysis, args: &Args) -> Confined {
    if analysis.is_read_only() && !args.background { Confined::Reading } else { Confined::Writing }
}

/// The folders programs are looked for in: absolute ones, and for a command that only reads none inside the roots, where
/// anybody may have put another `ls`.
fn searched(path: &OsStr, roots: &[PathBuf], confined: Confined) -> OsString {
    let inside = |folder: &PathBuf| roots.iter().any(|root| folder.starts_with(root));
    let wanted =
        |folder: &PathBuf| folder.is_absolute() && (confined == Confined::Writing || !inside(folder));
    std::env::join_paths(std::env::split_paths(path).filter(wanted)).unwrap_or_default()
}

fn not_started(error: &LaunchError) -> Failure {
    let message = format!("The command was not started: {error}.");
    Failure::fatal(message).with_hint("`tollgate doctor` shows what commands need on this machine.")
}

fn stopped(only_reads: bool) -> Failure {
    if only_reads {
        Failure::retryable("The command was stopped; it only read.")
    } else {
        Failure::unknown(
            "The command was stopped with everything it had started; what it did until then stays.",
        )
        .with_hint("Look at what it changed before running it again.")
    }
}
